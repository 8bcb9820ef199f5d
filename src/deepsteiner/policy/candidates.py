"""Candidate points of whole batches, on tensors: those of `geometry.candidates`, in its order."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor

from .settings import CandidateSpec


@dataclass(frozen=True)
class Candidates:
    """The candidates of a batch.

    `points` (B, C, 2); `mask` (B, C) marks the real ones; `ends` (B, C, 2) are the two points
    over which a candidate's arc stands, -1 for a grid. `full` says that no row that matters has
    padding, neither among the points nor here, and `dense` that, besides, every row matters: what
    the network can then leave away makes it faster. With `unasked` the network goes by
    the mask and does not ask the device whether it hides anything: in a recorded step it must not.
    """

    points: Tensor
    mask: Tensor
    ends: Tensor
    full: bool = False
    dense: bool = False
    unasked: bool = False

    def take(self, rows: Tensor) -> Candidates:
        """Return the candidates of the given rows."""
        return replace(self, points=self.points[rows], mask=self.mask[rows], ends=self.ends[rows])


def candidates(points: Tensor, count: Tensor, edges: Tensor, spec: CandidateSpec) -> Candidates:
    """Return the candidates of every row.

    Parameters
    ----------
    points : Tensor
        (B, M, 2) points, of which the first `count` of each row are real.
    count : Tensor
        (B,) numbers of points.
    edges : Tensor
        (B, M - 1, 2) edges of the spanning trees, for kind "mst".
    spec : CandidateSpec
        Which candidates.

    Examples
    --------
    >>> pair, edge = torch.eye(2, dtype=torch.float64)[None], torch.tensor([[[0, 1]]])
    >>> found = candidates(pair, torch.tensor([2]), edge, CandidateSpec(k_star=1))
    >>> found.points.round(decimals=3).tolist(), found.mask.tolist()
    ([[[0.211, 0.211], [0.789, 0.789]]], [[True, True]])
    """
    if spec.kind == "grid":
        return _grid(points, count, spec)
    if spec.kind == "mst":
        pairs = edges
        mask = torch.arange(1, edges.shape[1] + 1, device=points.device) < count[:, None]
    elif spec.kind == "knn":
        pairs, mask = _neighbour_pairs(points, count, spec.k_neighbors)
    else:
        pairs, mask = _all_pairs(points, count)
    return Candidates(
        arc_points(points, pairs, spec.k_star),
        mask.repeat_interleave(2 * spec.k_star, dim=1),
        pairs.repeat_interleave(2 * spec.k_star, dim=1),
    )


def arc_points(points: Tensor, pairs: Tensor, k_star: int) -> Tensor:
    """Return the 2 * k_star points on the two 120-degree arcs over every pair (B, P, 2)."""
    first, second = pair_ends(points, pairs)
    middle, vector = 0.5 * (first + second), second - first
    left = torch.stack((-vector[:, :, 1], vector[:, :, 0]), dim=2)
    along, across = _arc_offsets(k_star, points.device, points.dtype)
    arcs = middle[:, :, None] + along * vector[:, :, None] + across * left[:, :, None]
    return arcs.flatten(1, 2)


def pair_ends(points: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first and the second points (B, P, 2) of every pair (B, P, 2)."""
    first, second = pairs[:, :, :1].expand(-1, -1, 2), pairs[:, :, 1:].expand(-1, -1, 2)
    return points.gather(1, first), points.gather(1, second)


@cache
def _arc_offsets(k_star: int, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return (2 k_star, 1) offsets along and across a pair of length 1, left side first."""
    radius = 1.0 / math.sqrt(3.0)
    angles = [(i / (k_star + 1) - 0.5) * (2.0 * math.pi / 3.0) for i in range(1, k_star + 1)]
    along = [radius * math.sin(angle) for angle in angles]
    across = [radius * math.cos(angle) - 0.5 * radius for angle in angles]
    offsets = [along + along, across + [-height for height in across]]
    both = torch.tensor(offsets, device=device, dtype=dtype)[:, :, None]
    return both[0], both[1]


def _neighbour_pairs(points: Tensor, count: Tensor, neighbors: int) -> tuple[Tensor, Tensor]:
    """Return (v, u) for the nearest u of every v, and which of these pairs exist."""
    batch, size = points.shape[:2]
    near = min(neighbors, size - 1)
    index = torch.arange(size, device=points.device)
    squared = (points[:, None] - points[:, :, None]).square().sum(dim=3)
    beyond = index >= count[:, None]
    hidden = beyond[:, None] | torch.eye(size, dtype=torch.bool, device=points.device)
    order = squared.masked_fill(hidden, torch.inf).sort(dim=2, stable=True).indices[:, :, :near]
    heads = index[:, None].expand(batch, size, near)
    slots = torch.arange(1, near + 1, device=points.device) < count[:, None]
    mask = ~beyond[:, :, None] & slots[:, None]
    return torch.stack((heads, order), dim=3).view(batch, -1, 2), mask.view(batch, -1)


def _all_pairs(points: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    size = points.shape[1]
    pairs = torch.triu_indices(size, size, 1, device=points.device).T
    return pairs.expand(len(points), -1, 2), pairs[:, 1] < count[:, None]


def _grid(points: Tensor, count: Tensor, spec: CandidateSpec) -> Candidates:
    """Return the centres of the grid's cells over the unit square or the points' bounding box."""
    batch, size = points.shape[:2]
    steps = (torch.arange(spec.grid, device=points.device, dtype=points.dtype) + 0.5) / spec.grid
    if spec.extent == "unit":
        axes = steps.expand(batch, 2, -1)
    else:
        beyond = (torch.arange(size, device=points.device) >= count[:, None])[:, :, None]
        # A row without points gets a box without size, not one of infinities.
        empty = (count == 0)[:, None]
        low = points.masked_fill(beyond, torch.inf).amin(dim=1).masked_fill(empty, 0.0)
        high = points.masked_fill(beyond, -torch.inf).amax(dim=1).masked_fill(empty, 0.0)
        axes = low[:, :, None] + (high - low)[:, :, None] * steps
    xs = axes[:, 0, :, None].expand(-1, -1, spec.grid)
    ys = axes[:, 1, None, :].expand(-1, spec.grid, -1)
    cells = torch.stack((xs, ys), dim=3).reshape(batch, -1, 2)
    mask = (count > 0)[:, None].expand(-1, cells.shape[1])
    ends = torch.full((1, 1, 2), -1, device=points.device).expand(batch, cells.shape[1], 2)
    return Candidates(cells, mask, ends)
