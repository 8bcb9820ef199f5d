"""Trees around obstacles: what `exact`, `local`, `mst` and `auto` do where there are any.

*Repair*: solve as if there were no obstacles, lead every edge that crosses one around it, make the
bends points of the problem, and solve again, until nothing crosses.

*Proof*: obstacles are taken into play only when a tree crosses them. With those in play, full
Steiner trees over terminals and their convex corners are listed and concatenated; leaving out the
other obstacles can only shorten the tree, so every round proves a bound, and a tree that crosses
nothing is the shortest. Corners that are too far off are left out: a tree that uses corner c
connects the terminals and c, so where even the shortest tree of these on the bare plane is as long
as a tree that is known, no shorter tree has c. The same goes for pairs of corners.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import OptionError
from ..core.points import FloatArray, IntArray
from ..core.trees import tree_length
from ..plane.plane import Plane, as_complex, as_pairs
from ..plane.routes import joined, pruned, spanning_tree, way_around
from ..run.method import Batch, Run, Tree
from ..run.monitor import Monitor

if TYPE_CHECKING:
    from ..fst.enumerate.corners.generate import CornerTrees
    from ..fst.enumerate.corners.landscape_kernels import Landscape
    from ..fst.select.optional.concatenation import Choice

REPAIRS = 12
"""How often bends become points of the problem before crossings are just led around."""
MOST_TERMINALS = 2000
"""Up to here all pairs of points are looked at."""
FEW, TRIALS = 60, 600
"""Points around which sets of corners are tried, and how many."""
BARE = 20
"""Problems of up to so many points are solved by one kernel call, many at once."""
EXCESSES = (0.01, 0.04)
"""How far above the bound corners are looked for at first, relatively."""
MOST_TRIED = 0.6
"""Share of the corners up to which that is worth a try."""
MOST_PAIRED = 64
"""Corners of which all pairs are looked at."""
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
    best = _with_other_corners(run, best, options)
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
        found, more = _led_around(plane, nodes, n, edges)
        if best is None or found.length < best.length:
            best = found
        fresh = [one for one in more if not (bends == one).all(axis=1).any()]
        if not fresh or not run.monitor.report("leading edges around", 0, 0, best.length):
            break
        bends = np.concatenate((bends, np.unique(np.array(fresh), axis=0)))
    assert best is not None
    return best


def _with_other_corners(run: Run, best: Best, options: Any) -> Best:
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
            found, _ = _led_around(plane, np.concatenate((nodes, steiner)), n, edges)
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


def _led_around(
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


@dataclass
class Proof:
    """The rounds of a proof: obstacles in play, the best tree, the best bound."""

    run: Run
    best: Best
    bound: float = 0.0
    active: set[int] = field(default_factory=set)
    rounds: list[dict[str, Any]] = field(default_factory=list)

    def go(self) -> Tree:
        """Prove the best tree, or find a shorter one; stop where a limit says so."""
        optimal = self._first_round()
        while not optimal and self._go_on("obstacles in play", len(self.active), 0):
            outcome = self._round()
            if outcome is None:
                break
            optimal = outcome
        unit = self.run.frame.unit
        bound = min(self.bound, self.best.length)
        self.run.monitor.report("done", 1, 1, self.best.length, bound)
        if self.run.trace is not None:
            for record in self.rounds:
                lengths = {"bound": record["bound"] * unit, "length": record["length"] * unit}
                self.run.trace.append({"stage": "round", **record, **lengths})
        info = {
            "rounds": len(self.rounds),
            "active_obstacles": len(self.active),
            "active_corners": max((one["corners"] for one in self.rounds), default=0),
        }
        return self.best.tree(lower_bound=bound, optimal=optimal, info=info)

    def _go_on(self, phase: str, done: int, total: int, bound: float = 0.0) -> bool:
        bound = min(max(self.bound, bound), self.best.length)
        return self.run.monitor.report(phase, done, total, self.best.length, bound)

    def _first_round(self) -> bool:
        """Solve without obstacles."""
        from . import exact

        points = self.run.points
        if len(points) == 2:
            self.active = set(self._plane.crossed(points, np.array([[0, 1]])))
            self.bound = float(np.hypot(*(points[0] - points[1])))
            return not self.active
        bare = Run(points, self.run.frame, self.run.monitor, self.run.seed)
        tree = exact.solve(bare, exact.Options())
        if tree.lower_bound is not None:
            self.bound = tree.lower_bound
        if not tree.optimal:
            return False
        return self._offer(np.concatenate((points, tree.steiner)), tree.edges, 0, 0)

    @property
    def _plane(self) -> Plane:
        return plane_of(self.run)

    def _offer(self, nodes: FloatArray, edges: IntArray, corners: int, trees: int) -> bool:
        """Take the shortest tree of a round; whether it proves the best one."""
        n = len(self.run.points)
        length = tree_length(nodes, edges)
        crossed = self._plane.crossed(nodes, edges)
        record = {"corners": corners, "trees": trees, "bound": self.bound}
        if not crossed:
            found = straightened(self._plane, nodes, n, edges)
            if found.length < self.best.length:
                self.best = found
        elif length < self.best.length:
            found, _ = _led_around(self._plane, nodes, n, edges)
            if found.length < self.best.length:
                self.best = found
        self.rounds.append({**record, "length": self.best.length, "crossed": len(crossed)})
        self.active |= set(crossed)
        return self.bound >= self.best.length * (1.0 - CLOSE)

    def _round(self) -> bool | None:
        """Solve with the obstacles in play; whether that is a proof, None where it is cut short.

        First only the corners that a tree up to some ceiling can use are looked at. Where the
        shortest tree of these is below it, all others are of no use; else the ceiling is raised.
        """
        n = len(self.run.points)
        ground, seen = self._landscape()
        corners = Useful.of(self.run, as_pairs(ground.places[n:]))
        for ceiling in self._ceilings(corners):
            found = self._below(*corners.part(ground, seen, ceiling), ceiling)
            if found is None:
                return None
            part, trees, choice = found
            self.bound = max(self.bound, min(choice.lower_bound, ceiling))
            if choice.length <= ceiling:
                break
        if not len(choice.picked):
            # Nothing is shorter than the best tree.
            return self.bound >= self.best.length * (1.0 - CLOSE)
        nodes, edges = _union(as_pairs(part.places), trees, choice.picked)
        before = len(self.active)
        done = self._offer(nodes, edges, len(part.places) - n, len(trees))
        if not done and len(self.active) == before:
            return None  # nothing new is crossed, and rounding keeps the bound from the length
        return done

    def _ceilings(self, corners: Useful) -> list[float]:
        """Return ceilings that leave out many corners, then the length of the best tree."""
        last = self.best.length
        first = [self.bound * (1.0 + excess) for excess in EXCESSES]
        most = MOST_TRIED * corners.count(last)
        return [one for one in first if one < last and corners.count(one) <= most] + [last]

    def _below(
        self, ground: Landscape, seen: Any, ceiling: float
    ) -> tuple[Landscape, CornerTrees, Choice] | None:
        """Return the shortest tree over some nodes; None where that is cut short."""
        from ..fst.enumerate.corners.generate import generate
        from ..fst.select.optional.concatenation import concatenate

        trees = generate(ground, seen, self._go_on)
        if not trees.complete:
            return None
        size, n = len(ground.places), len(self.run.points)
        choice = concatenate(trees.leaves, trees.length, size, n, self._go_on)
        if self.run.monitor.stop_reason is not None:
            self.bound = max(self.bound, min(choice.lower_bound, ceiling))
            return None
        return ground, trees, choice

    def _landscape(self) -> tuple[Landscape, Any]:
        """Return the nodes of the obstacles in play, and which see each other."""
        from ..fst.enumerate.corners.landscape_kernels import WHOLE, Landscape
        from ..plane.geodesic_kernels import geodesics, prim, special_distances
        from ..plane.sight_kernels import sight

        points, plane = self.run.points, self._plane
        n = len(points)
        corners = plane.corners.of(self.active)
        walls = plane.walls_of(self.active)
        known = {(float(x), float(y)) for x, y in points}
        fresh = np.array([(float(x), float(y)) not in known for x, y in corners.places])
        places = as_complex(np.concatenate((points, corners.places[fresh])))
        seen = sight(walls, places, 0, len(places))
        distance, _ = geodesics(places, seen, n)
        special = special_distances(distance, *prim(distance, n))
        ground = Landscape(
            places,
            special,
            np.concatenate((np.zeros(n), corners.side[fresh])),
            np.concatenate((np.full(n, WHOLE), corners.free[fresh])),
            n,
            walls,
            float(special.max()),
            np.argsort(points[:, 0], kind="stable"),
        )
        return ground, seen


@dataclass(frozen=True)
class Useful:
    """Lower bounds of trees that use one corner, or two; both empty where nothing is known."""

    single: FloatArray
    pairs: FloatArray

    @classmethod
    def of(cls, run: Run, corners: FloatArray) -> Useful:
        """Solve on the bare plane with every corner and every pair, where one call does it."""
        n, count = len(run.points), len(corners)
        single, pairs = np.zeros(count), np.zeros((count, count))
        if n + 1 <= BARE and count:
            single = _bare_bounds(run, corners[:, None])
        if n + 2 <= BARE and 1 < count <= MOST_PAIRED:
            rows, columns = np.triu_indices(count, 1)
            bounds = _bare_bounds(run, np.stack((corners[rows], corners[columns]), axis=1))
            pairs[rows, columns] = pairs[columns, rows] = bounds
        return cls(single, pairs)

    def count(self, ceiling: float) -> int:
        """Return how many corners a tree shorter than a ceiling can use."""
        return int((self.single < ceiling).sum())

    def part(self, ground: Landscape, seen: Any, ceiling: float) -> tuple[Landscape, Any]:
        """Return the nodes that trees shorter than a ceiling can use, and which see each other.

        Two corners that such a tree cannot both have get a special distance that no edge keeps.
        """
        n = ground.terminals
        near = np.flatnonzero(self.single < ceiling)
        keep = np.concatenate((np.arange(n), n + near))
        special = np.ascontiguousarray(ground.special[np.ix_(keep, keep)])
        banned = self.pairs[np.ix_(near, near)] >= ceiling
        special[n:, n:] = np.where(banned, -1.0, special[n:, n:])
        part = ground._replace(
            places=np.ascontiguousarray(ground.places[keep]),
            special=special,
            side=ground.side[keep],
            free=ground.free[keep],
            longest=float(special.max()),
        )
        return part, np.ascontiguousarray(seen[np.ix_(keep, keep)])


def _bare_bounds(run: Run, more: FloatArray) -> FloatArray:
    """Return a bound of the tree of the points and each group of others on a bare plane."""
    from . import exact

    count = len(more)
    points = np.concatenate((np.broadcast_to(run.points, (count, *run.points.shape)), more), axis=1)
    zeros = np.zeros(count, np.int64)
    batch = Batch(np.ascontiguousarray(points), np.zeros((count, 2)), zeros, zeros)
    bounds = exact.solve_batch(batch, exact.Options()).lower_bounds
    return np.asarray(np.nan_to_num(np.asarray(bounds), nan=0.0), dtype=np.float64)


def _union(places: FloatArray, trees: CornerTrees, picked: IntArray) -> tuple[FloatArray, IntArray]:
    """Return nodes (all places, then Steiner points) and edges of some trees."""
    nodes, edges, count = [places], [np.empty((0, 2), np.int64)], len(places)
    for k in picked.tolist():
        leaves, steiner = trees.leaves[k], trees.steiner[k]
        number = np.concatenate((leaves, np.arange(count, count + len(steiner))))
        nodes.append(steiner)
        edges.append(number[trees.edges[k]])
        count += len(steiner)
    return np.concatenate(nodes), np.concatenate(edges)


def solve_exact(run: Run, has_options: bool) -> Tree:
    """Return the shortest tree around the obstacles, proven, or as far as the limits allow."""
    if has_options:
        raise OptionError("exact takes no options of its own where there are obstacles")
    best = repaired(run)
    if run.monitor.time_limit is not None:  # the proof may not be finished
        best = _with_other_corners(run, best, None)
    if not run.monitor.report("start", 0, 0, best.length):
        return best.tree()
    return Proof(run, best).go()
