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

Places and vectors are complex numbers. A component is an array of NODE records in breadth-first
order: node 0 is a terminal, node 1 the Steiner point next to it, and every later node, terminal or
Steiner point, comes after its parent. The edge from a node to its parent is stored with the node.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.points import Array
from .vector_kernels import SIXTH, cross, dot, norm

NODE = np.dtype(
    [
        ("vertex", np.int64),  # number in the whole tree
        ("parent", np.int64),
        ("fixed", np.int64),  # 1 for a terminal
        ("first", np.int64),  # the first two children
        ("second", np.int64),
        ("place", np.complex128),  # current position
        ("best", np.complex128),  # position in the shortest tree so far, and the result
        ("equilateral", np.complex128),  # Melzak's point, which replaces the subtree
        ("dual", np.complex128),  # dual vector of the edge to the parent
        ("pull", np.complex128),  # r / w of the edge to the parent; later the step of the dual
        ("edge_xx", np.float64),  # stiffness of the edge to the parent, a symmetric 2x2 block
        ("edge_xy", np.float64),
        ("edge_yy", np.float64),
        ("below_xx", np.float64),  # stiffness of all that hangs below the node
        ("below_xy", np.float64),
        ("below_yy", np.float64),
        ("force", np.complex128),  # right-hand side
        ("step", np.complex128),  # Newton step
        ("stretch", np.complex128),  # Newton step minus the step of the parent
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
SIMPSON_AGREES = 1e-12  # share by which the closed form's tree may differ from its Simpson line
DEFINITE = 1e-12  # added to the diagonal of a stiffness, which rounding could make indefinite
HALVINGS = 30  # of a Newton step, until the smoothed length goes down

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
        total += norm(nodes[i].best - nodes[nodes[i].parent].best)
    return total


@kernel
def _wide_corner(nodes: Array) -> int:
    """Which of the terminals 0, 2, 3 of a triangle has an angle >= 120 degrees; -1 for none."""
    for corner, one, two in ((0, 2, 3), (2, 0, 3), (3, 0, 2)):
        a = nodes[one].place - nodes[corner].place
        b = nodes[two].place - nodes[corner].place
        if dot(a, b) <= -0.5 * math.sqrt(dot(a, a) * dot(b, b)):
            return corner
    return -1


@kernel
def simpson_line(nodes: Array, count: int) -> float:
    """Try the closed form with the cyclic orders of the current positions.

    Every Steiner point must have two children. Returns the length of the Simpson line, with the
    best positions filled, or -1 when the orders are wrong or an edge would collapse.
    """
    for i in range(count - 1, 0, -1):
        v = nodes[i]
        v.equilateral = v.place
        if v.fixed:
            continue
        p = nodes[v.parent].place
        if cross(nodes[v.first].place - p, nodes[v.second].place - p) < 0.0:
            v.first, v.second = v.second, v.first  # (parent, first, second) anticlockwise
        a, b = nodes[v.first].equilateral, nodes[v.second].equilateral
        v.equilateral = a + (b - a) * SIXTH
    nodes[0].step = nodes[0].place
    total = 0.0
    for i in range(1, count):
        v = nodes[i]
        above = nodes[v.parent].step
        v.step = v.place
        if not v.fixed:
            e = v.equilateral
            a, b = nodes[v.first].equilateral, nodes[v.second].equilateral
            line = above - e
            squared = dot(line, line)
            # The Steiner point is where the line meets the circle around the triangle again.
            share = (2.0 / 3.0) * dot(a + b - 2.0 * e, line)
            if not 0.0 < share < squared:  # also refuses NaN
                return -1.0
            v.step = e + line * (share / squared)
            if not cross(a - v.step, b - v.step) > 0.0:
                return -1.0
        total += norm(v.step - above)
    length = norm(nodes[1].equilateral - nodes[0].place)
    if not abs(total - length) <= SIMPSON_AGREES * length:
        return -1.0
    for i in range(count):
        nodes[i].best = nodes[i].step
    return length


@kernel
def _smoothed(r: complex, eps: float) -> float:
    """Return sqrt(|r|^2 + eps^2)."""
    return math.sqrt(r.real * r.real + r.imag * r.imag + eps * eps)


@kernel
def _times(xx: float, xy: float, yy: float, v: complex) -> complex:
    """Return a symmetric 2x2 block times a vector."""
    return complex(xx * v.real + xy * v.imag, xy * v.real + yy * v.imag)


@kernel
def _eliminate(nodes: Array, count: int, eps: float) -> tuple[float, float]:
    """Set up Newton's linear system and eliminate it from the leaves up.

    A subtree acts on its parent through the parallel sum D (D + H)^-1 H of its edge's stiffness D
    and its own stiffness H: a product form that does not cancel when D is huge (a short edge).
    Returns (smoothed length, force . step).
    """
    for i in range(count):
        v = nodes[i]
        v.below_xx = v.below_xy = v.below_yy = 0.0
        v.force = 0j
    smoothed = descent = 0.0
    for i in range(count - 1, 0, -1):
        v = nodes[i]
        p = nodes[v.parent]
        r = v.place - p.place
        w = _smoothed(r, eps)
        smoothed += w
        u, y = complex(r.real / w, r.imag / w), v.dual
        # The block is (I - (y u' + u y') / 2) / w.
        dxx = (1.0 - y.real * u.real + DEFINITE) / w
        dxy = -0.5 * (y.real * u.imag + y.imag * u.real) / w
        dyy = (1.0 - y.imag * u.imag + DEFINITE) / w
        v.pull = u
        v.edge_xx, v.edge_xy, v.edge_yy = dxx, dxy, dyy
        p.force += u
        if v.fixed:
            p.below_xx += dxx
            p.below_xy += dxy
            p.below_yy += dyy
            continue
        v.force -= u
        fx, fy = v.force.real, v.force.imag
        hxx, hxy, hyy = v.below_xx, v.below_xy, v.below_yy
        txx, txy, tyy = hxx + dxx, hxy + dxy, hyy + dyy
        det = txx * tyy - txy * txy
        gxx = (dxx * tyy - dxy * txy) / det  # G = D (D + H)^-1
        gxy = (dxy * txx - dxx * txy) / det
        gyx = (dxy * tyy - dyy * txy) / det
        gyy = (dyy * txx - dxy * txy) / det
        p.below_xx += gxx * hxx + gxy * hxy
        p.below_xy += 0.5 * (gxx * hxy + gxy * hyy + gyx * hxx + gyy * hxy)
        p.below_yy += gyx * hxy + gyy * hyy
        p.force += complex(gxx * fx + gxy * fy, gyx * fx + gyy * fy)
        descent += (tyy * fx * fx - 2.0 * txy * fx * fy + txx * fy * fy) / det
    return smoothed, descent


@kernel
def _substitute(nodes: Array, count: int) -> None:
    """Find the Newton steps from the root down; `pull` becomes the new dual vector."""
    nodes[0].step = 0j
    for i in range(1, count):
        v = nodes[i]
        above = nodes[v.parent].step
        v.stretch = -above
        if not v.fixed:
            txx, txy = v.below_xx + v.edge_xx, v.below_xy + v.edge_xy
            tyy = v.below_yy + v.edge_yy
            det = txx * tyy - txy * txy
            f = v.force - _times(v.below_xx, v.below_xy, v.below_yy, above)
            solved = _times(tyy, -txy, txx, f)
            v.stretch = complex(solved.real / det, solved.imag / det)
        v.step = above + v.stretch
        v.pull += _times(v.edge_xx, v.edge_xy, v.edge_yy, v.stretch)


@kernel
def _move(nodes: Array, count: int, eps: float, smoothed: float, descent: float) -> None:
    """Move along the Newton step, halved until the smoothed length goes down."""
    share = 1.0
    for _ in range(HALVINGS):
        total = 0.0
        for i in range(1, count):
            v = nodes[i]
            total += _smoothed(v.place - nodes[v.parent].place + share * v.stretch, eps)
        if total <= smoothed * (1.0 + 1e-15) - 1e-4 * share * descent:
            break
        share *= 0.5
    for i in range(count):
        if not nodes[i].fixed:
            nodes[i].place += share * nodes[i].step


@kernel
def _move_duals(nodes: Array, count: int) -> tuple[float, float]:
    """Take the new dual vectors of the leaves, sum up the others from them, scale all to |y| <= 1.

    Balance fixes the inner dual vectors; summing them afresh keeps it exact to rounding. Returns
    the length of the current tree and the lower bound sum(r . y).
    """
    for i in range(count):
        nodes[i].dual = nodes[i].pull if nodes[i].fixed else 0j
    length = bound = 0.0
    largest = 1.0
    for i in range(count - 1, 0, -1):
        v = nodes[i]
        if v.parent > 0:
            nodes[v.parent].dual += v.dual
        r = v.place - nodes[v.parent].place
        length += norm(r)
        bound += dot(r, v.dual)
        largest = max(largest, dot(v.dual, v.dual))
    scale = 1.0 / math.sqrt(largest)
    if largest > 1.0:
        for i in range(1, count):
            nodes[i].dual *= scale
    return length, bound * scale


@kernel
def _keep(nodes: Array, count: int) -> None:
    """Make the current positions the best ones."""
    for i in range(count):
        nodes[i].best = nodes[i].place


@step
def newton(nodes: Array, count: int, extent: float, full: bool) -> Solved:
    """Primal-dual Newton method; fill the best positions."""
    for i in range(count):
        nodes[i].dual = 0j
    _keep(nodes, count)
    eps, bound = extent, 0.0
    shortest = best_length(nodes, count)
    stalled = iteration = 0
    stop = False
    while not stop:
        iteration += 1
        smoothed, descent = _eliminate(nodes, count, eps)
        _substitute(nodes, count)
        _move(nodes, count, eps, smoothed, descent)
        length, below = _move_duals(nodes, count)
        stalled += 1
        if below > bound:
            bound, stalled = below, 0
        if length < shortest:
            shortest, stalled = length, 0
            _keep(nodes, count)
        gap = shortest - bound
        good = stalled >= GOOD_STALL_LIMIT and gap <= GOOD_GAP * shortest
        stop = good or gap <= TARGET_GAP * shortest or stalled >= STALL_LIMIT
        stop = stop or iteration == MAX_ITERATIONS
        # The last trial tells edges that are merely short from collapsed ones.
        if full and (stop or iteration <= SIMPSON_TRIALS):
            line = simpson_line(nodes, count)
            if line >= 0.0:
                return Solved(line, line, iteration, CLOSED_FORM)
        eps = max(min(eps, GAP_PER_EDGE * (length - below) / count), 1e-17 * extent)
    return Solved(shortest, min(bound, shortest), iteration, ITERATED)


@kernel
def solve_component(nodes: Array, count: int, full: bool) -> Solved:
    """Find the best positions of one component, leaving them in `best`.

    `full` says that every Steiner point has degree 3. The current positions are overwritten.
    """
    origin, extent = nodes[0].place, 0.0
    for i in range(count):
        v = nodes[i]
        v.place -= origin
        if v.fixed:
            extent = max(extent, abs(v.place.real), abs(v.place.imag))
    corner = 0 if extent == 0.0 else -1
    if corner < 0 and full and count == 4:
        corner = _wide_corner(nodes)
    if corner >= 0:
        for i in range(count):
            nodes[i].best = nodes[i].place if nodes[i].fixed else nodes[corner].place
        length = best_length(nodes, count)
        solved = Solved(length, length, 0, COLLAPSED)
    else:
        line = simpson_line(nodes, count) if full else -1.0
        solved = Solved(line, line, 0, CLOSED_FORM)
        if line < 0.0:
            solved = newton(nodes, count, extent, full)
    for i in range(count):
        nodes[i].best += origin
    return solved
