"""`local` where junctions cost something: length + c for every Steiner point is minimised.

The search is the usual one over a list of full Steiner trees, but each tree is charged c for every
Steiner point. Steiner points of degree 4 can pay then, where two straight lines cross, higher
degrees never do (G. Georgakopoulos and C. H. Papadimitriou, "The 1-Steiner tree problem", Journal
of Algorithms 8 (1987) 122-130). A tree of four terminals is replaced by their cross where that is
cheaper. A cross saves nothing where the list has no tree of its four terminals: then one Steiner
point of degree 3 and an edge are as short. In larger trees edges between Steiner points are
contracted as long as that pays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.errors import OptionError
from ..core.points import FloatArray, IntArray
from ..core.trees import tree_length
from ..fst.enumerate.nearby.ground import Ground
from ..fst.trees import FullTrees
from ..run.method import Run, Tree
from ..run.monitor import Report
from ..run.threads import Workers
from ..run.watch import Watch
from .search import Enumerate, Pipeline, search

SAME = 1e-12
"""Steiner points closer than this, in units of the frame, are one."""


@dataclass(frozen=True)
class Charged:
    """An enumerator whose trees are charged for their Steiner points; crosses where they pay."""

    inner: Enumerate
    cost: float

    @property
    def largest(self) -> int:
        """The number of terminals of its largest tree."""
        return self.inner.largest

    def survey(
        self, points: FloatArray, workers: Workers, neighbours: tuple[IntArray, IntArray]
    ) -> Ground:
        """Find which terminals are close."""
        return self.inner.survey(points, workers, neighbours)

    def list(self, ground: Ground, workers: Workers, report: Report, watch: Watch) -> FullTrees:
        """List full Steiner trees by their cost; the Steiner points of a cross coincide."""
        return charged(self.inner.list(ground, workers, report, watch), self.cost)


def charged(trees: FullTrees, cost: float) -> FullTrees:
    """Return a list with costs in place of lengths, and crosses in place of trees they beat."""
    sizes = np.diff(trees.start)
    length = trees.length + cost * (sizes - 2)
    steiner = trees.steiner.copy()
    four = np.flatnonzero(sizes == 4)
    if len(four):
        places, width = crossings(trees.points[trees.terminals[trees.start[four, None] + range(4)]])
        pays = width + cost < length[four]
        rows = trees.start[four[pays]] - 2 * four[pays]
        steiner[rows] = steiner[rows + 1] = places[pays]
        length[four[pays]] = width[pays] + cost
    return replace(trees, length=length, steiner=steiner, complete=False)


def crossings(corners: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where the diagonals of quadrilaterals cross, (m, 4, 2), and their lengths together.

    The length is infinite where no two of the six lines between the corners cross.
    """
    best, found = np.full(len(corners), np.inf), np.zeros((len(corners), 2))
    for a, b, c, d in ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2)):
        p, q = corners[:, a], corners[:, c]
        way, other = corners[:, b] - p, corners[:, d] - q
        area = way[:, 0] * other[:, 1] - way[:, 1] * other[:, 0]
        off = q - p
        with np.errstate(divide="ignore", invalid="ignore"):
            along = (off[:, 0] * other[:, 1] - off[:, 1] * other[:, 0]) / area
            across = (off[:, 0] * way[:, 1] - off[:, 1] * way[:, 0]) / area
            inside = (along > 0.0) & (along < 1.0) & (across > 0.0) & (across < 1.0)
        width = np.hypot(*way.T) + np.hypot(*other.T)
        better = inside & (width < best)
        best[better] = width[better]
        found[better] = p[better] + along[better, None] * way[better]
    return found, best


def solve_with_cost(run: Run, options: Any, plain: Any, pipeline: Pipeline, threads: int) -> Tree:
    """Return the cheapest tree found; never worse than the spanning tree or `local`'s own tree.

    `plain` solves without the cost, `pipeline` is its search.
    """
    if run.plane is not None or run.network is not None:
        raise OptionError(
            "junction_cost goes with neither obstacles nor an existing network; leave it out"
        )
    if options.start is not None:
        raise OptionError("junction_cost takes no start; leave one of them out")
    from ..geometry.spanning_trees import minimum_spanning_tree

    cost: float = options.junction_cost / run.frame.unit
    first = plain(replace(run, trace=None))
    found = [
        Tree(np.empty((0, 2)), minimum_spanning_tree(run.points)),
        Tree(*contracted(run.points, first.steiner, first.edges, cost)),
    ]
    if run.monitor.stop_reason is None:
        # What these would add to the list comes without its cost.
        crowded = replace(pipeline.select.crowded, merged=())
        select = replace(pipeline.select, more=(), crowded=crowded)
        priced = Pipeline(Charged(pipeline.enumerate, cost), pipeline.score, select)
        tree = search(run, priced, None, threads, refined=False)
        found.append(Tree(*contracted(run.points, tree.steiner, tree.edges, cost)))

    def price(tree: Tree) -> float:
        return run.length(tree.steiner, tree.edges) + float(cost) * len(tree.steiner)

    best = min(found, key=price)
    length = run.length(best.steiner, best.edges)
    run.monitor.report("done", 1, 1, length)
    unit = run.frame.unit
    if run.trace is not None:
        run.trace.append({"step": "cheapest", "cost": price(best) * unit, "length": length * unit})
    info = {"junction_cost": options.junction_cost, "cost": price(best) * unit}
    return replace(best, info=info)


def contracted(
    points: FloatArray, steiner: FloatArray, edges: IntArray, cost: float
) -> tuple[FloatArray, IntArray]:
    """Return a tree with edges between Steiner points contracted where that pays.

    Full components are looked at one by one: of the contractions to degree 4 the best is made, as
    long as the component, relaxed, gets longer by less than the cost of a Steiner point.
    """
    from ..geometry.relaxation import relax

    n = len(points)
    steiner, edges = _merged(n, steiner, edges)
    inner = (edges >= n).all(axis=1)
    if not inner.any():
        return steiner, edges
    result_steiner: list[FloatArray] = [np.empty((0, 2))]
    result_edges: list[IntArray] = []
    count = n
    for own in _components(n, len(steiner), edges):
        leaves = np.unique(edges[own][edges[own] < n])
        nodes = np.unique(edges[own][edges[own] >= n])
        number = {int(v): k for k, v in enumerate(np.concatenate((leaves, nodes)).tolist())}
        local = np.array([[number[a], number[b]] for a, b in edges[own].tolist()])
        places, local = _cheapest(points[leaves], steiner[nodes - n], local, cost, relax)
        names = np.concatenate((leaves, np.arange(count, count + len(places))))
        result_steiner.append(places)
        result_edges.append(names[local])
        count += len(places)
    return np.concatenate(result_steiner), np.concatenate(result_edges)


def _merged(n: int, steiner: FloatArray, edges: IntArray) -> tuple[FloatArray, IntArray]:
    """Return a tree in which Steiner points that coincide with a neighbour are one."""
    root = np.arange(n + len(steiner))
    kept = np.ones(len(edges), dtype=np.bool_)
    for k, (a, b) in enumerate(edges.tolist()):
        if min(a, b) >= n and np.hypot(*(steiner[a - n] - steiner[b - n])) <= SAME:
            while root[a] != a:
                a = int(root[a])
            root[b], kept[k] = a, False
    for v in range(len(root)):
        while root[v] != root[root[v]]:
            root[v] = root[root[v]]
    used, number = np.unique(root, return_inverse=True)
    return steiner[used[n:] - n], number.ravel()[edges[kept]]


def _components(n: int, count: int, edges: IntArray) -> list[IntArray]:
    """Return the edges of every full component: what hangs together at Steiner points."""
    root = list(range(n + count))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for a, b in edges[(edges >= n).all(axis=1)].tolist():
        root[find(a)] = find(b)
    groups: dict[int, list[int]] = {}
    for k, (a, b) in enumerate(edges.tolist()):
        groups.setdefault(find(max(a, b)) if max(a, b) >= n else -1 - k, []).append(k)
    return [np.array(one) for one in groups.values()]


def _cheapest(
    leaves: FloatArray, places: FloatArray, edges: IntArray, cost: float, relax: Any
) -> tuple[FloatArray, IntArray]:
    """Return a component after the contractions that pay."""
    k = len(leaves)
    while True:
        degree = np.bincount(edges.ravel(), minlength=k + len(places))
        length = tree_length(np.concatenate((leaves, places)), edges)
        best = length + cost - SAME
        choice = None
        for e, (a, b) in enumerate(edges.tolist()):
            if min(a, b) < k or degree[a] + degree[b] - 2 > 4:
                continue
            fewer, links = _without(k, places, edges, e)
            moved = relax(leaves, fewer, links)
            if moved.length < best:
                best, choice = moved.length, (moved.steiner, links)
        if choice is None:
            return places, edges
        places, edges = choice


def _without(k: int, places: FloatArray, edges: IntArray, e: int) -> tuple[FloatArray, IntArray]:
    """Contract an edge between Steiner points to its middle."""
    a, b = sorted(edges[e].tolist())
    fewer = np.delete(places, b - k, axis=0)
    fewer[a - k] = 0.5 * (places[a - k] + places[b - k])
    links = np.delete(edges, e, axis=0)
    links = np.where(links == b, a, links)
    return fewer, np.where(links > b, links - 1, links)
