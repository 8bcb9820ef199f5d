"""Trees around obstacles that are short: what `local` and `mst` do where there are any.

*Repair*: solve as if there were no obstacles, lead every edge that crosses one around it, make the
bends points of the problem, and solve again, until nothing crosses. `around_proof` begins with
such a tree.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import OptionError
from ..core.points import FloatArray, IntArray
from ..core.trees import tree_length
from ..plane.plane import Plane, as_complex
from ..plane.routes import joined, pruned, spanning_tree, way_around
from ..run.method import Run, Tree
from ..run.monitor import Monitor

REPAIRS = 12
"""How often bends become points of the problem before crossings are just led around."""
MOST_TERMINALS = 2000
"""Up to here all pairs of points are looked at."""
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
    if len(run.points) > MOST_TERMINALS:
        raise OptionError(
            f"a spanning tree around obstacles looks at all pairs of points, and {len(run.points)} "
            f"are too many; at most {MOST_TERMINALS} are accepted"
        )
    bends, edges = spanning_tree(plane_of(run), run.points)
    length = tree_length(np.concatenate((run.points, bends)), edges)
    return Best(np.empty((0, 2)), bends, edges, length)


def solve_local(run: Run, options: Any) -> Tree:
    """Return a good tree around the obstacles, not longer than the spanning tree around them.

    Trees on the bare plane are those of `local` with the same options.
    """
    if options.start is not None:
        raise OptionError("local takes no start where there are obstacles")
    run.monitor.report("start")
    best = repaired(run, options)
    if len(run.points) <= MOST_TERMINALS and run.monitor.stop_reason is None:
        spanning = _spanning(run)
        best = spanning if spanning.length < best.length else best
    best = with_other_corners(run, best, options)
    run.monitor.report("done", 1, 1, best.length)
    if run.trace is not None:
        run.trace.append({"step": "repaired", "length": best.length * run.frame.unit})
    return best.tree()


def repaired(run: Run, options: Any = None) -> Best:
    """Solve without obstacles, lead crossing edges around, make bends points, and again.

    `options` are those of `local`.
    """
    plane, n = plane_of(run), len(run.points)
    bends = np.empty((0, 2))
    best: Best | None = None
    for _ in range(REPAIRS):
        points = np.concatenate((run.points, bends))
        steiner, edges = bare_tree(run, points, options)
        nodes = np.concatenate((points, steiner))
        found, more = led_around(plane, nodes, n, edges)
        if best is None or found.length < best.length:
            best = found
        fresh = [one for one in more if not (bends == one).all(axis=1).any()]
        if not fresh or not run.monitor.report("leading edges around", 0, 0, best.length):
            break
        bends = np.concatenate((bends, np.unique(np.array(fresh), axis=0)))
    assert best is not None
    return best


def with_other_corners(run: Run, best: Best, options: Any) -> Best:
    """Try corners as further points, one or two at a time, and the bends without each.

    The first change that shortens the tree is kept, until none does or all trials are used up. For
    few points only: every trial is a solve. Corners of the obstacles that the tree without
    obstacles crosses, or that the best one bends at, are tried.
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
    while improved:
        improved = False
        for change in changes:
            trials += 1
            if trials > TRIALS or not run.monitor.report("trying corners", trials, 0, best.length):
                return best
            points = taken ^ change
            nodes = np.concatenate((run.points, np.array(sorted(points)).reshape(-1, 2)))
            steiner, edges = bare_tree(run, nodes, options)
            found, _ = led_around(plane, np.concatenate((nodes, steiner)), n, edges)
            if found.length < best.length * (1.0 - CLOSE):
                best, improved = found, True
                taken = {(float(x), float(y)) for x, y in found.bends}
                break
    return best


def bare_tree(run: Run, points: FloatArray, options: Any) -> tuple[FloatArray, IntArray]:
    """Return a short tree of points without obstacles: the shortest one of a few points."""
    from . import exact, local

    if len(points) <= 2:
        return np.empty((0, 2)), np.array([[0, 1]], dtype=np.int64)[: len(points) - 1]
    bare = Run(points, run.frame, Monitor(), run.seed)
    tree = (
        exact.solve(bare, exact.Options())
        if len(points) <= BARE
        else local.solve(bare, options or local.Options())
    )
    return tree.steiner, tree.edges


def led_around(
    plane: Plane, nodes: FloatArray, n: int, edges: IntArray
) -> tuple[Best, list[FloatArray]]:
    """Return a tree with crossing edges led around obstacles, and the bends that took."""
    from ..plane.sight_kernels import all_see

    nodes, edges, more = _lifted(plane, nodes, edges)
    free = all_see(plane.walls, as_complex(nodes), edges)
    ways = [(a, b, way_around(plane, nodes[a], nodes[b])[0]) for a, b in edges[~free].tolist()]
    ways.extend((a, b, np.empty((0, 2))) for a, b in edges[free].tolist())
    more.extend(bend for _, _, bends in ways for bend in bends)
    bends, links = joined(nodes, ways)
    return straightened(plane, np.concatenate((nodes, bends)), n, links), more


def _lifted(
    plane: Plane, nodes: FloatArray, edges: IntArray
) -> tuple[FloatArray, IntArray, list[FloatArray]]:
    """Replace what hangs on nodes inside obstacles by spanning trees; also returns their bends."""
    from ..core.tree_kernels import find

    inside = plane.inside(nodes)
    if not inside.any():
        return nodes, edges, []
    sunk = inside[edges].any(axis=1)
    root = np.arange(len(nodes))
    for a, b in edges[sunk].tolist():
        root[find(root, a)] = find(root, b)
    group = np.array([find(root, v) for v in range(len(nodes))])
    links: list[IntArray] = [edges[~sunk]]
    more: list[FloatArray] = []
    for one in np.unique(group[inside]).tolist():
        members = np.flatnonzero((group == one) & ~inside)
        bends, inner = spanning_tree(plane, nodes[members])
        number = np.concatenate((members, len(nodes) + len(more) + np.arange(len(bends))))
        links.append(number[inner])
        more.extend(bends)
    everything = np.concatenate((nodes, np.array(more).reshape(-1, 2)))
    return everything, np.concatenate(links), more


def straightened(plane: Plane, nodes: FloatArray, n: int, edges: IntArray) -> Best:
    """Return a tree without nodes beyond the first n that are leaves or that edges can skip."""
    walls = plane.walls
    while True:
        extra, edges = pruned(nodes, n, edges)
        nodes = np.concatenate((nodes[:n], extra))
        degree = np.bincount(edges.ravel(), minlength=len(nodes))
        skipped = _skipped(walls, as_complex(nodes), edges, degree, n)
        if skipped is None:
            break
        edges = skipped
    corner = {(float(x), float(y)) for x, y in plane.corners.places}
    is_bend = np.array([(float(x), float(y)) in corner for x, y in nodes[n:]], dtype=np.bool_)
    number = np.concatenate((
        np.arange(n),
        n + np.where(is_bend, (~is_bend).sum() + np.cumsum(is_bend), np.cumsum(~is_bend)) - 1,
    )).astype(np.int64)  # fmt: skip
    length = tree_length(nodes, edges)
    return Best(nodes[n:][~is_bend], nodes[n:][is_bend], number[edges], length)


def _skipped(walls: Any, places: Any, edges: IntArray, degree: Any, n: int) -> IntArray | None:
    """Return the edges without some nodes of degree 2 whose neighbours see each other, or None."""
    from ..plane.sight_kernels import sees

    touched: set[int] = set()
    gone: list[int] = []
    added: list[list[int]] = []
    at: dict[int, list[int]] = {}
    for e, (a, b) in enumerate(edges.tolist()):
        at.setdefault(a, []).append(e)
        at.setdefault(b, []).append(e)
    for v in (np.flatnonzero(degree[n:] == 2) + n).tolist():
        one, two = at[v]
        a, b = (int(edges[e].sum()) - v for e in (one, two))
        if touched & {v, a, b} or not sees(walls, places[a], places[b]):
            continue
        touched |= {v, a, b}
        gone += [one, two]
        added.append([a, b])
    if not gone:
        return None
    return np.concatenate((np.delete(edges, gone, axis=0), np.array(added, dtype=np.int64)))
