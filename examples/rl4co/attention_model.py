"""Train RL4CO's attention model on our game: grid candidates, REINFORCE with a shared baseline.

    pip install rl4co
    python attention_model.py --steps 200

The environment is stateless, as RL4CO wants it: the whole state of `policy.environment` travels in
the TensorDict. The attention model embeds its nodes once, so the candidates must stay the same
from step to step: a grid's do.
"""

import argparse

import torch
from rl4co.envs.common.base import RL4COEnvBase
from rl4co.models.nn.env_embeddings.context import EnvContext
from rl4co.models.nn.env_embeddings.dynamic import StaticEmbedding
from rl4co.models.zoo.am import AttentionModelPolicy
from tensordict import TensorDict
from torch import Tensor, nn

from deepsteiner.policy.environment import TENSORS, Environment, State
from deepsteiner.policy.settings import CandidateSpec

SIZE, GRID = 8, 6


class SteinerEnv(RL4COEnvBase):
    """Algorithm 1 as an RL4CO environment; the reward is the whole saving."""

    name = "steiner"

    def __init__(self) -> None:
        super().__init__(check_solution=False)
        self.rules = Environment(CandidateSpec("grid", grid=GRID), "inference")

    def generator(self, batch_size: list[int]) -> TensorDict:
        return TensorDict({"terminals_xy": torch.rand((*batch_size, SIZE, 2))}, batch_size)

    def _told(self, state: State, start: Tensor) -> TensorDict:
        """Return the state as fields, with the candidates, the action mask and the end."""
        found = self.rules.candidates(state)
        action_mask = found.mask.clone()
        action_mask[:, 0] |= ~state.active  # what has ended needs an action that does nothing
        fields = {f"state_{name}": getattr(state, name) for name in TENSORS}
        told = {"locs": found.points, "action_mask": action_mask, "done": ~state.active}
        return TensorDict({**fields, **told, "start": start}, len(start))

    def _reset(self, td: TensorDict, batch_size: list[int]) -> TensorDict:
        state = self.rules.reset(td["terminals_xy"])
        return self._told(state, state.length)

    def _step(self, td: TensorDict) -> TensorDict:
        fields = {name: td[f"state_{name}"] for name in TENSORS}
        state = State(**fields, width=2 * SIZE - 2, full=False, dense=False)
        after = self.rules.step(state, td["action"], self.rules.candidates(state))
        return td.clone(recurse=False).update(self._told(after, td["start"]))

    def _get_reward(self, td: TensorDict, actions: Tensor) -> Tensor:
        return td["start"] - td["state_length"]


class Cells(nn.Module):
    """Embed every cell of the grid: where it is, and how far its nearest terminals are."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.out = nn.Linear(5, width)

    def forward(self, td: TensorDict) -> Tensor:
        terminals = td["state_points"][:, :SIZE]
        near = torch.cdist(td["locs"], terminals).topk(3, largest=False).values
        return self.out(torch.cat((td["locs"], near), dim=2))


class Lengths(EnvContext):
    """Tell the decoder how long the tree is, and how much shorter it has become."""

    def __init__(self, width: int) -> None:
        super().__init__(width, 2)

    def forward(self, embeddings: Tensor, td: TensorDict) -> Tensor:
        length, start = td["state_length"], td["start"]
        return self.project_context(torch.stack((length, start - length), dim=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64)
    given = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env, width = SteinerEnv(), 64
    parts = {"init_embedding": Cells(width), "context_embedding": Lengths(width)}
    policy = AttentionModelPolicy(
        **parts,
        env_name=env.name,
        embed_dim=width,
        num_encoder_layers=2,
        feedforward_hidden=128,
        dynamic_embedding=StaticEmbedding(),
    )
    adam = torch.optim.Adam(policy.parameters(), lr=1e-3)
    for step in range(given.steps):
        out = policy(env.reset(batch_size=[given.batch]), env, phase="train")
        advantage = out["reward"] - out["reward"].mean()
        loss = -(advantage * out["log_likelihood"]).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        if step % 10 == 9:
            print(f"step {step + 1}: mean saving {float(out['reward'].mean()):.4f}", flush=True)
    with torch.inference_mode():
        out = policy.eval()(env.reset(batch_size=[500]), env, phase="test")
    print(f"greedy: mean saving {float(out['reward'].mean()):.4f}")


if __name__ == "__main__":
    main()
