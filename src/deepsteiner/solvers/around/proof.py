"""Shortest trees around obstacles, proven: what `exact` does where there are any.

Obstacles are taken into play only when a tree crosses them. With those in play, full Steiner trees
over terminals and their convex corners are listed and concatenated; leaving out the other obstacles
can only shorten the tree, so every round proves a bound, and a tree that crosses nothing is the
shortest. Corners that are too far off are left out: a tree that uses corner c connects the
terminals and c, so where even the shortest tree of these on the bare plane is as long as a tree
that is known, no shorter tree has c.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import OptionError
from ...core.points import FloatArray, IntArray
from ...core.trees import tree_length
from ...plane.plane import Plane, as_complex, as_pairs
from ...run.method import Batch, Run, Tree
from ...run.monitor import Monitor, Progress
from .repair import (
    BARE,
    CLOSE,
    Best,
    led_around,
    plane_of,
    repaired,
    straightened,
    with_other_corners,
)

if TYPE_CHECKING:
    from ...fst.enumerate.corners.generate import CornerTrees
    from ...fst.enumerate.corners.landscape_kernels import Landscape
    from ...fst.select.optional.programme import Choice

EXCESSES = (0.01, 0.04)
"""How far above the bound corners are looked for at first, relatively."""
MOST_TRIED = 0.6
"""Share of the corners up to which that is worth a try."""

TRYING = 0.05
"""Share of a time limit in which other corners are tried before the proof begins."""


@dataclass
class Proof:
    """The rounds of a proof: obstacles in play, the best tree, the best bound, the last list.

    `bare` is the answer without obstacles, where the caller has it.
    """

    run: Run
    best: Best
    bare: Tree | None = None
    bound: float = 0.0
    active: set[int] = field(default_factory=set)
    rounds: list[dict[str, Any]] = field(default_factory=list)
    listed: list[tuple[Landscape, CornerTrees]] = field(default_factory=list)

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
        points = self.run.points
        if len(points) == 2:
            self.active = set(self._plane.crossed(points, np.array([[0, 1]])))
            self.bound = float(np.hypot(*(points[0] - points[1])))
            return not self.active
        tree = self.bare or _proven_bare(self.run)
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
            found, _ = led_around(self._plane, nodes, n, edges)
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
        ground, seen, _ = landscape_of(self._plane, self.run.points, self.active)
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
            # Nothing is shorter than the best tree, or else the programme failed.
            return True if self.bound >= self.best.length * (1.0 - CLOSE) else None
        nodes, edges = union(as_pairs(part.places), trees, choice.picked)
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
        from ...fst.enumerate.corners.generate import generate
        from ...fst.select.optional.concatenation import concatenate
        from ...fst.select.optional.turn_kernels import Turns

        trees = generate(ground, seen, self._go_on)
        self.listed = [(ground, trees)]
        if not trees.complete:
            return None
        size, n = len(ground.places), len(self.run.points)
        choice = concatenate(
            trees.leaves, trees.length, size, n, self._go_on,
            ceiling=ceiling, turns=Turns(trees.directions(ground), ground.free),
            special=ground.special,
        )  # fmt: skip
        if self.run.monitor.stop_reason is not None:
            self.bound = max(self.bound, min(choice.lower_bound, ceiling))
            return None
        return ground, trees, choice


@dataclass(frozen=True)
class Useful:
    """Lower bounds of trees that use each corner; 0 where nothing is known."""

    bounds: FloatArray

    @classmethod
    def of(cls, run: Run, corners: FloatArray) -> Useful:
        """Solve on the bare plane with every corner, where one call does it and they are many."""
        if len(run.points) + 1 > BARE or len(corners) <= len(run.points):
            return cls(np.zeros(len(corners)))
        return cls(_bare_bounds(run, corners[:, None]))

    def count(self, ceiling: float) -> int:
        """Return how many corners a tree shorter than a ceiling can use."""
        return int((self.bounds < ceiling).sum())

    def part(self, ground: Landscape, seen: Any, ceiling: float) -> tuple[Landscape, Any]:
        """Return the nodes that trees shorter than a ceiling can use, and which see each other."""
        n = ground.terminals
        keep = np.concatenate((np.arange(n), n + np.flatnonzero(self.bounds < ceiling)))
        special = np.ascontiguousarray(ground.special[np.ix_(keep, keep)])
        part = ground._replace(
            places=np.ascontiguousarray(ground.places[keep]),
            special=special,
            side=ground.side[keep],
            free=ground.free[keep],
            longest=float(special.max()),
        )
        return part, np.ascontiguousarray(seen[np.ix_(keep, keep)])


def landscape_of(
    plane: Plane, points: FloatArray, active: set[int]
) -> tuple[Landscape, Any, FloatArray]:
    """Return terminals and the corners of the obstacles in play as nodes.

    Also returns which nodes see each other, and the shortest ways between them.
    """
    from ...fst.enumerate.corners.block_kernels import in_blocks
    from ...fst.enumerate.corners.landscape_kernels import WHOLE, Landscape
    from ...plane.geodesic_kernels import geodesics, prim, special_distances
    from ...plane.sight_kernels import sight

    n = len(points)
    corners = plane.corners.of(active)
    walls = plane.walls_of(active)
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
        in_blocks(walls),
        float(special.max()),
        np.argsort(points[:, 0], kind="stable"),
    )
    return ground, seen, distance


def _bare_bounds(run: Run, more: FloatArray) -> FloatArray:
    """Return a bound of the tree of the points and each group of others on a bare plane."""
    from .. import exact

    count = len(more)
    points = np.concatenate((np.broadcast_to(run.points, (count, *run.points.shape)), more), axis=1)
    zeros = np.zeros(count, np.int64)
    batch = Batch(np.ascontiguousarray(points), np.zeros((count, 2)), zeros, zeros)
    bounds = exact.solve_batch(batch, exact.Options()).lower_bounds
    return np.asarray(np.nan_to_num(np.asarray(bounds), nan=0.0), dtype=np.float64)


def _proven_bare(run: Run) -> Tree:
    """Return the shortest tree without obstacles, as far as the limits allow."""
    from .. import exact

    return exact.solve(Run(run.points, run.frame, run.monitor, run.seed), exact.Options())


def union(places: FloatArray, trees: CornerTrees, picked: IntArray) -> tuple[FloatArray, IntArray]:
    """Return nodes (all places, then Steiner points) and edges of some trees."""
    nodes, edges, count = [places], [np.empty((0, 2), np.int64)], len(places)
    for k in picked.tolist():
        leaves, steiner = trees.leaves[k], trees.steiner[k]
        number = np.concatenate((leaves, np.arange(count, count + len(steiner))))
        nodes.append(steiner)
        edges.append(number[trees.edges[k]])
        count += len(steiner)
    return np.concatenate(nodes), np.concatenate(edges)


def _tried_corners(run: Run, best: Best, seconds: float) -> Best:
    """Return a tree that other corners make shorter, as far as some seconds allow."""

    def forward(progress: Progress) -> bool:
        return run.monitor.report(progress.phase, progress.done, progress.total, progress.length)

    some = Run(run.points, run.frame, Monitor(seconds, forward), run.seed, plane=run.plane)
    return with_other_corners(some, best, None)


def solve_exact(run: Run, has_options: bool) -> Tree:
    """Return the shortest tree around the obstacles, proven, or as far as the limits allow."""
    if has_options:
        raise OptionError("exact takes no options of its own where there are obstacles")
    return prove(run)[0]


def prove(run: Run) -> tuple[Tree, set[int]]:
    """Return the shortest tree, as far as the limits allow, and the obstacles in play at last."""
    from .. import local

    # The proof itself leads a shortest tree around; what it begins with need not be so good.
    bare = _proven_bare(run) if 2 < len(run.points) <= BARE else None
    best = repaired(run, local.Options(effort="fast"), bare=bare)
    if run.monitor.time_limit is not None:  # the proof may not be finished
        best = _tried_corners(run, best, TRYING * run.monitor.time_limit)
    if not run.monitor.report("start", 0, 0, best.length):
        return best.tree(), set()
    proof = Proof(run, best, bare)
    return proof.go(), proof.active
