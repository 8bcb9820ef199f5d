"""Trees through soft regions: what `local` does where some obstacles have a weight.

A tree of the bare plane, and one that goes around the regions, are led along cheap ways and
relaxed, and bends become points of the problem, as around hard obstacles. Where there are not too
many terminals and corners, the cheapest tree of a list is chosen (`soft_listing`); else trees
around some of the regions are tried as well. Then windows are joined anew with and without corners
and bends as points. The bound is the shortest tree with the hard obstacles alone, where that is
proven.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.errors import OptionError
from ...core.options import EffortName
from ...core.points import FloatArray, IntArray
from ...core.trees import tree_length
from ...plane.plane import Plane
from ...plane.shapes import GRID
from ...plane.soft import Soft
from ...run.method import Run, Tree
from .repair import Best, bare_tree, part_of, plane_of, repaired
from .soft_listing import Pool
from .soft_relaxation import Web, relaxed, web_of
from .windows import Woven, with_better_windows

REPAIRS = 5
TURN = 0.02
"""The least turn, in radians, of a bend that becomes a point of the problem."""
PROMISING = 1.03
"""A tree that is dearer by more before it is relaxed is not looked at any further."""
NODES: dict[EffortName, int] = {"fast": 5, "default": 8, "best": 11}
"""Nodes that a window joins."""
TRIALS: dict[EffortName, int] = {"fast": 20, "default": 24, "best": 1000}
"""Windows in all."""
NEARBY = 7
"""Corners that a window is tried with."""
FEW_REGIONS = 6
"""Regions up to which trees around each, and around all others, are tried as starts."""
FEW_POINTS = 20
"""Points up to which these trees are improved by windows of their own."""
STARTS = 2
"""Starts whose windows are tried, the cheapest ones."""
LED = 6
"""Trees of a window that are led along cheap ways, the cheapest ones before that."""
GAIN = 1e-9
PROVABLE = 200
"""Points up to which the bound is worth its time."""


def solve_soft(run: Run, options: Any) -> Tree:
    """Return a cheap tree through soft regions and around hard obstacles."""
    if options.start is not None:
        raise OptionError("local takes no start where there are obstacles")
    soft: Soft = plane_of(run).soft
    run.monitor.report("start")
    best = min(
        (_windows(run, soft, start, options.effort) for start in _first_trees(run, soft, options)),
        key=lambda web: web.cost,
    )
    run.monitor.report("done", 1, 1, best.cost)
    if run.trace is not None:
        run.trace.append({"step": "windows", "length": best.cost * run.frame.unit})
    return replace(_as_tree(run, soft, best), lower_bound=_bound(run, soft, best.cost))


def _bound(run: Run, soft: Soft, cost: float) -> float | None:
    """Return the shortest tree with the hard obstacles alone, where that is easily proven."""
    from .. import exact

    if len(run.points) > PROVABLE or run.monitor.stop_reason is not None or len(soft.plane):
        return None
    bare = Run(run.points, run.frame, part_of(run.monitor), run.seed)
    bound = exact.solve(bare, exact.Options()).lower_bound if len(run.points) > 2 else None
    return None if bound is None else min(bound, cost)


def _as_tree(run: Run, soft: Soft, web: Web) -> Tree:
    """Return a tree with the nodes of degree 2 as bends."""
    n = len(run.points)
    degree = np.bincount(web.edges.ravel(), minlength=len(web.nodes))[n:]
    corner = np.array([tuple(one) in soft.corners for one in web.nodes[n:].tolist()], dtype=bool)
    bend = (degree == 2) | corner
    order = np.concatenate((np.flatnonzero(~bend), np.flatnonzero(bend))) + n
    number = np.arange(len(web.nodes))
    number[order] = n + np.arange(len(order))
    more = web.nodes[order]
    cut = int((~bend).sum())
    return Tree(more[:cut], number[web.edges], bends=more[cut:])


def _first_trees(run: Run, soft: Soft, options: Any) -> list[Web]:
    """Return the cheapest trees of the whole plane, the first one best."""
    pool = None if options.effort == "fast" else Pool.of(run, soft)
    starts = _starts(run, soft, options, many=pool is None or options.effort == "best")
    if pool is None:
        return starts
    for start in starts:
        pool.add_tree(start)
    found = pool.cheapest(starts[0].cost) if pool.add_listed() else None
    if found is None or found.cost > starts[0].cost:
        return starts
    return [found] if options.effort == "default" else [found, starts[0]]


def _starts(run: Run, soft: Soft, options: Any, many: bool) -> list[Web]:
    """Return trees around the hard obstacles and all regions, or in many ways around some."""
    regions = [one for one, _ in soft.faces]
    choices: list[list[Any]] = [[], regions]
    if many and 1 < len(regions) <= FEW_REGIONS and options.effort != "fast":
        choices += [[one] for one in regions]
        if len(regions) > 2:
            choices += [[other for other in regions if other is not one] for one in regions]
    found: list[Web] = []
    for closed in choices:
        if found and not run.monitor.report("starts", len(found), len(choices), found[0].cost):
            break
        start = _start(run, soft, closed, options)
        if start is not None:
            found.append(_repaired(run, soft, _led(run, soft, *start), options))
    return sorted(found, key=lambda web: web.cost)[:STARTS]


def _start(
    run: Run, soft: Soft, closed: list[Any], options: Any
) -> tuple[FloatArray, IntArray] | None:
    """Return a tree around the obstacles and some regions; None where that cannot be.

    Terminals inside these regions leave them by the nearest point of the boundary.
    """
    n = len(run.points)
    plane = _closed(soft, closed)
    inner = np.flatnonzero(plane.inside(run.points))
    exits = run.points.copy()
    exits[inner] = plane.nearest_outside(run.points[inner])
    places, number = np.unique(exits, axis=0, return_inverse=True)
    number = number.reshape(-1)
    if len(np.unique(plane.regions(places))) > 1 or plane.inside(places).any():
        return None
    part = Run(places, run.frame, run.monitor, run.seed, plane=plane)
    if len(places) == 1:
        nodes, edges = places, np.empty((0, 2), np.int64)
    elif len(plane):
        tree = repaired(part, options)
        if len(places) <= FEW_POINTS:
            tree = with_better_windows(part, tree, "fast")
        nodes, edges = np.concatenate((places, tree.steiner, tree.bends)), tree.edges
    else:
        steiner, edges = bare_tree(part, places, options)
        nodes = np.concatenate((places, steiner))
    outside = np.stack((np.arange(n), n + number), axis=1)
    return _merged(np.concatenate((run.points, nodes)), np.concatenate((outside, edges + n)))


def _closed(soft: Soft, regions: list[Any]) -> Plane:
    """Return the plane with some regions as obstacles, too."""
    from ...plane.shapes import load_shapely

    if not regions:
        return soft.plane
    shapely = load_shapely()
    whole = shapely.union_all([*soft.plane.polygons, *regions], grid_size=GRID)
    return Plane(tuple(shapely.orient_polygons(shapely.get_parts(whole))), soft.plane.frame)


def _led(run: Run, soft: Soft, nodes: FloatArray, edges: IntArray, relax: bool = True) -> Web:
    """Return a tree whose edges follow cheap ways, relaxed."""
    n = len(run.points)
    lengths = np.hypot(*(nodes[edges[:, 0]] - nodes[edges[:, 1]]).T)
    costs = soft.costs(nodes, edges)
    places, links, count = [nodes], [edges[costs <= lengths * (1.0 + 1e-12)]], len(nodes)
    for a, b in edges[costs > lengths * (1.0 + 1e-12)].tolist():
        way, _ = soft.way(nodes[a], nodes[b])
        chain = np.array([a, *range(count, count + len(way)), b])
        places.append(way)
        links.append(np.stack((chain[:-1], chain[1:]), axis=1))
        count += len(way)
    everything, joined = _merged(np.concatenate(places), np.concatenate(links))
    if relax:
        return relaxed(soft, everything, n, joined)
    return web_of(soft, everything, n, joined)


def _merged(nodes: FloatArray, edges: IntArray) -> tuple[FloatArray, IntArray]:
    """Make nodes at the same place one."""
    _, first, inverse = np.unique(nodes, axis=0, return_index=True, return_inverse=True)
    edges = first[inverse.reshape(-1)][edges]
    return nodes, np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)


def _bends(web: Web, n: int) -> FloatArray:
    """Return the nodes of degree 2 where a tree turns noticeably."""
    degree = np.bincount(web.edges.ravel(), minlength=len(web.nodes))
    found = []
    for v in (np.flatnonzero(degree[n:] == 2) + n).tolist():
        at = web.edges[(web.edges == v).any(axis=1)]
        one, two = (complex(*(web.nodes[row.sum() - v] - web.nodes[v])) for row in at)
        if one != 0 and two != 0 and abs(np.angle(-two / one)) > TURN:
            found.append(web.nodes[v])
    return np.array(found).reshape(-1, 2)


def _repaired(run: Run, soft: Soft, best: Web, options: Any) -> Web:
    """Make bends points of the problem, join anew, and again while that helps."""
    n = len(run.points)
    for _ in range(REPAIRS):
        if not run.monitor.report("leading edges along cheap ways", 0, 0, best.cost):
            break
        points = np.concatenate((run.points, _bends(best, n)))
        steiner, edges = bare_tree(run, points, options)
        found = _led(run, soft, np.concatenate((points, steiner)), edges)
        if not found.cost < best.cost * (1.0 - GAIN):
            break
        best = found
    return best


def _windows(run: Run, soft: Soft, best: Web, effort: EffortName) -> Web:
    """Join windows anew, with and without bends and corners as points, while that helps."""
    n, trials = len(run.points), 0
    seen: set[Any] = set()
    improved = True
    while improved:
        improved = False
        tree = Woven.of(run, Best(best.nodes[n:], np.empty((0, 2)), best.edges, best.cost))
        for centre in _centres(soft, best):
            joins, edges = tree.window(centre, NODES[effort])
            key = tuple(sorted(tree.place(v) for v in joins))
            if len(joins) < 2 or key in seen:
                continue
            seen.add(key)
            trials += 1
            if trials > TRIALS[effort] or not run.monitor.report(
                "windows", trials, TRIALS[effort], best.cost
            ):
                return best
            found = _better(run, soft, tree, joins, edges)
            if found is not None:
                best = _replaced(soft, best, n, joins, edges, found)
                improved = True
                break
    return best


def _centres(soft: Soft, web: Web) -> list[int]:
    """Return the nodes around which windows are opened: those of dear edges, then bends."""
    lengths = np.hypot(*(web.nodes[web.edges[:, 0]] - web.nodes[web.edges[:, 1]]).T)
    dear = soft.costs(web.nodes, web.edges) > lengths * (1.0 + 1e-9)
    bent = [v for v, one in enumerate(web.nodes.tolist()) if tuple(one) in soft.corners]
    beside = web.edges[np.isin(web.edges, bent).any(axis=1)]
    return list(dict.fromkeys([*np.unique(web.edges[dear]).tolist(), *bent, *np.unique(beside)]))


def _better(
    run: Run, soft: Soft, tree: Woven, joins: list[int], edges: list[tuple[int, int]]
) -> Web | None:
    """Return a cheaper tree of what a window joins, or None."""
    old = _piece(soft, tree, edges)
    points = np.array([tree.place(v) for v in joins])
    part = Run(points, run.frame, run.monitor, run.seed, plane=run.plane)
    straight = []
    for number, extra in enumerate(_extras(soft, tree, joins, edges)):
        everything = np.concatenate((points, extra))
        steiner, links = bare_tree(part, everything, None)
        nodes = np.concatenate((everything, steiner))
        if tree_length(nodes, links) < old:
            straight.append((float(soft.costs(nodes, links).sum()), number, nodes, links))
    best = None
    for _, _, nodes, links in sorted(straight, key=lambda one: one[:2])[:LED]:
        found = _led(part, soft, nodes, links, relax=False)
        if found.cost > old * PROMISING:
            continue
        found = relaxed(soft, found.nodes, len(joins), found.edges)
        if found.cost < old * (1.0 - GAIN) and (best is None or found.cost < best.cost):
            best = found
    return best


def _piece(soft: Soft, tree: Woven, edges: list[tuple[int, int]]) -> float:
    nodes = np.array(tree.places)
    return float(soft.costs(nodes, np.array(edges, dtype=np.int64)).sum())


def _extras(
    soft: Soft, tree: Woven, joins: list[int], edges: list[tuple[int, int]]
) -> list[FloatArray]:
    """Return sets of places that become points of a window: none, bends, corners close by."""
    inner = sorted({v for edge in edges for v in edge} - set(joins))
    bends = [tree.place(v) for v in inner if len(tree.beside[v]) == 2]
    places = np.array([tree.place(v) for v in (*joins, *inner)])
    middle = places.mean(axis=0)
    corners = sorted(soft.corners, key=lambda one: float(np.hypot(*(np.array(one) - middle))))
    near = corners[:NEARBY]
    sets: list[tuple[Any, ...]] = [(), tuple(bends)]
    sets += [tuple(b for b in bends if b != one) for one in bends]
    sets += [(one,) for one in near]
    sets += [(*bends, one) for one in near if one not in bends]
    sets += list(itertools.combinations(near, 2))
    known = set(map(tuple, places[: len(joins)].tolist()))
    unique = {tuple(sorted(set(one) - known)): None for one in sets}
    return [np.array(one).reshape(-1, 2) for one in unique]


def _replaced(
    soft: Soft, best: Web, n: int, joins: list[int], edges: list[tuple[int, int]], new: Web
) -> Web:
    """Return a tree with a window replaced, relaxed."""
    gone = {(min(one), max(one)) for one in edges}
    kept = np.array(
        [one for one in best.edges.tolist() if (min(one), max(one)) not in gone], dtype=np.int64
    ).reshape(-1, 2)
    first = len(best.nodes)
    number = np.concatenate((joins, first + np.arange(len(new.nodes) - len(joins))))
    nodes = np.concatenate((best.nodes, new.nodes[len(joins) :]))
    return relaxed(soft, nodes, n, np.concatenate((kept, number.astype(np.int64)[new.edges])))
