# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"
"""Triton kernels for `spanning`: Prim's algorithm, bottlenecks, and the saving of every candidate.

One program serves one row (or one row and a block of its candidates) and keeps all of it in
registers. The plain twins in `spanning` say what each computes.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

LARGEST_PRIM = 1024
LARGEST_BOTTLENECK = 128  # a square of registers is held
# About how many (candidate, point) pairs one program of the savings kernel holds.
_TILE = 1024
_SMALLEST_BLOCK = 16


@triton.jit(do_not_specialize=["stride", "size"])
def _prim_kernel(points, count, edges, weights, stride, size, SLOTS: tl.constexpr):
    row = tl.program_id(0)
    wide = row.to(tl.int64)
    index = tl.arange(0, SLOTS)
    number = tl.load(count + wide)
    x = tl.load(points + wide * stride + 2 * index, mask=index < size, other=0.0)
    y = tl.load(points + wide * stride + 2 * index + 1, mask=index < size, other=0.0)
    best = tl.full((SLOTS,), float("inf"), points.dtype.element_ty)
    link = tl.zeros((SLOTS,), tl.int32)
    outside = (index < number) & (index > 0)
    current = row * 0
    for step in range(size - 1):
        here_x = tl.sum(tl.where(index == current, x, 0.0), axis=0)
        here_y = tl.sum(tl.where(index == current, y, 0.0), axis=0)
        squared = (x - here_x) * (x - here_x) + (y - here_y) * (y - here_y)
        link = tl.where(squared < best, current, link)
        best = tl.minimum(best, squared)
        open_best = tl.where(outside, best, float("inf"))
        square = tl.min(open_best, axis=0)
        # Of equals the lowest index; 0 once nothing is left.
        current = tl.min(tl.where(open_best == square, index, SLOTS), axis=0)
        tail = tl.sum(tl.where(index == current, link, 0), axis=0)
        outside = outside & (index != current)
        valid = step + 1 < number
        slot = wide * (size - 1) + step
        tl.store(edges + 2 * slot, tl.where(valid, tail, 0).to(tl.int64))
        tl.store(edges + 2 * slot + 1, tl.where(valid, current, 0).to(tl.int64))
        tl.store(weights + slot, tl.where(valid, tl.sqrt(square), 0.0))


@triton.jit(do_not_specialize=["edge_stride", "weight_stride", "size"])
def _bottleneck_kernel(
    edges, weights, heaviest, edge_stride, weight_stride, size, SLOTS: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, SLOTS)
    down = index[:, None]
    across = index[None, :]
    result = tl.zeros((SLOTS, SLOTS), weights.dtype.element_ty)
    inside = index == 0
    for step in range(size - 1):
        tail = tl.load(edges + row * edge_stride + 2 * step)
        head = tl.load(edges + row * edge_stride + 2 * step + 1)
        weight = tl.load(weights + row * weight_stride + step)
        via = tl.sum(tl.where(down == tail, result, 0.0), axis=0)
        ways = tl.where(inside & (index != head), tl.maximum(via, weight), 0.0)
        result = tl.where(down == head, ways[None, :], result)
        result = tl.where(across == head, ways[:, None], result)
        inside = inside | (index == head)
    place = row * size * size + down * size + across
    tl.store(heaviest + place, result, mask=(down < size) & (across < size))


@triton.jit(do_not_specialize=["stride", "size", "number"])
def _savings_kernel(
    points,
    count,
    heaviest,
    candidates,
    mask,
    saved,
    stride,
    size,
    number,
    SLOTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, SLOTS)
    rank = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(points + row * stride + 2 * index, mask=index < size, other=0.0)
    y = tl.load(points + row * stride + 2 * index + 1, mask=index < size, other=0.0)
    own = row * number + rank
    new_x = tl.load(candidates + 2 * own, mask=rank < number, other=0.0)
    new_y = tl.load(candidates + 2 * own + 1, mask=rank < number, other=0.0)
    dx = new_x[:, None] - x[None, :]
    dy = new_y[:, None] - y[None, :]
    real = index < tl.load(count + row)
    distance = tl.where(real[None, :], tl.sqrt(dx * dx + dy * dy), float("inf"))
    lightest = tl.full((BLOCK, SLOTS), float("inf"), points.dtype.element_ty)
    for w in range(size):
        # Taken out of the tile, not computed again: equal distances must compare as equal.
        here = tl.sum(tl.where(index[None, :] == w, distance, 0.0), axis=1)[:, None]
        bound = tl.load(
            heaviest + row * size * size + w * size + index, mask=index < size, other=0.0
        )
        nearer = (here < distance) | ((here == distance) & (index[None, :] > w))
        way = tl.maximum(here, bound[None, :])
        lightest = tl.where(nearer, tl.minimum(lightest, way), lightest)
    gain = tl.where(lightest < float("inf"), lightest - distance, 0.0)
    total = tl.sum(tl.maximum(gain, 0.0), axis=1) - tl.min(distance, axis=1)
    keep = tl.load(mask + own, mask=rank < number, other=0)
    tl.store(saved + own, tl.where(keep != 0, total, float("-inf")), mask=rank < number)


def prim_cuda(points: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """Return what `spanning.prim` returns."""
    batch, size = points.shape[:2]
    points = _rows_contiguous(points)
    edges = torch.empty((batch, size - 1, 2), dtype=torch.int64, device=points.device)
    weights = torch.empty((batch, size - 1), dtype=points.dtype, device=points.device)
    if batch and size > 1:
        slots, stride = _slots(size), points.stride(0)
        launch = {"SLOTS": slots, "num_warps": max(1, min(8, slots // 64))}
        _prim_kernel[(batch,)](points, count.contiguous(), edges, weights, stride, size, **launch)
    return edges, weights


def bottlenecks_cuda(edges: Tensor, weights: Tensor) -> Tensor:
    """Return what `spanning.bottlenecks` returns."""
    batch, size = edges.shape[0], edges.shape[1] + 1
    edges, weights = _rows_contiguous(edges), _rows_contiguous(weights)
    heaviest = torch.empty((batch, size, size), dtype=weights.dtype, device=edges.device)
    if batch:
        slots, strides = _slots(size), (edges.stride(0), weights.stride(0))
        launch = {"SLOTS": slots, "num_warps": max(1, min(8, slots * slots // 512))}
        _bottleneck_kernel[(batch,)](edges, weights, heaviest, *strides, size, **launch)
    return heaviest


def savings_cuda(
    points: Tensor, count: Tensor, heaviest: Tensor, candidates: Tensor, mask: Tensor
) -> Tensor:
    """Return what `spanning.savings` returns."""
    batch, size = points.shape[:2]
    number = candidates.shape[1]
    points = _rows_contiguous(points)
    saved = torch.empty((batch, number), dtype=points.dtype, device=points.device)
    if batch and number:
        slots = _slots(size)
        block = max(_SMALLEST_BLOCK, _TILE // slots)
        given = (candidates.contiguous(), mask.contiguous().view(torch.uint8))
        tree, sizes = (points, count.contiguous(), heaviest), (points.stride(0), size, number)
        launch = {"SLOTS": slots, "BLOCK": block, "num_warps": 4}
        _savings_kernel[(batch, triton.cdiv(number, block))](*tree, *given, saved, *sizes, **launch)
    return saved


def _slots(size: int) -> int:
    """Return the power of two that holds `size`; kernels work on such numbers of lanes."""
    return max(16, int(triton.next_power_of_2(size)))


def _rows_contiguous(tensor: Tensor) -> Tensor:
    """Return the tensor with every row in one piece; rows may lie apart from each other."""
    return tensor if tensor[:1].is_contiguous() else tensor.contiguous()
