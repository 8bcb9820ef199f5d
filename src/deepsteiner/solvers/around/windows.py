"""Windows of a tree around obstacles, solved exactly.

A window is a connected piece of the tree, grown around a bend or a place close to an obstacle. What
it joins, its terminals and the nodes where the rest of the tree hangs on it, is joined anew by the
shortest tree around the obstacles; the piece is replaced where that is shorter. So the tree stays
valid and only gets shorter. Where points are few enough, all that windows list is kept, and the
best tree of all that is taken (`pool`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ...core.options import EffortName
from ...core.points import FloatArray
from ...core.trees import tree_length
from ...run.method import Run
from ...run.monitor import Monitor, Progress
from .pool import MOST_POINTS, Pool
from .proof import Proof
from .repair import Best, plane_of, straightened, with_other_corners

GAIN = 1e-10
"""What a window must save, relatively to its length."""


@dataclass(frozen=True)
class Effort:
    """The work on windows: how many nodes one joins, passes over all, how many, steps in each.

    `wide` windows follow, which hardly overlap: a pass of them.
    """

    joined: int
    passes: int
    most: int
    steps: int
    wide: Effort | None = None


EFFORTS: dict[EffortName, Effort] = {
    "fast": Effort(7, 1, 60, 200, Effort(24, 1, 6, 1500)),
    "default": Effort(10, 2, 400, 1000, Effort(60, 1, 6, 8000)),
    "best": Effort(14, 6, 2000, 5000, Effort(100, 2, 12, 20_000)),
}


def with_better_windows(
    run: Run, best: Best, effort: EffortName, other: Best | None = None
) -> Best:
    """Return a tree whose windows around bends were replaced by shortest trees.

    What the windows of another tree list goes into the choice, too.
    """
    how = EFFORTS[effort]
    if len(run.points) > MOST_POINTS:
        return _improved(run, best, how, None)
    pool = Pool(run)
    pool.add_bare()
    if other is not None:
        pool.add_tree(other)
    best = pool.best(_improved(run, best, how, pool))
    return pool.best(_improved(run, best, how.wide, pool)) if how.wide else best


def _improved(run: Run, best: Best, how: Effort, pool: Pool | None) -> Best:
    """Improve windows until none can be; what they list goes to the pool, and the tree."""
    tree = Woven.of(run, best, pool)
    tried, apart = 0, how.wide is None
    seen: set[tuple[tuple[float, float], ...]] = set()
    for _ in range(how.passes):
        improved = False
        covered: set[int] = set()
        for place in tree.centres():
            if tried >= how.most or not run.monitor.report("windows", tried, how.most, best.length):
                improved = False
                break
            if apart and place in covered:
                continue
            inside, edges = tree.window(place, how.joined)
            covered.update(v for edge in edges for v in edge)
            joins = tuple(sorted(tree.place(v) for v in inside))
            if len(inside) < 2 or joins in seen:
                continue
            seen.add(joins)
            tried += 1
            improved |= tree.improve(inside, edges, how.steps)
        best = tree.best()
        if not improved:
            break
        tree = Woven.of(run, best, pool)
    if pool is not None:
        pool.add_tree(best)
    return best


@dataclass
class Woven:
    """A tree whose pieces are replaced: places of nodes, and the neighbours of each."""

    run: Run
    pool: Pool | None
    places: list[tuple[float, float]]
    beside: list[set[int]]
    bends: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, run: Run, best: Best, pool: Pool | None = None) -> Woven:
        """Return a tree ready to be changed."""
        nodes = np.concatenate((run.points, best.steiner, best.bends))
        beside: list[set[int]] = [set() for _ in nodes]
        for a, b in best.edges.tolist():
            beside[a].add(b)
            beside[b].add(a)
        first = len(run.points) + len(best.steiner)
        places = [(float(x), float(y)) for x, y in nodes]
        return cls(run, pool, places, beside, set(range(first, len(nodes))))

    def place(self, node: int) -> tuple[float, float]:
        """Return where a node is."""
        return self.places[node]

    def centres(self) -> list[int]:
        """Return the nodes around which windows are opened: bends, and their neighbours."""
        terminals = len(self.run.points)
        if terminals <= EFFORTS["best"].joined:
            return [0, *sorted(self.bends)]
        near = {v for bend in self.bends for v in self.beside[bend]}
        return sorted(self.bends) + sorted(near - self.bends)

    def window(self, centre: int, most: int) -> tuple[list[int], list[tuple[int, int]]]:
        """Return what a window around a node joins, and its edges.

        Nodes are taken in, the nearest in the tree first, while the window joins few enough.
        """
        if not self.beside[centre]:
            return [], []
        inside, waiting = {centre}, deque(sorted(self.beside[centre]))
        while waiting:
            node = waiting.popleft()
            if node in inside:
                continue
            inside.add(node)
            if len(self._joined(inside)) > most:
                inside.discard(node)
                continue
            waiting.extend(sorted(self.beside[node] - inside))
        edges = [(a, b) for a in inside for b in self.beside[a] if a < b and b in inside]
        return self._joined(inside), edges

    def _joined(self, inside: set[int]) -> list[int]:
        terminals = len(self.run.points)
        return [v for v in sorted(inside) if v < terminals or not self.beside[v] <= inside]

    def improve(self, joins: list[int], edges: list[tuple[int, int]], steps: int) -> bool:
        """Replace a window by the shortest tree of what it joins; whether that is shorter."""
        places = np.array([self.places[v] for v in joins])
        known = self._piece(joins, edges, places)
        proof = Proof(self._part(places, steps), known)
        tree = proof.go()
        if self.pool is not None:
            self.pool.add_window(proof.listed)
        if not tree.optimal:  # the proof was cut short; corners may still help
            length = tree_length(np.concatenate((places, tree.steiner, tree.bends)), tree.edges)
            found = Best(tree.steiner, tree.bends, tree.edges, length)
            tree = with_other_corners(self._part(places, steps), found, None).tree()
        nodes = np.concatenate((places, tree.steiner, tree.bends))
        if tree_length(nodes, tree.edges) >= known.length * (1.0 - GAIN):
            return False
        for a, b in edges:
            self.beside[a].discard(b)
            self.beside[b].discard(a)
        first = len(self.places)
        self.places += [(float(x), float(y)) for x, y in nodes[len(joins) :]]
        self.beside += [set() for _ in nodes[len(joins) :]]
        number = np.concatenate((joins, np.arange(first, len(self.places)))).astype(np.int64)
        self.bends |= set(range(first + len(tree.steiner), len(self.places)))
        for a, b in number[tree.edges].tolist():
            self.beside[a].add(b)
            self.beside[b].add(a)
        return True

    def _part(self, places: FloatArray, steps: int) -> Run:
        """Return a problem within this one, of so many steps of work at most."""
        limit = self.run.monitor.time_limit and self.run.monitor.remaining()
        monitor = Monitor(limit, _Steps(self.run.monitor, steps))
        return Run(places, self.run.frame, monitor, self.run.seed, plane=self.run.plane)

    def _piece(self, joins: list[int], edges: list[tuple[int, int]], places: FloatArray) -> Best:
        """Return a window as a tree of what it joins."""
        number = {v: k for k, v in enumerate(joins)}
        inner = sorted(
            {v for edge in edges for v in edge} - set(joins), key=self.bends.__contains__
        )
        number |= {v: len(joins) + k for k, v in enumerate(inner)}
        more = np.array([self.places[v] for v in inner]).reshape(-1, 2)
        bends = sum(v in self.bends for v in inner)
        cut = len(more) - bends
        links = np.array([(number[a], number[b]) for a, b in edges], dtype=np.int64).reshape(-1, 2)
        length = tree_length(np.concatenate((places, more)), links)
        return Best(more[:cut], more[cut:], links, length)

    def best(self) -> Best:
        """Return the tree, without nodes that nothing needs."""
        nodes = np.array(self.places)
        edges = np.array(
            [(a, b) for a, others in enumerate(self.beside) for b in others if a < b],
            dtype=np.int64,
        ).reshape(-1, 2)
        return straightened(plane_of(self.run), nodes, len(self.run.points), edges)


class _Steps:
    """A limit of work: so many reports, and what the monitor of the whole solve says."""

    def __init__(self, monitor: Monitor, most: int) -> None:
        self.monitor, self.left = monitor, most

    def __call__(self, progress: Progress) -> bool:
        self.left -= 1
        return self.left > 0 and self.monitor.report("windows")
