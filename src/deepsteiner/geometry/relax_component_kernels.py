"""Best Steiner positions of one full component: the numerical heart of relaxation.

A terminal never moves, so a tree falls apart at its terminals into full components: groups of
Steiner points joined to each other, with terminals only at their leaves. Each one is a small
convex problem, the sum of Euclidean norms of its edges.

Two solvers share the work:

* `simpson_line` (Melzak's construction) is a closed form. It applies when every Steiner point has
  degree 3 and no edge collapses, and it needs the cyclic order of the neighbours of each Steiner
  point, which is read off approximate positions. Its result is exact up to rounding and the length
  of the Simpson line is a lower bound.
* `newton` is a primal-dual method for everything else. Each edge vector r is smoothed to
  w = sqrt(|r|^2 + eps^2) and has a dual vector y with |y| <= 1; Newton's method is applied to
  w y = r together with the balance of the dual vectors at every Steiner point, and eps follows the
  duality gap down (after Andersen, Christiansen, Conn and Overton, SIAM J. Sci. Comput. 22, 2000).
  The dual vectors stay balanced, so sum(r . y) is a lower bound at every step. The linear systems
  have the shape of the tree and are solved by leaf elimination with 2x2 blocks, O(s) a step.

A component is an array of NODE records in breadth-first order: node 0 is a terminal, node 1 the
Steiner point next to it, and every later node, terminal or Steiner point, comes after its parent.
The edge from a node to its parent is stored with the node.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ..core.points import Array

NODE = np.dtype(
    [
        ("vertex", np.int64),  # number in the whole tree
        ("parent", np.int64),
        ("fixed", np.int64),  # 1 for a terminal
        ("first", np.int64),  # the first two children
        ("second", np.int64),
        ("x", np.float64),  # current position
        ("y", np.float64),
        ("best_x", np.float64),  # position in the shortest tree so far, and the result
        ("best_y", np.float64),
        ("melzak_x", np.float64),  # equilateral point that replaces the subtree
        ("melzak_y", np.float64),
        ("dual_x", np.float64),  # dual vector of the edge to the parent
        ("dual_y", np.float64),
        ("pull_x", np.float64),  # r / w of the edge to the parent; later the step of the dual
        ("pull_y", np.float64),
        ("edge_xx", np.float64),  # stiffness of the edge to the parent, a symmetric 2x2 block
        ("edge_xy", np.float64),
        ("edge_yy", np.float64),
        ("below_xx", np.float64),  # stiffness of all that hangs below the node
        ("below_xy", np.float64),
        ("below_yy", np.float64),
        ("force_x", np.float64),  # right-hand side
        ("force_y", np.float64),
        ("step_x", np.float64),  # Newton step
        ("step_y", np.float64),
        ("stretch_x", np.float64),  # Newton step minus the step of the parent
        ("stretch_y", np.float64),
    ],
    align=True,
)

MAX_ITERATIONS = 120
TARGET_GAP = 1e-14  # newton stops here; rounding does not allow much more
GAP_PER_EDGE = 0.1  # eps follows this share of the duality gap per edge
GOOD_GAP = 2e-13  # good enough when progress stalls
GOOD_STALL_LIMIT = 4  # steps without a better bound or tree before newton stops at a good gap
STALL_LIMIT = 20  # the same at any gap: rounding makes some certificates erratic near the end
SIMPSON_TRIALS = 12  # newton steps after which the closed form is tried
ROOT3 = math.sqrt(3.0)

# Division by zero gives inf or NaN instead of an exception: less code, faster to compile and run.
kernel = njit(cache=True, error_model="numpy")
# Numba compiles all callees of a kernel again with each kernel that calls it: steps with one caller
# become part of that caller instead.
step = njit(cache=True, error_model="numpy", inline="always")

# How a component was solved.
CLOSED_FORM = 0  # every edge has positive length and every angle is 120 degrees
COLLAPSED = 1  # some edge has length zero, known exactly
ITERATED = 2  # by newton: edges may be close to zero


class Solved(NamedTuple):
    """What the best positions of a component give: its length, a lower bound for every tree of its
    topology, the Newton steps it took, and how it was solved.
    """

    length: float
    bound: float
    iterations: int
    how: int


@kernel
def best_length(nodes: Array, count: int) -> float:
    """Return the length of the component at its best positions."""
    total = 0.0
    for i in range(1, count):
        a = nodes[i]
        p = nodes[a.parent]
        dx = a.best_x - p.best_x
        dy = a.best_y - p.best_y
        total += math.sqrt(dx * dx + dy * dy)
    return total


@kernel
def _wide_corner(nodes: Array) -> int:
    """Which of the terminals 0, 2, 3 of a triangle has an angle >= 120 degrees; -1 for none."""
    for corner in (0, 2, 3):
        c = nodes[corner]
        a = nodes[2 if corner == 0 else 0]
        b = nodes[2 if corner == 3 else 3]
        ax = a.x - c.x
        ay = a.y - c.y
        bx = b.x - c.x
        by = b.y - c.y
        if ax * bx + ay * by <= -0.5 * math.sqrt((ax * ax + ay * ay) * (bx * bx + by * by)):
            return corner
    return -1


@kernel
def simpson_line(nodes: Array, count: int) -> float:
    """Try the closed form with the cyclic orders of the current positions; fill step_x, step_y.

    Every Steiner point must have two children. Returns the length of the Simpson line, or -1 when
    the orders are wrong or an edge would collapse.
    """
    for i in range(count - 1, 0, -1):
        v = nodes[i]
        if v.fixed:
            v.melzak_x = v.x
            v.melzak_y = v.y
            continue
        p = nodes[v.parent]
        a = nodes[v.first]
        b = nodes[v.second]
        cross = (a.x - p.x) * (b.y - p.y) - (a.y - p.y) * (b.x - p.x)
        if cross < 0.0:  # keep (parent, first, second) anticlockwise
            v.first, v.second = v.second, v.first
            a = nodes[v.first]
            b = nodes[v.second]
        dx = b.melzak_x - a.melzak_x
        dy = b.melzak_y - a.melzak_y
        v.melzak_x = a.melzak_x + 0.5 * (dx + ROOT3 * dy)
        v.melzak_y = a.melzak_y + 0.5 * (dy - ROOT3 * dx)
    nodes[0].step_x = nodes[0].x
    nodes[0].step_y = nodes[0].y
    total = 0.0
    for i in range(1, count):
        v = nodes[i]
        p = nodes[v.parent]
        v.step_x = v.x
        v.step_y = v.y
        if not v.fixed:
            a = nodes[v.first]
            b = nodes[v.second]
            ax = p.step_x - v.melzak_x
            ay = p.step_y - v.melzak_y
            squared = ax * ax + ay * ay
            # The Steiner point is where the line meets the circle around the triangle again.
            share = (2.0 / 3.0) * (
                (a.melzak_x + b.melzak_x - 2.0 * v.melzak_x) * ax
                + (a.melzak_y + b.melzak_y - 2.0 * v.melzak_y) * ay
            )
            if not 0.0 < share < squared:  # also refuses NaN
                return -1.0
            x = v.melzak_x + ax * (share / squared)
            y = v.melzak_y + ay * (share / squared)
            if not (a.melzak_x - x) * (b.melzak_y - y) > (a.melzak_y - y) * (b.melzak_x - x):
                return -1.0
            v.step_x = x
            v.step_y = y
        dx = v.step_x - p.step_x
        dy = v.step_y - p.step_y
        total += math.sqrt(dx * dx + dy * dy)
    dx = nodes[1].melzak_x - nodes[0].x
    dy = nodes[1].melzak_y - nodes[0].y
    line = math.sqrt(dx * dx + dy * dy)
    return line if abs(total - line) <= 1e-12 * line else -1.0


@kernel
def _eliminate(nodes: Array, count: int, eps: float) -> tuple[float, float]:
    """Set up Newton's linear system and eliminate it from the leaves up.

    A subtree acts on its parent through the parallel sum D (D + H)^-1 H of its edge's stiffness D
    and its own stiffness H: a product form that does not cancel when D is huge (a short edge).
    Returns (smoothed length, force . step).
    """
    for i in range(count):
        v = nodes[i]
        v.below_xx = 0.0
        v.below_xy = 0.0
        v.below_yy = 0.0
        v.force_x = 0.0
        v.force_y = 0.0
    smoothed = 0.0
    descent = 0.0
    for i in range(count - 1, 0, -1):
        v = nodes[i]
        p = nodes[v.parent]
        rx = v.x - p.x
        ry = v.y - p.y
        w = math.sqrt(rx * rx + ry * ry + eps * eps)
        smoothed += w
        ux = rx / w
        uy = ry / w
        v.pull_x = ux
        v.pull_y = uy
        # The block is (I - (y u' + u y') / 2) / w; the last term keeps it definite in rounding.
        dxx = (1.0 - v.dual_x * ux + 1e-12) / w
        dxy = -0.5 * (v.dual_x * uy + v.dual_y * ux) / w
        dyy = (1.0 - v.dual_y * uy + 1e-12) / w
        v.edge_xx = dxx
        v.edge_xy = dxy
        v.edge_yy = dyy
        p.force_x += ux
        p.force_y += uy
        if v.fixed:
            p.below_xx += dxx
            p.below_xy += dxy
            p.below_yy += dyy
            continue
        fx = v.force_x - ux
        fy = v.force_y - uy
        v.force_x = fx
        v.force_y = fy
        hxx = v.below_xx
        hxy = v.below_xy
        hyy = v.below_yy
        txx = hxx + dxx
        txy = hxy + dxy
        tyy = hyy + dyy
        det = txx * tyy - txy * txy
        gxx = (dxx * tyy - dxy * txy) / det  # G = D (D + H)^-1
        gxy = (dxy * txx - dxx * txy) / det
        gyx = (dxy * tyy - dyy * txy) / det
        gyy = (dyy * txx - dxy * txy) / det
        p.below_xx += gxx * hxx + gxy * hxy
        p.below_xy += 0.5 * (gxx * hxy + gxy * hyy + gyx * hxx + gyy * hxy)
        p.below_yy += gyx * hxy + gyy * hyy
        p.force_x += gxx * fx + gxy * fy
        p.force_y += gyx * fx + gyy * fy
        descent += (tyy * fx * fx - 2.0 * txy * fx * fy + txx * fy * fy) / det
    return smoothed, descent


@kernel
def _substitute(nodes: Array, count: int) -> None:
    """Find the Newton steps from the root down; `pull` becomes the new dual vector."""
    nodes[0].step_x = 0.0
    nodes[0].step_y = 0.0
    for i in range(1, count):
        v = nodes[i]
        p = nodes[v.parent]
        sx = p.step_x
        sy = p.step_y
        ex = -sx
        ey = -sy
        if not v.fixed:
            txx = v.below_xx + v.edge_xx
            txy = v.below_xy + v.edge_xy
            tyy = v.below_yy + v.edge_yy
            det = txx * tyy - txy * txy
            fx = v.force_x - (v.below_xx * sx + v.below_xy * sy)
            fy = v.force_y - (v.below_xy * sx + v.below_yy * sy)
            ex = (tyy * fx - txy * fy) / det
            ey = (txx * fy - txy * fx) / det
        v.stretch_x = ex
        v.stretch_y = ey
        v.step_x = sx + ex
        v.step_y = sy + ey
        v.pull_x += v.edge_xx * ex + v.edge_xy * ey
        v.pull_y += v.edge_xy * ex + v.edge_yy * ey


@kernel
def _move(nodes: Array, count: int, eps: float, smoothed: float, descent: float) -> None:
    """Move along the Newton step, halved until the smoothed length goes down."""
    share = 1.0
    for _ in range(30):
        total = 0.0
        for i in range(1, count):
            v = nodes[i]
            p = nodes[v.parent]
            rx = v.x - p.x + share * v.stretch_x
            ry = v.y - p.y + share * v.stretch_y
            total += math.sqrt(rx * rx + ry * ry + eps * eps)
        if total <= smoothed * (1.0 + 1e-15) - 1e-4 * share * descent:
            break
        share *= 0.5
    for i in range(count):
        v = nodes[i]
        if not v.fixed:
            v.x += share * v.step_x
            v.y += share * v.step_y


@kernel
def _move_duals(nodes: Array, count: int) -> tuple[float, float]:
    """Take the new dual vectors of the leaves, sum up the others from them, scale all to |y| <= 1.

    Balance fixes the inner dual vectors; summing them afresh keeps it exact to rounding. Returns
    the length of the current tree and the lower bound sum(r . y).
    """
    for i in range(count):
        v = nodes[i]
        v.dual_x = v.pull_x if v.fixed else 0.0
        v.dual_y = v.pull_y if v.fixed else 0.0
    length = 0.0
    bound = 0.0
    largest = 1.0
    for i in range(count - 1, 0, -1):
        v = nodes[i]
        p = nodes[v.parent]
        if v.parent > 0:
            p.dual_x += v.dual_x
            p.dual_y += v.dual_y
        rx = v.x - p.x
        ry = v.y - p.y
        length += math.sqrt(rx * rx + ry * ry)
        bound += rx * v.dual_x + ry * v.dual_y
        largest = max(largest, v.dual_x * v.dual_x + v.dual_y * v.dual_y)
    scale = 1.0 / math.sqrt(largest)
    if largest > 1.0:
        for i in range(1, count):
            v = nodes[i]
            v.dual_x *= scale
            v.dual_y *= scale
    return length, bound * scale


@kernel
def _keep(nodes: Array, count: int) -> None:
    """Make the current positions the best ones."""
    for i in range(count):
        v = nodes[i]
        v.best_x = v.x
        v.best_y = v.y


@kernel
def _keep_steps(nodes: Array, count: int) -> None:
    """Make the positions that `simpson_line` left in the steps the best ones."""
    for i in range(count):
        v = nodes[i]
        v.best_x = v.step_x
        v.best_y = v.step_y


@step
def newton(nodes: Array, count: int, extent: float, full: bool) -> Solved:
    """Primal-dual Newton method; fill the best positions."""
    for i in range(count):
        v = nodes[i]
        v.dual_x = 0.0
        v.dual_y = 0.0
    _keep(nodes, count)
    eps = extent
    shortest = best_length(nodes, count)
    bound = 0.0
    stalled = 0
    iteration = 0
    while iteration < MAX_ITERATIONS:
        iteration += 1
        smoothed, descent = _eliminate(nodes, count, eps)
        _substitute(nodes, count)
        _move(nodes, count, eps, smoothed, descent)
        length, below = _move_duals(nodes, count)
        stalled += 1
        if below > bound:
            bound = below
            stalled = 0
        if length < shortest:
            shortest = length
            _keep(nodes, count)
            stalled = 0
        if full and iteration <= SIMPSON_TRIALS:
            line = simpson_line(nodes, count)
            if line >= 0.0:
                _keep_steps(nodes, count)
                return Solved(line, line, iteration, CLOSED_FORM)
        gap = shortest - bound
        if gap <= TARGET_GAP * shortest or stalled >= STALL_LIMIT:
            break
        if stalled >= GOOD_STALL_LIMIT and gap <= GOOD_GAP * shortest:
            break
        eps = max(min(eps, GAP_PER_EDGE * (length - below) / count), 1e-17 * extent)
    if full:  # tell edges that are merely short from collapsed ones
        line = simpson_line(nodes, count)
        if line >= 0.0:
            _keep_steps(nodes, count)
            return Solved(line, line, iteration, CLOSED_FORM)
    return Solved(shortest, min(bound, shortest), iteration, ITERATED)


@kernel
def solve_component(nodes: Array, count: int, full: bool) -> Solved:
    """Find the best positions of one component, leaving them in best_x, best_y.

    `full` says that every Steiner point has degree 3. The current positions are overwritten.
    """
    origin_x = nodes[0].x
    origin_y = nodes[0].y
    extent = 0.0
    for i in range(count):
        v = nodes[i]
        v.x -= origin_x
        v.y -= origin_y
        if v.fixed:
            extent = max(extent, abs(v.x), abs(v.y))
    corner = 0 if extent == 0.0 else -1
    if corner < 0 and full and count == 4:
        corner = _wide_corner(nodes)
    iterations = 0
    if corner >= 0:
        for i in range(count):
            v = nodes[i]
            at = v if v.fixed else nodes[corner]
            v.best_x = at.x
            v.best_y = at.y
        length = best_length(nodes, count)
        bound = length
        how = COLLAPSED
    else:
        length = simpson_line(nodes, count) if full else -1.0
        bound = length
        how = CLOSED_FORM
        if length >= 0.0:
            _keep_steps(nodes, count)
        else:
            length, bound, iterations, how = newton(nodes, count, extent, full)
    for i in range(count):
        v = nodes[i]
        v.best_x += origin_x
        v.best_y += origin_y
    return Solved(length, bound, iterations, how)
