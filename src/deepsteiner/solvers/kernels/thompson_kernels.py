"""Kernels of Thompson's method: Steiner points put into the narrowest angles of a tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.jit import njit
from ...core.points import Array
from ...geometry.relax_component_kernels import step
from ...geometry.spanning_kernels import spanning_tree
from ...geometry.vector_kernels import cosine, fermat_point
from ...run.method import TreeRows
from .slot_kernels import NARROW, SlotTree, insert, put_slots, slots_of


class Insertion(NamedTuple):
    """A tree and a heap of its narrow angles.

    Attributes
    ----------
    tree
        The tree so far.
    heap
        (4n, 2) rows (cosine, terminal), the narrowest angle of the tree on top and of equal ones
        that of the lower terminal. A row whose angle has changed stays until it comes out on top.
    waiting
        (1,) number of rows in use.
    """

    tree: SlotTree
    heap: Array
    waiting: Array


@njit(cache=True)
def _is_before(heap: Array, i: int, j: int) -> bool:
    """Whether row i belongs above row j."""
    same = heap[i, 0] == heap[j, 0]
    return bool(heap[i, 0] > heap[j, 0] or (same and heap[i, 1] < heap[j, 1]))


@njit(cache=True)
def _swap(heap: Array, i: int, j: int) -> None:
    for column in range(2):
        heap[i, column], heap[j, column] = heap[j, column], heap[i, column]


@step
def push(state: Insertion, cosine: float, v: int) -> None:
    """Put an angle at terminal v into the heap."""
    heap, k = state.heap, state.waiting[0]
    state.waiting[0] += 1
    heap[k, 0], heap[k, 1] = cosine, v
    while k > 0 and _is_before(heap, k, (k - 1) // 2):
        _swap(heap, k, (k - 1) // 2)
        k = (k - 1) // 2


@step
def pop(state: Insertion) -> tuple[float, int]:
    """Take the top off the heap; return its cosine and terminal."""
    heap, last, k = state.heap, state.waiting[0] - 1, 0
    state.waiting[0] = last
    _swap(heap, 0, last)
    while 2 * k + 1 < last:
        child = 2 * k + 1
        if child + 1 < last and _is_before(heap, child + 1, child):
            child += 1
        if not _is_before(heap, child, k):
            break
        _swap(heap, child, k)
        k = child
    return heap[last, 0], int(heap[last, 1])


@step
def narrowest(tree: SlotTree, v: int) -> tuple[float, int, int]:
    """Return (cosine, slot, slot) of the narrowest angle at v; a cosine of -1 where there is none.

    Edges of length zero have no direction and are left out.
    """
    best, best_i, best_j = -1.0, -1, -1
    places, near, end = tree.places, tree.neighbours, tree.start[v] + tree.degree[v]
    for i in range(tree.start[v], end):
        for j in range(i + 1, end):
            value = cosine(places[v], places[near[i]], places[near[j]])
            if value > best:
                best, best_i, best_j = value, i, j
    return best, best_i, best_j


@njit(cache=True)
def begin(terminals: Array, edges: Array) -> Insertion:
    """Return the state of `insert_some` for a spanning tree."""
    n = terminals.shape[0]
    heap = np.empty((4 * n, 2))  # every insertion adds at most three rows
    state = Insertion(slots_of(terminals, edges), heap, np.zeros(1, dtype=np.int64))
    for v in range(n):
        _note(state, v)
    return state


@step
def _note(state: Insertion, v: int) -> None:
    """Put the narrowest angle at v into the heap where it is below 120 degrees."""
    widest = narrowest(state.tree, v)[0]
    if widest > NARROW:
        push(state, widest, v)


@njit(cache=True)
def insert_some(n: int, state: Insertion, most: int) -> float:
    """Insert up to `most` Steiner points, narrowest angle first; return what they saved.

    When the heap is empty afterwards no two edges meet below 120 degrees at a terminal.
    """
    tree, saved = state.tree, 0.0
    places = tree.places
    # Every turn takes a row off the heap; only insertions add any, and each takes an edge away
    # from a terminal that has two.
    while most > 0 and state.waiting[0] > 0:
        noted, v = pop(state)
        now, i, j = narrowest(tree, v)
        if now != noted:
            continue
        a, b = tree.neighbours[i], tree.neighbours[j]
        place, _ = fermat_point(places[a], places[b], places[v])
        insert(tree, v, i, j, place)
        for other in (a, b, v):
            saved -= abs(places[other] - place)
        for other in (a, b):
            saved += abs(places[other] - places[v])
        for other in (a, b, v):
            if other < n:
                _note(state, other)
        most -= 1
    return saved


@njit(cache=True, nogil=True)
def insert_batch(terminals: Array, rows: TreeRows, first: int, last: int) -> None:
    """Run insertion over the spanning trees of instances first..last; write their trees."""
    n = terminals.shape[1]
    for b in range(first, last):
        state = begin(terminals[b], spanning_tree(terminals[b]))
        insert_some(n, state, n)
        put_slots(rows, b, state.tree)
