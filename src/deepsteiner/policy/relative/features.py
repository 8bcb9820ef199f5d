"""What the relative network sees: lengths between points, and between candidates and points.

Nothing changes when an instance is moved, turned, mirrored or scaled.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from ..candidates import Candidates, pair_ends
from ..spanning import bottlenecks, spanning_tree

# How many numbers describe a pair, a point and a candidate.
PAIR, POINT, CANDIDATE = 8, 4, 4
# Where sizes are not known beforehand, paths of up to 2**10 edges are looked at.
_SQUARINGS = 10
_TINY = 1e-12
_TIE = 1e-4
_FAR = 100.0


class Tree(NamedTuple):
    """What is known of the current points.

    distance: (B, M, M) between them. bottleneck: (B, M, M), the longest edge on the tree's path
    from one to the other. unit: (B,) mean of the bottlenecks. real: (B, M) marks the points that
    are there. hidden: (B, 1, 1, M), added to the logits of an attention to them; None where all
    are there.
    """

    distance: Tensor
    bottleneck: Tensor
    unit: Tensor
    real: Tensor
    hidden: Tensor | None


def measure(points: Tensor, count: Tensor, full: bool) -> Tree:
    """Return what is known of points (B, M, 2), of which the first `count` of a row are real."""
    size = points.shape[1]
    real = torch.arange(size, device=points.device) < count[:, None]
    distance = (points[:, None] - points[:, :, None]).square().sum(dim=3).sqrt()
    if torch.jit.is_tracing():
        bottleneck = closure(distance, real)
    else:
        bottleneck = bottlenecks(*spanning_tree(points, count))
    both = real[:, None] & real[:, :, None]
    bottleneck = bottleneck.masked_fill(~both, 0.0)
    pairs = (count * (count - 1)).clamp(min=1).to(points.dtype)
    unit = (bottleneck.sum(dim=(1, 2)) / pairs).clamp(min=_TINY)
    hidden = None
    if not full:
        seen = real | ~real.any(dim=1, keepdim=True)
        hidden = torch.zeros_like(distance[:, :1]).masked_fill(~seen[:, None], -1e9)[:, None]
    return Tree(distance, bottleneck, unit, real, hidden)


def closure(distance: Tensor, real: Tensor) -> Tensor:
    """Return the bottlenecks between real points from the distances alone, by repeated squaring."""
    both = real[:, None] & real[:, :, None]
    table = distance.masked_fill(~both, torch.inf)
    for _ in range(_SQUARINGS):
        ways = torch.maximum(table[:, :, :, None], table[:, None])
        table = torch.minimum(table, ways.amin(dim=2))
    return table.masked_fill(_itself(real), 0.0)


def _itself(real: Tensor) -> Tensor:
    """Return (M, M): where a pair is one point twice. (ONNX runtimes know no `eye` of booleans.)"""
    index = torch.arange(real.shape[1], device=real.device)
    return index[:, None] == index


def point_features(tree: Tree) -> tuple[Tensor, Tensor]:
    """Return (B, M, M, PAIR) of pairs and (B, M, POINT): the three nearest points, the farthest."""
    unit = tree.unit[:, None, None]
    distance = tree.distance / unit
    size = tree.real.shape[1]
    away = distance.masked_fill(~tree.real[:, None] | _itself(tree.real), _FAR)
    near = away.topk(min(3, size), dim=2, largest=False).values
    near = functional.pad(near, (0, 3 - near.shape[2]), value=_FAR)
    far = distance.masked_fill(~tree.real[:, None], 0.0).amax(dim=2, keepdim=True)
    own = torch.cat((near, far), dim=2).clamp(min=1e-3, max=_FAR).log()
    nowhere = torch.zeros_like(distance)
    return _pair_features(distance, tree.bottleneck / unit, nowhere, nowhere), own


def candidate_features(
    points: Tensor, candidates: Candidates, tree: Tree
) -> tuple[Tensor, Tensor, Tensor]:
    """Return (B, C, M, PAIR) of candidates and points, (B, C, CANDIDATE) and scales (B, C).

    A candidate measures in lengths of the edge over which it stands, and looks along it towards the
    nearer end, with itself on the left: mirror images look alike. One of no edge stands over its
    two nearest points. The scales are those lengths in units of the tree.
    """
    offset = points[:, None] - candidates.points[:, :, None]
    distance = offset.square().sum(dim=3).sqrt()
    ends = _ends(distance, candidates.ends, tree.real)
    near, far = pair_ends(points, ends)
    along = near - far
    length = along.square().sum(dim=2).sqrt().clamp(min=_TINY)
    along = along / length[:, :, None]
    left = torch.stack((-along[:, :, 1], along[:, :, 0]), dim=2)
    place = candidates.points - 0.5 * (near + far)
    height = (place * left).sum(dim=2)
    left = torch.where(height[:, :, None] < 0, -left, left)
    x = (offset * along[:, :, None]).sum(dim=3)
    y = (offset * left[:, :, None]).sum(dim=3)
    # On the way to a point the edge is left at one of its ends.
    table, size = tree.bottleneck, points.shape[1]
    first, second = (table.gather(1, ends[:, :, k : k + 1].expand(-1, -1, size)) for k in (0, 1))
    scale = length[:, :, None]
    lengths = (distance, torch.minimum(first, second), x, y)
    pairs = _pair_features(*(one / scale for one in lengths))
    reach = length / tree.unit[:, None]
    own = torch.stack(
        (
            (place * along).sum(dim=2) / length,
            height.abs() / length,
            reach.clamp(min=1e-3).log(),
            distance.gather(2, ends).sum(dim=2) / length,
        ),
        dim=2,
    )
    return pairs, own.clamp(-20.0, 20.0), reach


def _ends(distance: Tensor, ends: Tensor, real: Tensor) -> Tensor:
    """Return the two points over which candidates stand, the nearer one first.

    In the middle of an arc the given order stays: rounding must not decide.
    """
    away = distance.masked_fill(~real[:, None], torch.inf)
    if distance.shape[2] > 1:
        ends = torch.where(ends < 0, away.topk(2, dim=2, largest=False).indices, ends)
    ends = ends.clamp(min=0)
    swap = away.gather(2, ends[:, :, 1:]) < (1.0 - _TIE) * away.gather(2, ends[:, :, :1])
    return torch.where(swap, ends.flip(2), ends)


def _pair_features(distance: Tensor, bottleneck: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return (..., PAIR) numbers of moderate size.

    A point that is nearer than the bottleneck on the way to it shortens the tree when it is joined.
    """
    within, gain = 1.0 / (1.0 + distance), bottleneck - distance
    return torch.stack(
        (
            within,
            (distance + 0.01).log().clamp(max=7.0),
            x * within,
            y * within,
            gain.clamp(-3.0, 3.0),
            gain.clamp(0.0, 3.0).sqrt(),
            (gain.abs() + 0.003).log().clamp(max=7.0) * gain.sign(),
            (bottleneck + 0.01).log().clamp(max=7.0),
        ),
        dim=-1,
    )
