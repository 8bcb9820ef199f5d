"""Candidate points of whole batches, on tensors: those of `geometry.candidates`, in its order."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor

from .kit.registries import CANDIDATE_SETS
from .settings import CandidateSpec


@dataclass(frozen=True)
class Candidates:
    """The candidates of a batch.

    `points` (B, C, 2); `mask` (B, C) marks the real ones; `ends` (B, C, 2) are the two points
    over which a candidate's arc stands, -1 for a grid. `full` says that no row that matters has
    padding, neither among the points nor here, and `dense` that, besides, every row matters: what
    the network can then leave away makes it faster. With `unasked` the network goes by
    the mask and does not ask the device whether it hides anything: in a recorded step it must not.

    Examples
    --------
    >>> places, all_real = torch.zeros(3, 4, 2), torch.ones(3, 4, dtype=torch.bool)
    >>> found = Candidates(places, all_real, torch.full((3, 4, 2), -1))
    >>> found.take(torch.tensor([0, 2])).points.shape
    torch.Size([2, 4, 2])
    """

    points: Tensor
    mask: Tensor
    ends: Tensor
    full: bool = False
    dense: bool = False
    unasked: bool = False

    def take(self, rows: Tensor) -> Candidates:
        """Return the candidates of the given rows.

        Examples
        --------
        >>> found = Candidates(torch.rand(3, 4, 2), torch.ones(3, 4) > 0, torch.full((3, 4, 2), -1))
        >>> found.take(torch.tensor([0, 2])).mask.shape
        torch.Size([2, 4])
        """
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
    found: Candidates = CANDIDATE_SETS[spec.kind]()(points, count, edges, spec)
    return found


class CandidateSet(ABC):
    """Where Steiner points may lie; derive from it and register the class in `CANDIDATE_SETS`.

    `regular` says that instances with equally many points have equally many candidates: the
    network then needs no mask.

    Examples
    --------
    >>> CANDIDATE_SETS["mst"]().number(10, CandidateSpec(k_star=9))
    162
    """

    regular = True

    @abstractmethod
    def number(self, size: int, spec: CandidateSpec) -> int:
        """Return how many candidates `size` points have, at most.

        Examples
        --------
        >>> CANDIDATE_SETS["grid"]().number(10, CandidateSpec("grid", grid=5))
        25
        """

    @abstractmethod
    def __call__(
        self, points: Tensor, count: Tensor, edges: Tensor, spec: CandidateSpec
    ) -> Candidates:
        """Return the candidates of every row.

        Parameters
        ----------
        points
            (B, M, 2): terminals, then Steiner points; the first `count` of each row are real.
        count
            (B,) numbers of points.
        edges
            (B, M - 1, 2) edges of the spanning trees.
        spec
            The table `[candidates]` of the configuration.

        Examples
        --------
        >>> pair, edge = torch.eye(2, dtype=torch.float64)[None], torch.tensor([[[0, 1]]])
        >>> spec = CandidateSpec(k_star=1)
        >>> CANDIDATE_SETS["mst"]()(pair, torch.tensor([2]), edge, spec).points.shape
        torch.Size([1, 2, 2])
        """


class Arcs(CandidateSet):
    """The points on the arcs over some pairs."""

    @abstractmethod
    def most(self, size: int, spec: CandidateSpec) -> int:
        """Return how many pairs `size` points have."""

    @abstractmethod
    def pairs(
        self, points: Tensor, count: Tensor, edges: Tensor, spec: CandidateSpec
    ) -> tuple[Tensor, Tensor]:
        """Return the pairs (B, P, 2) and which of them exist (B, P)."""

    def number(self, size: int, spec: CandidateSpec) -> int:
        """Return the number of points on all arcs."""
        return 2 * spec.k_star * max(self.most(size, spec), 0)

    def __call__(
        self, points: Tensor, count: Tensor, edges: Tensor, spec: CandidateSpec
    ) -> Candidates:
        """Return the points on the arcs, pair by pair."""
        pairs, mask = self.pairs(points, count, edges, spec)
        return Candidates(
            arc_points(points, pairs, spec.k_star),
            mask.repeat_interleave(2 * spec.k_star, dim=1),
            pairs.repeat_interleave(2 * spec.k_star, dim=1),
        )


class TreeArcs(Arcs):
    """The arcs over the edges of the spanning trees."""

    def most(self, size: int, spec: CandidateSpec) -> int:
        """Return the number of edges."""
        return size - 1

    def pairs(
        self, points: Tensor, count: Tensor, edges: Tensor, spec: CandidateSpec
    ) -> tuple[Tensor, Tensor]:
        """Return the edges."""
        return edges, torch.arange(1, edges.shape[1] + 1, device=points.device) < count[:, None]


class NeighbourArcs(Arcs):
    """The arcs over (v, u) for the `k_neighbors` nearest u of every v."""

    def most(self, size: int, spec: CandidateSpec) -> int:
        """Return the number of neighbours of all points."""
        return size * min(spec.k_neighbors, size - 1)

    def pairs(
        self, points: Tensor, count: Tensor, edges: Tensor, spec: CandidateSpec
    ) -> tuple[Tensor, Tensor]:
        """Return the pairs, point by point."""
        return _neighbour_pairs(points, count, spec.k_neighbors)


class AllArcs(Arcs):
    """The arcs over all pairs."""

    def most(self, size: int, spec: CandidateSpec) -> int:
        """Return the number of pairs."""
        return size * (size - 1) // 2

    def pairs(
        self, points: Tensor, count: Tensor, edges: Tensor, spec: CandidateSpec
    ) -> tuple[Tensor, Tensor]:
        """Return the pairs (u, v), u < v."""
        size = points.shape[1]
        pairs = torch.triu_indices(size, size, 1, device=points.device).T
        return pairs.expand(len(points), -1, 2), pairs[:, 1] < count[:, None]


class Grid(CandidateSet):
    """The centres of the cells of a grid over the unit square or the points' bounding box."""

    def number(self, size: int, spec: CandidateSpec) -> int:
        """Return the number of cells."""
        return spec.grid**2

    def __call__(
        self, points: Tensor, count: Tensor, edges: Tensor, spec: CandidateSpec
    ) -> Candidates:
        """Return the centres, column by column."""
        return _grid(points, count, spec)


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


def _grid(points: Tensor, count: Tensor, spec: CandidateSpec) -> Candidates:
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
