"""Candidate Steiner points: the paper's 120-degree arcs over chosen pairs, or a plain grid.

From a Steiner point any two of its three neighbours are seen under 120 degrees, so it lies on the
arc of such points over each pair. Each pair contributes both of its arcs with `k_star` interior
points each, equally spaced: edge by edge, left side before right, from the pair's first end to
its second. Nothing is clipped or merged, and the candidates are made anew at every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ..core.errors import OptionError
from ..core.options import option
from ..core.points import FloatArray, Frame, IntArray
from .spanning_trees import minimum_spanning_tree

CandidateKind = Literal["mst", "knn", "all", "grid"]
Extent = Literal["box", "unit"]
KINDS: tuple[CandidateKind, ...] = get_args(CandidateKind)
EXTENTS: tuple[Extent, ...] = get_args(Extent)

__all__ = [
    "EXTENTS",
    "KINDS",
    "CandidateKind",
    "CandidateOptions",
    "Extent",
    "arcs",
    "candidate_points",
    "grid_box",
    "grid_points",
]


@dataclass(frozen=True)
class CandidateOptions:
    """The options of every method that chooses among candidate points."""

    candidates: CandidateKind = option(
        "mst", "arcs over mst edges, knn pairs or all pairs; or a grid"
    )
    k_star: int = option(9, "interior points on each arc", minimum=1, maximum=1000)
    k_neighbors: int = option(3, "nearest neighbours of each point (knn)", minimum=1, maximum=1000)
    grid: int = option(10, "grid points along each axis (grid)", minimum=1, maximum=1000)
    extent: Extent = option("box", "the grid covers the points' bounding box or the unit square")


def candidate_points(
    points: FloatArray, options: CandidateOptions, box: tuple[FloatArray, FloatArray] | None = None
) -> FloatArray:
    """Return the candidates (C, 2) for the current points; `box` is the grid's, where that is used.

    >>> import numpy as np
    >>> candidate_points(np.eye(2), CandidateOptions(k_star=1)).round(3).tolist()
    [[0.211, 0.211], [0.789, 0.789]]
    """
    if options.candidates == "grid":
        low, high = (points.min(axis=0), points.max(axis=0)) if box is None else box
        return grid_points(low, high, options.grid)
    return arcs(points, pairs_of(points, options.candidates, options.k_neighbors), options.k_star)


def arcs(points: FloatArray, pairs: IntArray, k_star: int) -> FloatArray:
    """Return 2 * k_star arc points for every pair, in the order given above."""
    from .candidate_kernels import arc_points

    out = np.empty(len(pairs) * 2 * k_star, dtype=np.complex128)
    arc_points(_places(points), pairs, len(pairs), k_star, out)
    return out.view(np.float64).reshape(-1, 2)


def _places(points: FloatArray) -> Any:
    """Return the points as complex numbers, as kernels take them."""
    return np.ascontiguousarray(points).view(np.complex128).ravel()


def pairs_of(points: FloatArray, kind: str, k_neighbors: int) -> IntArray:
    """Return the pairs whose arcs are taken: mst edges, (v, neighbour of v), or all pairs."""
    from . import candidate_kernels as kernels

    n = len(points)
    if kind == "mst":
        return minimum_spanning_tree(points)
    if kind == "knn":
        pairs = np.empty((n * min(k_neighbors, n - 1), 2), dtype=np.int64)
        kernels.neighbour_pairs(_places(points), n, k_neighbors, pairs)
        return pairs
    if kind == "all":
        pairs = np.empty((n * (n - 1) // 2, 2), dtype=np.int64)
        kernels.all_pairs(n, pairs)
        return pairs
    raise OptionError(f"candidates must be one of {', '.join(KINDS)}, got {kind!r}")


def grid_points(low: FloatArray, high: FloatArray, size: int) -> FloatArray:
    """Return the centres of size x size equal cells over the box."""
    steps = (np.arange(size) + 0.5) / size
    xs = low[0] + (high[0] - low[0]) * steps
    ys = low[1] + (high[1] - low[1]) * steps
    return np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=-1).reshape(-1, 2)


def grid_box(points: FloatArray, frame: Frame, extent: str) -> tuple[FloatArray, FloatArray]:
    """Return the grid's box in the frame: around the points, or the user's unit square."""
    if extent == "unit":
        corners = frame.into(np.array([[0.0, 0.0], [1.0, 1.0]]))
        return corners[0], corners[1]
    return points.min(axis=0), points.max(axis=0)
