# mypy: disable-error-code="misc,type-arg,untyped-decorator,no-any-unimported"
"""The game as a TorchRL environment, a batch of instances at once.

    from deepsteiner.policy.kit.torchrl_env import SteinerEnv
    env = SteinerEnv(10, batch=64)
    data = env.rollout(8, policy)

`pip install torchrl` first. The fields are those of `kit.game`; an episode that has ended stays
as it is until all have.
"""

from __future__ import annotations

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Binary, Categorical, Composite, Unbounded
from torchrl.envs import EnvBase

from ...core.errors import InputError
from ..settings import CandidateSpec
from .game import Game


class SteinerEnv(EnvBase):
    """Add candidate points to the spanning trees of random terminals in the unit square.

    Parameters
    ----------
    size : int
        Terminals of an instance, at least 3.
    batch : int
        Instances that are played at once.
    spec : CandidateSpec or None
        The candidates of every step; the paper's MST candidates by default.
    criterion : str
        When an episode ends: Algorithm 1's rule by default.
    seed : int
        Of the terminals.
    """

    def __init__(
        self,
        size: int = 10,
        batch: int = 1,
        spec: CandidateSpec | None = None,
        criterion: str = "inference",
        seed: int = 0,
    ) -> None:
        if size < 3:
            raise InputError(f"size must be at least 3, got {size}")
        super().__init__(batch_size=torch.Size([batch]))
        self.game = Game(size, spec or CandidateSpec(), criterion)
        self._generator = torch.Generator().manual_seed(seed)
        room, actions = self.game.room, self.game.actions
        real = {"dtype": torch.float64}
        self.observation_spec = Composite(
            points=Unbounded((batch, room, 2), **real),
            count=Unbounded((batch,), dtype=torch.int64),
            candidates=Unbounded((batch, actions, 2), **real),
            action_mask=Binary(shape=(batch, actions), dtype=torch.bool),
            length=Unbounded((batch,), **real),
            shape=(batch,),
        )
        self.action_spec = Categorical(actions, shape=(batch,), dtype=torch.int64)
        self.reward_spec = Unbounded((batch, 1), **real)

    def _reset(self, tensordict: TensorDictBase | None = None, **options: object) -> TensorDict:
        shape = (*self.batch_size, self.game.size, 2)
        points = torch.rand(shape, generator=self._generator, dtype=torch.float64)
        return TensorDict(self.game.reset(points), self.batch_size)

    def _step(self, tensordict: TensorDictBase) -> TensorDict:
        seen, reward, done = self.game.step(tensordict["action"])
        ended = {"reward": reward[:, None], "done": done[:, None], "terminated": done[:, None]}
        return TensorDict({**seen, **ended}, self.batch_size)

    def _set_seed(self, seed: int | None) -> None:
        self._generator.manual_seed(0 if seed is None else seed)
