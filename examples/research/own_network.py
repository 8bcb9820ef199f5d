"""A network of one's own: every candidate is judged by itself, from its nearest points.

    python own_network.py --seconds 60

It has no attention at all: sorted distances to the three nearest points and the saving that they
promise go through three small layers. Compare it with the paper's network, trained equally long.
"""

import torch
from from_scratch import table_row
from torch import Tensor, nn

from deepsteiner.policy.candidates import Candidates
from deepsteiner.policy.kit.registries import NETWORKS
from deepsteiner.policy.network import Network, Pause
from deepsteiner.policy.settings import NetworkConfig

NEAR = 3


@NETWORKS.register("nearest")
class Nearest(Network):
    """Logits from the distances and directions of the nearest points."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(config)
        width = config.dim
        self.layers = nn.Sequential(
            nn.Linear(4 * NEAR, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.out = nn.Linear(width, 1)

    def forward(
        self, points: Tensor, count: Tensor, candidates: Candidates, pause: Pause | None = None
    ) -> Tensor:
        offset = points[:, None] - candidates.points[:, :, None]  # (B, C, M, 2)
        distance = offset.square().sum(dim=3).sqrt()
        absent = torch.arange(points.shape[1], device=points.device) >= count[:, None]
        distance = distance.masked_fill(absent[:, None], 10.0)
        near, index = distance.topk(NEAR, dim=2, largest=False)
        towards = offset.gather(2, index[..., None].expand(-1, -1, -1, 2)) / (
            near[..., None] + 1e-9
        )
        turns = (towards * towards.roll(1, dims=2)).sum(dim=3)  # -0.5 at 120 degrees
        seen = torch.cat((near, near / near[..., -1:], turns, turns.square()), dim=2)
        logits = self.out(self.layers(seen.to(self.out.weight.dtype)))[..., 0]
        mask = candidates.mask | ~candidates.mask.any(dim=1, keepdim=True)
        scores = logits.masked_fill(~mask, -1e9).log_softmax(dim=1)
        return scores.masked_fill(~candidates.mask, -torch.inf)


if __name__ == "__main__":
    for kind in ("nearest", "attention"):
        print(table_row(f"{kind} network", [f"network.kind={kind}"]))
