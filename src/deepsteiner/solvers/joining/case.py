"""Trees that join existing networks: nodes and pieces, and what `mst` and `local` do there.

A *node* is a terminal, or a part of the network with all terminals on it. Optional parts without
terminals need not be in a tree. A tree is kept as *pieces*, full Steiner trees that meet in nodes
only; on a part two pieces may end at different places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.points import FloatArray, IntArray
from ...plane.networks import Network
from ...plane.plane import as_complex, as_pairs
from ...run.method import Run, Tree

if TYPE_CHECKING:
    from ...plane.contact_kernels import Layout

ALL_PAIRS = 400
"""Nodes up to which a spanning tree looks at all pairs."""
SEGMENTS = 800
"""And segments."""
SAMPLES = 4
"""Beyond, segments are sampled at no more than so many places for each node and segment."""


@dataclass(frozen=True)
class Piece:
    """A full Steiner tree: its nodes, where its leaves are, then Steiner points, and edges."""

    nodes: IntArray
    spots: FloatArray
    edges: IntArray

    @cached_property
    def length(self) -> float:
        """The sum of its edges."""
        ends = self.spots[self.edges]
        return float(np.hypot(*(ends[:, 0] - ends[:, 1]).T).sum())


@dataclass(frozen=True)
class Case:
    """Terminals and parts of a run as nodes.

    Attributes
    ----------
    run
        The run.
    free
        Terminals that are not on the network: the first nodes.
    node_of
        The node of every terminal.
    layout
        The terminals off the network and all segments, with their nodes; after the terminals
        places of parts alone, which obstacles may leave of a segment.
    mandatory
        How many of the nodes, the first ones, every tree must have.
    parts
        The part of each node after the free terminals.
    """

    run: Run
    free: IntArray
    node_of: IntArray
    layout: Layout
    mandatory: int
    parts: IntArray

    @classmethod
    def of(cls, run: Run) -> Case:
        """Number the nodes: terminals off the network, parts to be joined, optional parts."""
        from ...plane.contact_kernels import Layout

        network: Network = run.network
        on = network.part_at(run.points)
        free = np.flatnonzero(on < 0)
        taken = np.union1d(on[on >= 0], network.needed)
        tail, head, part, alone, whose = network.joinable
        there = np.union1d(part, whose)  # obstacles may leave nothing of an optional part
        order = np.concatenate((taken, np.setdiff1d(there, taken))).astype(np.int64)
        number = np.full(len(network), -1)
        number[order] = len(free) + np.arange(len(order))
        node_of = np.empty(len(run.points), np.int64)
        node_of[free] = np.arange(len(free))
        node_of[on >= 0] = number[on[on >= 0]]
        owner = number[part]
        rows = np.argsort(owner, kind="stable")
        count = len(free) + len(order)
        layout = Layout(
            as_complex(np.concatenate((run.points[free], alone))),
            np.concatenate((np.arange(len(free)), number[whose])).astype(np.int64),
            as_complex(tail[rows]),
            as_complex(head[rows]),
            np.searchsorted(owner[rows], np.arange(count + 1)).astype(np.int64),
        )
        return cls(run, free, node_of, layout, len(free) + len(taken), order)

    @property
    def count(self) -> int:
        """The number of nodes."""
        return len(self.layout.first) - 1

    def tree(self, pieces: list[Piece], **claims: Any) -> Tree:
        """Return the union of pieces as a method's answer; terminals on the network get joints."""
        points = self.run.points
        n, s = len(points), sum(len(one.spots) - len(one.nodes) for one in pieces)
        steiner: list[FloatArray] = [np.empty((0, 2))]
        joints: dict[tuple[float, float], int] = {}
        edges: list[IntArray] = []

        def joint(place: FloatArray) -> int:
            key = (float(place[0]), float(place[1]))
            return joints.setdefault(key, n + s + len(joints))

        placed = n
        for one in pieces:
            size = len(one.nodes)
            leaves = [
                int(self.free[u]) if u < len(self.free) else joint(one.spots[k])
                for k, u in enumerate(one.nodes.tolist())
            ]
            inner = np.arange(placed, placed + len(one.spots) - size)
            placed += len(inner)
            steiner.append(one.spots[size:])
            edges.append(np.concatenate((np.array(leaves, np.int64), inner))[one.edges])
        for t in np.flatnonzero(self.node_of >= len(self.free)).tolist():
            edges.append(np.array([[t, joint(points[t])]]))
        places = np.array(list(joints), dtype=np.float64).reshape(-1, 2)
        every = np.concatenate([np.empty((0, 2), np.int64), *edges])
        return Tree(np.concatenate(steiner), every, joints=places, **claims)


def total(pieces: list[Piece]) -> float:
    """Return the length of a tree."""
    return float(sum(one.length for one in pieces))


def solve_mst(run: Run) -> Tree:
    """Return the minimum spanning tree with parts of the network as nodes."""
    case = Case.of(run)
    pieces = spanning(case)
    length = total(pieces)
    run.monitor.report("done", 1, 1, length)
    if run.trace is not None:
        run.trace.append({"step": "spanning tree", "length": length * run.frame.unit})
    return case.tree(pieces)


def spanning(case: Case) -> list[Piece]:
    """Return a minimum spanning tree of the mandatory nodes under shortest chains of links."""
    if case.mandatory < 2:
        return []
    pairs, ours, theirs = _links(case)
    kept = spanning_links(pairs, np.abs(ours - theirs), case.mandatory, case.count)
    found = [_edge(pairs[k], ours[k], theirs[k]) for k in kept.tolist()]
    return without_bare_parts(found, case.mandatory, case.count)


def spanning_links(pairs: IntArray, lengths: FloatArray, mandatory: int, count: int) -> IntArray:
    """Return the links, by their rows, of a spanning tree of the mandatory nodes.

    A chain may go through optional parts, at no cost along them. As K. Mehlhorn, "A faster
    approximation algorithm for the Steiner problem in graphs", Information Processing Letters 27
    (1988) 125-128: every node is given to the mandatory node that is nearest along chains, and the
    links between such districts contain a spanning tree. Leaves without a terminal are dropped.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    both = np.concatenate((pairs, pairs[:, ::-1]))
    graph = csr_array((np.tile(lengths, 2), (both[:, 0], both[:, 1])), shape=2 * (count,))
    away, before, nearest = dijkstra(
        graph, indices=np.arange(mandatory), return_predecessors=True, min_only=True
    )
    bridging = away[pairs[:, 0]] + lengths + away[pairs[:, 1]]
    number = {(int(a), int(b)): k for k, (a, b) in enumerate(pairs.tolist())}
    taken: set[int] = set()
    for k in kruskal(nearest[pairs], bridging, count):
        taken.add(k)
        for node in pairs[k].tolist():
            while before[node] >= 0:
                previous = int(before[node])
                taken.add(number[min(node, previous), max(node, previous)])
                node = previous
    rows = np.array(sorted(taken), dtype=np.int64)
    return rows[kruskal(pairs[rows], lengths[rows], count)]


def _edge(pair: IntArray, p: complex, q: complex) -> Piece:
    return Piece(pair, np.array([[p.real, p.imag], [q.real, q.imag]]), np.array([[0, 1]]))


def kruskal(pairs: IntArray, lengths: FloatArray, count: int) -> list[int]:
    """Return the rows of a minimum spanning forest of some links."""
    root = list(range(count))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    kept = []
    ends = pairs.tolist()
    for k in np.argsort(lengths, kind="stable").tolist():
        a, b = find(ends[k][0]), find(ends[k][1])
        if a != b:
            root[a] = b
            kept.append(k)
    return kept


def without_bare_parts(pieces: list[Piece], mandatory: int, count: int) -> list[Piece]:
    """Drop edges to optional parts at which nothing else ends, again and again."""
    while True:
        degree = np.zeros(count, np.int64)
        for one in pieces:
            degree[one.nodes] += 1
        kept = [
            one
            for one in pieces
            if len(one.nodes) > 2 or not ((one.nodes >= mandatory) & (degree[one.nodes] < 2)).any()
        ]
        if len(kept) == len(pieces):
            return kept
        pieces = kept


def looks_at_all_pairs(case: Case) -> bool:
    """Return whether `spanning` is sure to find a minimum spanning tree."""
    return case.count <= ALL_PAIRS and len(case.layout.tail) <= SEGMENTS


def _links(case: Case) -> tuple[IntArray, Any, Any]:
    """Return pairs of nodes, smaller first, each once, and where they are nearest to each other."""
    from ...plane.contact_kernels import contacts

    layout, n = case.layout, len(case.layout.places)
    tail = np.concatenate((layout.places, layout.tail))
    head = np.concatenate((layout.places, layout.head))
    node = np.concatenate((layout.node, np.repeat(np.arange(case.count), np.diff(layout.first))))
    if looks_at_all_pairs(case):
        rows = np.stack(np.triu_indices(len(tail), 1), axis=1)
    else:
        rows = _neighbours(tail, head, n)
    rows = np.ascontiguousarray(rows[node[rows[:, 0]] != node[rows[:, 1]]])
    ours, theirs = contacts(tail, head, rows)
    ends = node[rows]
    turned = ends[:, 0] > ends[:, 1]
    ends[turned] = ends[turned][:, ::-1]
    ours, theirs = np.where(turned, theirs, ours), np.where(turned, ours, theirs)
    order = np.argsort(np.abs(ours - theirs), kind="stable")
    _, first = np.unique(ends[order], axis=0, return_index=True)
    keep = order[first]
    return ends[keep], ours[keep], theirs[keep]


def _neighbours(tail: Any, head: Any, n: int) -> IntArray:
    """Return pairs of points and segments that are neighbours: Delaunay edges of samples."""
    from scipy.spatial import Delaunay

    size = np.abs(head - tail)
    area = float(np.prod(np.ptp(as_pairs(np.concatenate((tail, head))), axis=0)))
    spacing = max(np.sqrt(area / len(tail)), size.sum() / (SAMPLES * len(tail)), 1e-300)
    counts = np.where(np.arange(len(tail)) < n, 1, 2 + np.floor(size / spacing)).astype(np.int64)
    owner = np.repeat(np.arange(len(tail)), counts)
    step = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    share = step / np.maximum(counts[owner] - 1, 1)
    spots = as_pairs(tail[owner] + share * (head - tail)[owner])
    places, first = np.unique(spots, axis=0, return_index=True)
    if len(places) < 4 or np.linalg.matrix_rank(places - places[0], tol=1e-9) < 2:
        return np.stack(np.triu_indices(len(tail), 1), axis=1)
    corners = Delaunay(places).simplices
    sides = np.concatenate((corners[:, :2], corners[:, 1:], corners[:, ::2]))
    rows = np.sort(owner[first[sides]], axis=1)
    return np.asarray(np.unique(rows[rows[:, 0] != rows[:, 1]], axis=0), dtype=np.int64)
