"""The swap test: four branches around an edge must not be shorter when joined the other way.

Take an edge of length e between two Steiner points and points on the four edges around it, at
distances a and b from its one end and c and d from its other, a facing c and b facing d. Joining
a with c and b with d instead is shorter if (P - e) (Q - e) > 3 e^2, with P = a + d and Q = b + c.
That tree exists if each distance is at most e / 2 plus 1.5 times the one it faces, and neither of
P and Q more than twice the other; nearer points on the same edges can be taken until they are.
Lengths of edges are linear in the direction in which a branch is left, and the geometric mean is
concave, so the directions ruled out are convex.
"""

from __future__ import annotations

import math

from .arc_kernels import Interval, lean, norm, turn
from .bottleneck_kernels import Floats, Ints
from .forest_kernels import CX, CY, EX, EY, LEFT, RIGHT, SIZE, TIE
from .reach_kernels import middle

ROOT3 = math.sqrt(3.0)
CLEAR = 10.0 * TIE
"""A gain of this much is a tree shorter by more than TIE."""
BISECTIONS = 5


@lean
def swap_gain(edge: float, a: float, b: float, c: float, d: float) -> float:
    """How clearly an edge is too short for the edges around it; a faces c, b faces d."""
    half = 0.5 * edge
    one = min(a, half + 1.5 * c) + min(d, half + 1.5 * b)
    two = min(b, half + 1.5 * d) + min(c, half + 1.5 * a)
    rest = (min(one, 2.0 * two) - edge) * (min(two, 2.0 * one) - edge)
    if one <= edge or two <= edge:
        return -1.0
    return float(math.sqrt(max(rest, 0.0)) - ROOT3 * edge)


@lean
def gain_along(
    ex: float,
    ey: float,
    px: float,
    py: float,
    qx: float,
    qy: float,
    rx: float,
    ry: float,
    sx: float,
    sy: float,
    ux: float,
    uy: float,
) -> float:
    """The gain in direction u: e · u is the edge, p · u and q · u end on one side of it."""
    return swap_gain(
        ex * ux + ey * uy,
        px * ux + py * uy,
        qx * ux + qy * uy,
        rx * ux + ry * uy,
        sx * ux + sy * uy,
    )


@lean
def keep_unswapped(
    ex: float,
    ey: float,
    px: float,
    py: float,
    qx: float,
    qy: float,
    rx: float,
    ry: float,
    sx: float,
    sy: float,
    ax: float,
    ay: float,
    bx: float,
    by: float,
) -> Interval:
    """Smallest interval around the directions u of [a, b] that pass the test."""
    out_a = gain_along(ex, ey, px, py, qx, qy, rx, ry, sx, sy, ax, ay) > CLEAR
    out_b = gain_along(ex, ey, px, py, qx, qy, rx, ry, sx, sy, bx, by) > CLEAR
    if out_a == out_b:
        return not out_a, ax, ay, bx, by
    inx, iny, outx, outy = (bx, by, ax, ay) if out_a else (ax, ay, bx, by)
    for _ in range(BISECTIONS):
        ux, uy = middle(inx, iny, outx, outy)
        if gain_along(ex, ey, px, py, qx, qy, rx, ry, sx, sy, ux, uy) > CLEAR:
            outx, outy = ux, uy
        else:
            inx, iny = ux, uy
    if out_a:
        return True, outx, outy, bx, by
    return True, ax, ay, outx, outy


@lean
def edge_vector(shape: Floats, node: int, child: int, turned: int) -> tuple[float, float]:
    """The w with w · u the length of the edge to a child that is `turned` sixths from u."""
    return turn(
        2.0 * (shape[node, CX] - shape[child, CX]),
        2.0 * (shape[node, CY] - shape[child, CY]),
        -turned,
    )


@lean
def cut_swaps(
    shape: Floats,
    link: Ints,
    node: int,
    turned: int,
    outx: float,
    outy: float,
    ex: float,
    ey: float,
    sx: float,
    sy: float,
    is_left: bool,
    ax: float,
    ay: float,
    bx: float,
    by: float,
) -> Interval:
    """Cut [a, b] by the test on the edge e · u above an inner node.

    At the far end are the edge to the node's sibling, s · u, and the one that leads on, out · u.
    """
    px, py = edge_vector(shape, node, link[node, LEFT], turned - 1)
    qx, qy = edge_vector(shape, node, link[node, RIGHT], turned + 1)
    if is_left:
        return keep_unswapped(ex, ey, px, py, qx, qy, outx, outy, sx, sy, ax, ay, bx, by)
    return keep_unswapped(ex, ey, px, py, qx, qy, sx, sy, outx, outy, ax, ay, bx, by)


@lean
def is_better_swapped(shape: Floats, link: Ints, branch: int, x: float, y: float) -> bool:
    """Whether the test forbids an edge at the last Steiner point of a branch closed at (x, y)."""
    ux, uy = x - shape[branch, EX], y - shape[branch, EY]
    scale = 1.0 / norm(ux, uy)
    ux, uy = ux * scale, uy * scale
    along = 2.0 * (
        (shape[branch, CX] - shape[branch, EX]) * ux + (shape[branch, CY] - shape[branch, EY]) * uy
    )
    out = 1.0 / scale - along
    for side in range(2):
        child = link[branch, LEFT + side]
        if link[child, SIZE] == 1:
            continue
        turned = -1 + 2 * side
        wx, wy = edge_vector(shape, branch, child, turned)
        edge = wx * ux + wy * uy
        wx, wy = edge_vector(shape, branch, link[branch, RIGHT - side], -turned)
        sibling = wx * ux + wy * uy
        wx, wy = edge_vector(shape, child, link[child, LEFT], turned - 1)
        left = wx * ux + wy * uy
        wx, wy = edge_vector(shape, child, link[child, RIGHT], turned + 1)
        right = wx * ux + wy * uy
        facing_left, facing_right = (out, sibling) if side == 0 else (sibling, out)
        if swap_gain(edge, left, right, facing_left, facing_right) > CLEAR:
            return True
    return False
