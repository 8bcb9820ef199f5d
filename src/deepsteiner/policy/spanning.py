"""Spanning trees of whole batches of small point sets, and what every candidate would save.

Shapes: `points` (B, M, 2) holds `count` (B,) points a row, the rest is padding; a tree is `edges`
(B, M-1, 2) with `weights` (B, M-1) in the order in which Prim's algorithm takes them from point 0
(each edge's second end is new, ties go to the lower index: the order of
`geometry.spanning_trees`), (0, 0) and 0 beyond the last edge. On CUDA the work is done by the
kernels of `spanning_triton`; the functions here are their twins and serve every other device.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

# Largest number of elements that one step of the plain lookahead works on at once.
_CHUNK_ELEMENTS = 1 << 22


def spanning_tree(points: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """Return (edges, weights) of every row's minimum spanning tree."""
    if _use_triton(points):
        from .spanning_triton import LARGEST_PRIM, prim_cuda

        if points.shape[1] <= LARGEST_PRIM:
            return prim_cuda(points, count)
    return prim(points, count)


def prim(points: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """Run Prim's algorithm on all rows in step, in M vectorised steps."""
    batch, size = points.shape[:2]
    index = torch.arange(size, device=points.device)
    best = points.new_full((batch, size), torch.inf)
    # Points inside the tree and padding stand aside: their distance counts as infinite.
    aside = (index >= count[:, None]) | (index == 0)
    link = torch.zeros((batch, size), dtype=torch.int64, device=points.device)
    current = link[:, :1]
    tails, heads, squares = [], [], []
    for _ in range(size - 1):
        here = points.gather(1, current[:, :, None].expand(-1, -1, 2))
        squared = (points - here).square().sum(dim=2)
        link = torch.where(squared < best, current, link)
        best = torch.minimum(best, squared)
        square, current = best.masked_fill(aside, torch.inf).min(dim=1, keepdim=True)
        aside = aside.scatter(1, current, True)
        tails.append(link.gather(1, current))
        heads.append(current)
        squares.append(square)
    if size < 2:
        return link.new_zeros((batch, 0, 2)), points.new_zeros((batch, 0))
    valid = index[1:] < count[:, None]
    edges = torch.stack((torch.cat(tails, dim=1), torch.cat(heads, dim=1)), dim=2)
    weights = torch.cat(squares, dim=1).sqrt()
    return edges * valid[:, :, None], weights.masked_fill(~valid, 0.0)


def insert(points: Tensor, count: Tensor, new: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Write `new` (B, 2) behind every row's points; return (points, edges, weights) of the result.

    `points` needs a free slot in every row; a row without one keeps its points.
    """
    slot = torch.arange(points.shape[1], device=points.device) == count[:, None]
    grown = torch.where(slot[:, :, None], new[:, None, :], points)
    return (grown, *spanning_tree(grown, count + slot.any(dim=1)))


def bottlenecks(edges: Tensor, weights: Tensor) -> Tensor:
    """Return (B, M, M): the heaviest edge on the tree's path between every two points, 0 at u = u.

    Rows and columns of padding hold nothing of use.
    """
    batch, size = edges.shape[0], edges.shape[1] + 1
    rows = torch.arange(batch, device=edges.device)
    result = weights.new_zeros((batch, size, size))
    inside = torch.zeros((batch, size), dtype=torch.bool, device=edges.device)
    inside[:, :1] = True
    for step in range(size - 1):
        tail, head = edges[:, step].unbind(dim=1)
        row = torch.maximum(result[rows, tail], weights[:, step : step + 1])
        row = row.masked_fill(~inside, 0.0)
        row[rows, head] = 0.0
        result[rows, head] = row
        result[rows, :, head] = row
        inside[rows, head] = True
    return result


def lookahead(
    points: Tensor, count: Tensor, edges: Tensor, weights: Tensor, candidates: Tensor, mask: Tensor
) -> Tensor:
    """Return (B, C): how much shorter each candidate alone would make the tree; -inf off the mask.

    A new point x joins u if |xu| is below the heaviest edge of the lightest other way from x to
    u, which it then replaces. The other ways that matter start at points w nearer to x than u,
    so this heaviest edge is the least max(|xw|, bottleneck(w, u)) over those w: no sorting, no
    search, and every (candidate, u) on its own.
    """
    if _use_triton(points):
        from .spanning_triton import LARGEST_BOTTLENECK, bottlenecks_cuda, savings_cuda

        if points.shape[1] <= LARGEST_BOTTLENECK:
            heaviest = bottlenecks_cuda(edges, weights)
            return savings_cuda(points, count, heaviest, candidates, mask)
    heaviest = bottlenecks(edges, weights)
    rows = max(1, _CHUNK_ELEMENTS // max(1, candidates.shape[1] * points.shape[1]))
    chunks = (torch.split(one, rows) for one in (points, count, heaviest, candidates, mask))
    return torch.cat([savings(*chunk) for chunk in zip(*chunks, strict=True)])


def savings(
    points: Tensor, count: Tensor, heaviest: Tensor, candidates: Tensor, mask: Tensor
) -> Tensor:
    """Return every candidate's saving, given the bottlenecks; the plain twin of the kernel."""
    size = points.shape[1]
    index = torch.arange(size, device=points.device)
    distance = (candidates[:, :, None] - points[:, None]).square().sum(dim=3).sqrt()
    distance = distance.masked_fill((index >= count[:, None])[:, None], torch.inf)
    lightest = torch.full_like(distance, torch.inf)
    for w in range(size):
        here = distance[:, :, w : w + 1]
        # Equal distances are taken by index, so that exactly one of two such points comes first.
        nearer = torch.where(index > w, here <= distance, here < distance)
        way = torch.maximum(here, heaviest[:, w, None, :])
        lightest = torch.where(nearer, torch.minimum(lightest, way), lightest)
    gain = torch.where(lightest < torch.inf, lightest - distance, 0.0).clamp(min=0.0)
    saved = gain.sum(dim=2) - distance.amin(dim=2)
    return saved.masked_fill(~mask, -torch.inf)


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


def _use_triton(points: Tensor) -> bool:
    return points.is_cuda and _has_triton()
