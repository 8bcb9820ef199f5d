"""Trees around obstacles that are short: what `local` and `mst` do where there are any.

*Repair*: solve as if there were no obstacles, lead every edge that crosses one around it, make the
bends points of the problem, and solve again, until nothing crosses. `proof` begins with
such a tree.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.errors import OptionError
from ...core.points import FloatArray, IntArray
from ...core.trees import tree_length
from ...plane.plane import Plane
from ...plane.routes import few_spanned, joined, pruned, spanning_tree, way_around
from ...run.method import Run, Tree
from ...run.monitor import Monitor
from ...run.watch import Stopped, hurried

REPAIRS, MANY_REPAIRS, MANY = 12, 3, 5_000
"""How often bends become points of the problem before crossings are just led around, of many points
less often."""
FEW_NODES = 6
"""Nodes up to which a spanning tree is made from all pairs."""
FEW, TRIALS = 60, 600
"""Points around which sets of corners are tried, and how many."""
BARE = 20
"""Problems of up to so many points are solved by one kernel call, many at once."""
CLOSE = 5e-10
"""A tree this close to the bound, relatively, is proven: half of what a status allows."""


@dataclass
class Best:
    """The shortest tree so far: Steiner points, bends, edges over (points, both), its length."""

    steiner: FloatArray
    bends: FloatArray
    edges: IntArray
    length: float

    def tree(self, **claims: Any) -> Tree:
        """Return it as a method's answer."""
        return Tree(self.steiner, self.edges, bends=self.bends, **claims)


def plane_of(run: Run) -> Plane:
    """Return the obstacles of a run."""
    plane: Plane = run.plane
    return plane


def solve_mst(run: Run) -> Tree:
    """Return the minimum spanning tree under shortest ways around the obstacles."""
    best = _spanning(run)
    run.monitor.report("done", 1, 1, best.length)
    if run.trace is not None:
        run.trace.append({"step": "spanning tree", "length": best.length * run.frame.unit})
    return best.tree()


def _spanning(run: Run) -> Best:
    plane = plane_of(run)
    bends, edges = hurried(
        lambda stop: spanning_tree(plane, run.points, stop),
        lambda: run.monitor.report("spanning tree"),
    )
    length = tree_length(np.concatenate((run.points, bends)), edges)
    return Best(np.empty((0, 2)), bends, edges, length)


def solve_local(run: Run, options: Any) -> Tree:
    """Return a good tree around the obstacles, not longer than the spanning tree around them.

    Trees on the bare plane are those of `local` with the same options; then windows of the tree
    are replaced by the shortest trees of what they join.
    """
    from .windows import with_better_windows

    if options.start is not None:
        raise OptionError("local takes no start where there are obstacles")
    run.monitor.report("start")
    spanning = _spanning(run)
    best = repaired(run, options, spanning)
    _record(run, "repaired", best.length)
    best = with_better_windows(run, best, options.effort, spanning)
    _record(run, "windows", best.length)
    run.monitor.report("done", 1, 1, best.length)
    saving = max(0.0, 1.0 - best.length / spanning.length)
    return best.tree(info={"saving": saving})


def _record(run: Run, step: str, length: float) -> None:
    if run.trace is not None:
        run.trace.append({"step": step, "length": length * run.frame.unit})


def repaired(
    run: Run, options: Any = None, best: Best | None = None, bare: Tree | None = None
) -> Best:
    """Solve without obstacles, lead crossing edges around, make bends points, and again.

    `options` are those of `local`, `best` is a tree that is known, `bare` one of the points without
    obstacles to begin with. A limit is answered by the best tree so far, or by the spanning tree.
    """
    plane, n = plane_of(run), len(run.points)
    bends = np.empty((0, 2))
    taken: set[tuple[float, ...]] = set()

    def go_on() -> bool:
        length = None if best is None else best.length
        return run.monitor.report("leading edges around", 0, 0, length)

    for _ in range(REPAIRS if n <= MANY else MANY_REPAIRS):
        points = np.concatenate((run.points, bends))
        if bare is not None and not len(bends):
            steiner, edges = bare.steiner, bare.edges
        else:
            steiner, edges = bare_tree(run, points, options)
        try:
            nodes = np.concatenate((points, steiner))
            found, more = led_around(plane, nodes, n, edges, go_on)
        except Stopped:
            break
        if best is None or found.length < best.length:
            best = found
        fresh = {tuple(one.tolist()) for one in more} - taken
        if not fresh or not go_on():
            break
        taken |= fresh
        bends = np.concatenate((bends, np.array(sorted(fresh))))
    return _spanning(run) if best is None else best


def with_other_corners(run: Run, best: Best, options: Any) -> Best:
    """Try corners as further points, one or two at a time, and the bends without each.

    The first change that shortens the tree is kept, until none does or all trials are used up. For
    few points only: every trial is a solve. Corners of the obstacles that the tree without
    obstacles crosses, or that the best one bends at, are tried. A tree that bends at some corners
    is no shorter than the shortest tree of the points and these on the bare plane: where that is
    too long, so is it with more corners.
    """
    plane, n = plane_of(run), len(run.points)
    if n > FEW:
        return best
    steiner, edges = bare_tree(run, run.points, options)
    crossed = set(plane.crossed(np.concatenate((run.points, steiner)), edges))
    every = plane.corners
    used = [(every.places == bend).all(axis=1) for bend in best.bends]
    crossed |= {int(owner) for rows in used for owner in every.owner[rows]}
    corners = [tuple(place) for place in every.of(crossed).places.tolist()]
    taken = {(float(x), float(y)) for x, y in best.bends}
    changes = [{one} for one in corners]
    changes += [set(two) for two in itertools.combinations(corners, 2)]
    trials, improved = 0, True
    hopeless: list[set[tuple[float, ...]]] = []
    while improved:
        improved = False
        for change in changes:
            trials += 1
            if trials > TRIALS or not run.monitor.report("trying corners", trials, 0, best.length):
                return best
            points = taken ^ change
            if any(few <= points for few in hopeless):
                continue
            nodes = np.concatenate((run.points, np.array(sorted(points)).reshape(-1, 2)))
            steiner, edges = bare_tree(run, nodes, options)
            nodes = np.concatenate((nodes, steiner))
            if n + len(points) <= BARE and tree_length(nodes, edges) >= best.length:
                hopeless.append(points)
                continue
            found, _ = led_around(plane, nodes, n, edges)
            if found.length < best.length * (1.0 - CLOSE):
                best, improved = found, True
                taken = {(float(x), float(y)) for x, y in found.bends}
                break
    return best


def bare_tree(run: Run, points: FloatArray, options: Any) -> tuple[FloatArray, IntArray]:
    """Return a short tree of points without obstacles: the shortest one of a few points."""
    from .. import exact, local

    if len(points) <= 2:
        return np.empty((0, 2)), np.array([[0, 1]], dtype=np.int64)[: len(points) - 1]
    bare = Run(points, run.frame, part_of(run.monitor), run.seed)
    tree = (
        exact.solve(bare, exact.Options())
        if len(points) <= BARE
        else local.solve(bare, options or local.Options())
    )
    return tree.steiner, tree.edges


def part_of(monitor: Monitor) -> Monitor:
    """Return a monitor for a solve within another one, which hears of it."""
    if not monitor.is_watched:
        return Monitor()
    limit = None if monitor.time_limit is None else monitor.remaining()
    return Monitor(limit, lambda one: monitor.report(one.phase, one.done, one.total))


def led_around(
    plane: Plane,
    nodes: FloatArray,
    n: int,
    edges: IntArray,
    go_on: Callable[[], bool] = lambda: True,
) -> tuple[Best, list[FloatArray]]:
    """Return a tree with crossing edges led around obstacles, and the bends that took.

    Raises Stopped where `go_on` says no.
    """
    nodes, links, more = led(plane, nodes, edges, go_on)
    return straightened(plane, nodes, n, links), more


def led(
    plane: Plane, nodes: FloatArray, edges: IntArray, go_on: Callable[[], bool]
) -> tuple[FloatArray, IntArray, list[FloatArray]]:
    """Return nodes and edges with those that cross led around; bends come after the given nodes."""

    def way(a: int, b: int) -> tuple[int, int, FloatArray]:
        if not go_on():
            raise Stopped
        return a, b, way_around(plane, nodes[a], nodes[b])[0]

    nodes, edges, more = _lifted(plane, nodes, edges)
    free = plane.clear(nodes, edges)
    ways = [way(a, b) for a, b in edges[~free].tolist()]
    ways.extend((a, b, np.empty((0, 2))) for a, b in edges[free].tolist())
    more.extend(bend for _, _, bends in ways for bend in bends)
    bends, links = joined(nodes, ways)
    return np.concatenate((nodes, bends)), links, more


def _lifted(
    plane: Plane, nodes: FloatArray, edges: IntArray
) -> tuple[FloatArray, IntArray, list[FloatArray]]:
    """Replace what hangs on nodes that no way leads to by spanning trees; also returns bends."""
    from ...core.tree_kernels import find

    inside = plane.unreachable(nodes)
    if not inside.any():
        return nodes, edges, []
    sunk = inside[edges].any(axis=1)
    root = np.arange(len(nodes))
    for a, b in edges[sunk].tolist():
        root[find(root, a)] = find(root, b)
    group: dict[int, list[int]] = {}
    for v in np.unique(edges[sunk]).tolist():
        group.setdefault(int(find(root, v)), []).append(v)
    links: list[IntArray] = [edges[~sunk]]
    more: list[FloatArray] = []
    for some in group.values():
        members = np.array(some)[~inside[some]]
        span = few_spanned if len(members) <= FEW_NODES else spanning_tree
        bends, inner = span(plane, nodes[members])
        number = np.concatenate((members, len(nodes) + len(more) + np.arange(len(bends))))
        links.append(number[inner])
        more.extend(bends)
    everything = np.concatenate((nodes, np.array(more).reshape(-1, 2)))
    return everything, np.concatenate(links), more


def straightened(plane: Plane, nodes: FloatArray, n: int, edges: IntArray) -> Best:
    """Return a tree without nodes beyond the first n that are leaves or that edges can skip."""
    while True:
        extra, edges = pruned(nodes, n, edges)
        nodes = np.concatenate((nodes[:n], extra))
        degree = np.bincount(edges.ravel(), minlength=len(nodes))
        skipped = _skipped(plane, nodes, edges, degree, n)
        if skipped is None:
            break
        edges = skipped
    corners = plane.corner_places
    is_bend = np.array([tuple(one) in corners for one in nodes[n:].tolist()], dtype=np.bool_)
    number = np.concatenate((
        np.arange(n),
        n + np.where(is_bend, (~is_bend).sum() + np.cumsum(is_bend), np.cumsum(~is_bend)) - 1,
    )).astype(np.int64)  # fmt: skip
    length = tree_length(nodes, edges)
    return Best(nodes[n:][~is_bend], nodes[n:][is_bend], number[edges], length)


def _skipped(
    plane: Plane, nodes: FloatArray, edges: IntArray, degree: IntArray, n: int
) -> IntArray | None:
    """Return the edges without some nodes of degree 2 whose neighbours see each other, or None."""
    passed = np.flatnonzero(degree[n:] == 2) + n
    if not len(passed):
        return None
    ends, edge = edges.ravel(), np.repeat(np.arange(len(edges)), 2)
    order = np.argsort(ends, kind="stable")
    first = np.searchsorted(ends[order], passed)
    one, two = edge[order[first]], edge[order[first + 1]]
    beyond = np.stack((edges[one].sum(axis=1), edges[two].sum(axis=1)), axis=1) - passed[:, None]
    free = plane.clear(nodes, beyond)
    touched: set[int] = set()
    chosen: list[int] = []
    for k in np.flatnonzero(free).tolist():
        around = {int(passed[k]), *beyond[k].tolist()}
        if not touched & around:
            touched |= around
            chosen.append(k)
    if not chosen:
        return None
    gone = np.concatenate((one[chosen], two[chosen]))
    return np.concatenate((np.delete(edges, gone, axis=0), beyond[chosen]))
