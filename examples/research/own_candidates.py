"""A candidate set of one's own: the Fermat points of the Delaunay triangles.

    python own_candidates.py --seconds 60

It trains a small policy on the new set and one on the paper's MST candidates, equally long.
"""

import itertools
import math

import torch
from from_scratch import table_row
from torch import Tensor

from deepsteiner.policy.candidates import Candidates, CandidateSet
from deepsteiner.policy.kit.registries import CANDIDATE_SETS
from deepsteiner.policy.settings import CandidateSpec


@CANDIDATE_SETS.register("fermat")
class FermatPoints(CandidateSet):
    """One candidate for each Delaunay triangle without an angle of 120 degrees."""

    regular = False  # equally many points may have more or fewer triangles

    def number(self, size: int, spec: CandidateSpec) -> int:
        return math.comb(size, 3)

    def __call__(
        self, points: Tensor, count: Tensor, edges: Tensor, spec: CandidateSpec
    ) -> Candidates:
        triples = list(itertools.combinations(range(points.shape[1]), 3))
        index = torch.tensor(triples, device=points.device)
        p = points[:, index]  # (B, T, 3, 2): every triangle, and its other corners q and r
        q, r = p.roll(-1, dims=2), p.roll(1, dims=2)
        u, v, side = q - p, r - p, (q - r).norm(dim=-1)
        cross = (u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]).abs()
        dot = (u * v).sum(dim=-1)
        # Barycentric weights: side / sin(angle + 60 degrees), and sin(2 angle) for the circle.
        fermat = side * u.norm(dim=-1) * v.norm(dim=-1) / (0.5 * cross + 0.75**0.5 * dot)
        centre = weighted(p, side.square() * dot)
        radius = (p[:, :, 0] - centre).norm(dim=-1, keepdim=True)
        there = torch.arange(points.shape[1], device=points.device) < count[:, None]
        inside = (points[:, None] - centre[:, :, None]).norm(dim=-1) < radius * (1.0 - 1e-6)
        mask = ~(inside & there[:, None]).any(dim=2) & (fermat > 0).all(dim=-1)
        mask &= (index < count[:, None, None]).all(dim=-1)
        found = weighted(p, fermat).masked_fill(~mask[..., None], 0.0)
        return Candidates(found, mask, index[None, :, :2].expand(len(points), -1, -1))


def weighted(corners: Tensor, weights: Tensor) -> Tensor:
    return (weights[..., None] * corners).sum(dim=2) / weights.sum(dim=2)[..., None]


if __name__ == "__main__":
    for kind in ("fermat", "mst"):
        print(table_row(f"{kind} candidates", [f"candidates.kind={kind}"]))
