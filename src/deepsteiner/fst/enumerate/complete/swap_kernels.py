"""The swap test, ours: four branches around an edge must not be shorter joined the other way.

Take an edge of length e between two Steiner points and points on the four edges around it, at
distances a and b from its one end and c and d from its other, a facing c and b facing d. With
P = a + d and Q = b + c, the tree is L = P + Q + e long; joining a with c and b with d instead has
the length M of the other Simpson line, and Melzak's construction gives

    L^2 - M^2 = (P - e) (Q - e) - 3 e^2,

so the other tree is shorter if sqrt((P - e) (Q - e)) > sqrt(3) e; the difference is the gain g.
That tree exists if each distance is at most e / 2 plus 1.5 times the one it faces, and neither of
P and Q more than twice the other; nearer points on the same edges can be taken until they are.
Lengths of edges are linear in the direction in which a branch is left, and the geometric mean is
concave, so the directions ruled out are convex.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .arc_kernels import NOWHERE, Arc, dot, lean, norm, unit
from .bottleneck_kernels import Records
from .forest_kernels import TIE, child_of, edge_vector, trunk

ROOT3 = math.sqrt(3.0)
CLEAR = 10.0 * TIE
"""A gain of this much is a tree shorter by more than TIE.

With m = sqrt((P - e) (Q - e)) = g + sqrt(3) e, L^2 - M^2 is g (m + sqrt(3) e) >= g m. As
P <= 2 Q (or the reverse) and e <= m / sqrt(3), L is at most 4.05 m. So L - M >= g m / 2 L > g / 10.
"""
BISECTIONS = 5
"""The end of an arc is found up to 1 / 32 of its width; what is kept too much does no harm."""


class Quartet(NamedTuple):
    """An edge and the four around it, as vectors w: w · u is the length in direction u."""

    edge: complex
    a: complex  # on one side of the edge ...
    b: complex
    c: complex  # ... and on the other, facing a
    d: complex  # facing b


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
def is_swapped(q: Quartet, u: complex) -> bool:
    """Whether the other tree is clearly shorter in direction u."""
    lengths = dot(q.edge, u), dot(q.a, u), dot(q.b, u), dot(q.c, u), dot(q.d, u)
    return swap_gain(*lengths) > CLEAR


@lean
def keep_unswapped(quartet: Quartet, arc: Arc) -> Arc:
    """Smallest arc around the directions of an arc that pass the test."""
    if not arc.exists:
        return arc
    out_a, out_b = is_swapped(quartet, arc.a), is_swapped(quartet, arc.b)
    if out_a == out_b:
        return NOWHERE if out_a else arc
    inner, outer = (arc.b, arc.a) if out_a else (arc.a, arc.b)
    for _ in range(BISECTIONS):
        u = unit(inner + outer)
        if is_swapped(quartet, u):
            outer = u
        else:
            inner = u
    return Arc(True, outer, arc.b) if out_a else Arc(True, arc.a, outer)


@lean
def quartet_below(branches: Records, node: int, side: int, turned: int, out: complex) -> Quartet:
    """The edge from a Steiner point to its left (or right) child, and the edges around it.

    The Steiner point is left in direction u turned by `turned` sixths, by an edge `out`.
    """
    child, other = child_of(branches, node, side), child_of(branches, node, 1 - side)
    inner = turned - 1 + 2 * side
    edge = edge_vector(branches, node, child, inner)
    sibling = edge_vector(branches, node, other, turned + 1 - 2 * side)
    left = edge_vector(branches, child, branches[child].left, inner - 1)
    right = edge_vector(branches, child, branches[child].right, inner + 1)
    if side == 0:
        return Quartet(edge, left, right, out, sibling)
    return Quartet(edge, left, right, sibling, out)


@lean
def cut_swaps(branches: Records, row: int, side: int, arc: Arc) -> Arc:
    """Cut an arc by the test on the edge to a new branch's child and on those to its children."""
    child, turned = child_of(branches, row, side), 2 * side - 1
    straight = int(np.int64(0))  # a literal would compile the callee twice
    # How far the tree leads on from the new branch is not known yet.
    arc = keep_unswapped(quartet_below(branches, row, side, straight, 0j), arc)
    above = edge_vector(branches, row, child, turned)
    for inner in range(2):
        if branches[child_of(branches, child, inner)].size > 1:
            arc = keep_unswapped(quartet_below(branches, child, inner, turned, above), arc)
    return arc


@lean
def is_better_swapped(branches: Records, branch: int, root: complex) -> bool:
    """Whether the test forbids an edge at the last Steiner point of a branch closed at `root`."""
    own = branches[branch]
    line = root - own.equilateral
    u = unit(line)
    out = (norm(line) - trunk(own, u)) * u
    straight = int(np.int64(0))  # a literal would compile the callee twice
    for side in range(2):
        if branches[child_of(branches, branch, side)].size > 1 and is_swapped(
            quartet_below(branches, branch, side, straight, out), u
        ):
            return True
    return False
