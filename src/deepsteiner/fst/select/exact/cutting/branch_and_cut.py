"""Cutting planes and branching on a piece that is too wide for the frontier programme."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...hypergraph import Budget, Flags, Floats, Hypergraph, Ints, Rows
from ...search.region_kernels import improve_around
from ...search.window_kernels import Selection, by_first_terminal
from ..frontier import solve_by_frontier
from ..piece import Answer, Piece
from ..prune_kernels import incidence, shares
from ..subset_kernels import greedy_tree, share_order
from .branching import Group, fractional_groups
from .kept_cuts import outward
from .local_cuts import LocalCuts
from .separation_kernels import violated_sets
from .subtour_kernels import Inequalities, subtour_rows
from .subtour_lp import FAILED, INFEASIBLE, OPTIMAL, STOPPED, Relaxation
from .viewpoints import Viewpoints

Tick = Callable[[float, float], bool]
Fixings = tuple[tuple[int, int], ...]  # groups of FSTs and how many of each are taken

CUTOFF = 1.0 - 5e-11  # a tree must be shorter than this times the best one to matter
LEAST_VIOLATION = 1e-6
INNER_TREES = 8
NODE_ROUNDS = 40
LOCAL_TAIL = 6  # rounds of local cuts that must gain a share of the bound for them to go on
SHRUNK = 0.7  # of a programme's FSTs: so few left, and a smaller one is faster
NODE_GAIN = 0.03  # share of a node's gap that a round of local cuts must close for another
IMPROVE_EVERY = 20  # nodes after which the best tree is worked on
TAIL, TAIL_GAIN = 15, 1e-6  # rounds that must gain this share of the bound for cutting to go on
ASK_EVERY = 5  # rounds without a tree after which a ceiling is asked for
FIRST_POLISH = 20  # rounds before the first polish; the next come at twice as many each
POLISH_SHARES = (1.5, 2.0, 3.0, 4.5)  # FSTs per terminal that a polish is confined to
POLISH = Budget(work=1e6, widest=20_000)
IMPROVEMENTS = (
    (1.5, 40),
    (2.0, 80),
    (3.0, 40),
    (1.5, 160),
)  # FSTs per terminal, terminals a region
REGION = Budget(work=1e6, widest=20_000)
SEEDS = 8  # regions solved in one call
CLOSED, CONVERGED, HALTED = "closed", "converged", "halted"


def improved(
    piece: Piece, picked: Flags, others: Flags, seeds: Ints, limit: int, go_on: Callable[[], bool]
) -> Flags:
    """Return a tree no longer than the picked one, made of it and others: region after region.

    Regions of up to `limit` terminals lie around the seeds.
    """
    keep = picked | others
    graph, chosen = piece.restrict(keep).graph, picked[keep]
    at = incidence(graph, np.ones(chosen.size, np.bool_))
    selection = Selection(graph, by_first_terminal(graph), chosen)
    for some in np.array_split(seeds, 1 + seeds.size // SEEDS):
        improve_around(selection, at, some, limit, REGION)
        if not go_on():
            break
    better = np.zeros_like(picked)
    better[np.flatnonzero(keep)[chosen]] = True
    return better


def _completed(graph: Hypergraph) -> Hypergraph:
    """The list with a path through all terminals behind it, so that every forest has a tree."""
    n, start, terminals, length = graph
    path = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1).ravel()
    return Hypergraph(
        n, np.concatenate([start, start[-1] + 2 * np.arange(1, n)]),
        np.concatenate([terminals, path]), np.concatenate([length, np.zeros(n - 1)]),
    )  # fmt: skip


class BranchAndCut:
    """Cutting planes at the root, then best-first branching, on one piece.

    ``tick(length, bound)`` is asked between programmes and their slices whether to go on.
    ``ceiling(x)`` is asked, where rounding finds no tree, what a tree may cost to matter; ``most``
    is what is known of that. ``record`` receives one dictionary per round when tracing. ``cuts``
    are rows to begin with.
    """

    def __init__(
        self,
        piece: Piece,
        guess: Flags,
        tick: Tick,
        record: list[dict[str, Any]] | None = None,
        ceiling: Callable[[Floats], float] | None = None,
        most: float = np.inf,
        cuts: Inequalities | None = None,
    ) -> None:
        self.piece = piece
        self.picked = guess.copy()
        self.length = min(float(piece.length[guess].sum()) if guess.any() else np.inf, most)
        self._ceiling = ceiling
        self._ask_at = 1
        self.bound = 0.0
        self.alive = np.ones(piece.length.size, np.bool_)
        self.counts = dict.fromkeys(
            ("rounds", "cuts_components", "cuts_flow", "cuts_local", "nodes", "rows"), 0
        )
        self._tick = tick
        self._record = record
        self._graph = piece.graph
        self._at = incidence(self._graph, self.alive)
        self._program = Relaxation(self._graph, self._at, self.picked)
        if cuts is not None:
            self._program.add_rows(cuts)
        self._local = LocalCuts(self._graph, self._at)
        self._groups: list[Group] = []
        self._sets = Rows(
            np.zeros(4 * piece.n + 100, np.int64), np.empty(40 * piece.n + 1000, np.int64)
        )
        self._share_rank = np.empty(piece.length.size)
        self._share_rank[share_order(self._graph)] = np.linspace(0.0, 1e-3, piece.length.size)
        self._viewpoints = Viewpoints(self._inner_point())

    @property
    def solves(self) -> int:
        """Linear programmes solved (slices included)."""
        return self._program.solves

    def answer(self) -> Answer:
        """The best tree and bound so far."""
        optimal = self.length * CUTOFF <= self.bound
        return Answer(self.picked, self.length, min(self.bound, self.length), optimal)

    def cuts(self) -> Inequalities:
        """What keeps the bound up, over the whole list."""
        joins = np.diff(self._graph.start) - 1.0
        return outward(self._program.binding(), joins, self.piece.trees)

    def root(self) -> str:
        """Cut until little is gained (CONVERGED), the gap is CLOSED or a stop (HALTED)."""
        polish_at = FIRST_POLISH
        bounds = [0.0]
        while True:
            outcome = self._cut_root()
            if outcome in (CLOSED, HALTED):
                return outcome
            bounds.append(self.bound)
            tailing = len(bounds) > TAIL and bounds[-1] - bounds[-TAIL] < TAIL_GAIN * bounds[-1]
            if outcome != "cut" or tailing or self.counts["rounds"] >= polish_at:
                polish_at *= 2
                self._work_on_tree()
            if outcome != "cut" or tailing:
                return CLOSED if self._closed else CONVERGED

    def deepen(self) -> str:
        """Go on at the root with local cuts, with the same outcomes."""
        bounds = [self.bound]
        while self._cut_locally():
            outcome = "cut"
            for _ in range(NODE_ROUNDS):
                outcome = self._cut_root()
                if outcome != "cut":
                    break
            if outcome in (CLOSED, HALTED):
                return outcome
            if self.shrunk and self._record is None:
                break
            bounds.append(self.bound)
            rounds = len(bounds) - 1
            if rounds % LOCAL_TAIL == 0:
                self._work_on_tree()
                if bounds[-1] - bounds[-1 - LOCAL_TAIL] < TAIL_GAIN * bounds[-1]:
                    break
        return CLOSED if self._closed else CONVERGED

    def branch(self) -> None:
        """Prove the best tree by branching from the converged root."""
        counter = 0
        heap: list[tuple[float, int, Fixings]] = [(self.bound, 0, ())]
        while heap:
            inherited, _, fixings = heapq.heappop(heap)
            self.bound = max(self.bound, min(inherited, self.length))
            if inherited >= self.length * CUTOFF:
                break
            outcome, value = self._solve_node(fixings, inherited)
            self.counts["nodes"] += 1
            if outcome == HALTED:
                return
            if value >= self.length * CUTOFF:
                continue
            if self.counts["nodes"] % IMPROVE_EVERY == 0:
                self._improve(self._last_bound[1])
            group, gains = self._branching_group(fixings, value)
            if group < 0:
                if outcome == "cut":  # whole numbers, but not a tree yet
                    counter += 1
                    heapq.heappush(heap, (max(value, inherited), counter, fixings))
                continue
            for side in (0, 1):
                counter += 1
                child = max(value + gains[side], inherited)
                heapq.heappush(heap, (child, counter, (*fixings, (group, side))))
        self.bound = self.length

    @property
    def shrunk(self) -> bool:
        """Whether so many FSTs fell that what is left should begin anew."""
        return bool(self.alive.sum() < SHRUNK * self.alive.size)

    @property
    def _closed(self) -> bool:
        return bool(self.length * CUTOFF <= self.bound)

    def _cut_root(self) -> str:
        """One round at the root: its bound counts for the piece, and fixes FSTs."""
        m = self.piece.length.size
        outcome = self._cut_once(np.zeros(m), self.alive.astype(np.float64), 0.0)
        value, reduced = self._last_bound
        self.bound = max(self.bound, min(value, self.length))
        self._fix(value, reduced)
        return CLOSED if self._closed else outcome

    def _work_on_tree(self) -> None:
        """Try to shorten the best tree with what the last programme says, then fix FSTs anew."""
        value, reduced = self._last_bound
        self._polish(reduced)
        self._improve(reduced)
        self._fix(value, reduced)

    def _cut_locally(self) -> bool:
        """Add local cuts that the last programme's x violates; whether there were any."""
        rows = self._local.find(self._program.x, self.alive, self._go_on)
        if rows is None:
            return False
        self.counts["cuts_local"] += rows.lower.size
        self._program.add_rows(rows)
        self._viewpoints.forget_bound()
        return True

    def _go_on(self) -> bool:
        return self._tick(self.length, self.bound)

    def _limits(self, fixings: Fixings) -> tuple[Floats, Floats]:
        """Bounds of the columns at a node; groups of which one must be taken are held."""
        upper = self.alive.astype(np.float64)
        for group, side in fixings:
            if side == 0:
                upper[self._groups[group].columns] = 0.0
        self._program.hold({g: self._groups[g].columns for g, side in fixings if side == 1})
        return np.zeros(upper.size), upper

    def _solve_node(self, fixings: Fixings, inherited: float) -> tuple[str, float]:
        """Cut at a node; "cut" where something may still be violated, and the bound."""
        best = inherited
        self._viewpoints.forget_bound()
        while True:
            before = best
            for _ in range(NODE_ROUNDS):
                outcome = self._cut_once(*self._limits(fixings), inherited)
                if outcome == INFEASIBLE:
                    return outcome, np.inf
                best = max(best, self._last_bound[0])
                if outcome != "cut" or best >= self.length * CUTOFF:
                    break
            little = best - before < NODE_GAIN * (self.length - before)
            if outcome == HALTED or best >= self.length * CUTOFF or (little and before > inherited):
                return outcome, best
            if not self._cut_locally():
                return outcome, best

    def _cut_once(self, lower: Floats, upper: Floats, inherited: float) -> str:
        """One programme, one separation; "cut" when rows were added."""
        program = self._program
        program.set_bounds(lower, upper)
        status = program.solve(self._go_on)
        self._last_bound = program.bound()
        if status == INFEASIBLE:
            self._last_bound = (np.inf, self._last_bound[1])
            return INFEASIBLE
        if status in (STOPPED, FAILED):
            return HALTED
        assert status == OPTIMAL
        self.counts["rounds"] += 1
        self._round_up()
        count = self._separate(upper)
        self._note(count)
        if not self._tick(self.length, max(self.bound, inherited)):
            return HALTED
        return "cut" if count else CONVERGED

    def _separate(self, upper: Floats) -> int:
        """Add subtour rows that the last programme's x violates, deep ones if possible."""
        program, count, parts = self._program, 0, 0
        self._viewpoints.judge(self._last_bound[0])
        for point in self._viewpoints.points(program.x, upper):
            count, parts = violated_sets(self._graph, point, LEAST_VIOLATION, self._sets)
            if count:
                break
        if count:
            self.counts["cuts_components"] += parts
            self.counts["cuts_flow"] += count - parts
            program.drop_idle_rows()
            program.add_rows(subtour_rows(self._graph, self._at, self._sets, count))
            self.counts["rows"] = max(self.counts["rows"], program.rows.lower.size)
        return int(count)

    def _round_up(self) -> None:
        """Kruskal over FSTs by their value in the programme; keeps the tree if it is the best."""
        picked = np.zeros(self.alive.size, np.bool_)
        order = np.argsort(self._share_rank - self._program.x, kind="stable")
        length = greedy_tree(self._graph, order, picked)
        if length < self.length:
            self._take(float(length), picked)
        elif length == np.inf and self._ceiling and self.counts["rounds"] >= self._ask_at:
            self._ask_at += ASK_EVERY
            ceiling = self._ceiling(self._program.x)
            if ceiling < self.length:
                self._take(ceiling, np.zeros_like(picked))

    def _take(self, length: float, picked: Flags) -> None:
        """Keep a tree that is the best so far.

        Rounding looks at all FSTs, so among ties it may meet one that was dropped: whoever goes
        on with those that are alive needs the whole tree among them.
        """
        self.length, self.picked = length, picked
        self.alive |= picked

    def _polish(self, reduced: Floats) -> None:
        """Best tree of the FSTs with the least reduced costs, by the frontier programme."""
        order = np.argsort(reduced, kind="stable")
        for share in POLISH_SHARES:
            keep = self.picked.copy()
            keep[order[: int(share * self.piece.n)]] = True
            keep &= self.alive
            # By distances of its own: this tree need only be good.
            piece = replace(self.piece.restrict(keep), known=None)
            picked, settled = solve_by_frontier(piece, self.length, POLISH, self._go_on)
            if picked is not None and piece.length[picked].sum() < self.length:
                better = np.zeros(self.alive.size, np.bool_)
                better[np.flatnonzero(keep)[picked]] = True
                self._take(float(piece.length[picked].sum()), better)
            if not settled and np.isfinite(self.length):
                return  # too wide, and more FSTs make it wider; without a tree: too few so far

    def _improve(self, reduced: Floats) -> None:
        """Improve the best tree, region by region, over the FSTs with the least reduced costs."""
        if not self.picked.any():
            return
        order, seeds = np.argsort(reduced, kind="stable"), np.arange(self.piece.n)
        for share, limit in IMPROVEMENTS:
            keep = np.zeros(self.alive.size, np.bool_)
            keep[order[: int(share * self.piece.n)]] = True
            better = improved(self.piece, self.picked, keep & self.alive, seeds, limit, self._go_on)
            length = float(self.piece.length[better].sum())
            if length < self.length:
                self._take(length, better)

    def _fix(self, bound: float, reduced: Floats) -> None:
        """Drop FSTs whose reduced cost proves that no better tree uses them."""
        if np.isfinite(self.length):
            self.alive &= (bound + reduced < self.length * CUTOFF) | self.picked
            self._viewpoints.inner = np.where(self.alive, self._viewpoints.inner, 0.0)

    def _branching_group(self, fixings: Fixings, value: float) -> tuple[int, tuple[float, float]]:
        """The group whose two sides raise the bound most, tried on a few; -1 at integer points.

        Returns its number and by how much each side raises the bound, without further cuts.
        """
        first = len(self._groups)
        self._groups += fractional_groups(self._graph, self._at, self._program.x)
        best, best_gains, most = -1, (0.0, 0.0), -1.0
        for group in range(first, len(self._groups)):
            low = self._gain((*fixings, (group, 0)), value)
            high = self._gain((*fixings, (group, 1)), value)
            merit = max(low, 1e-9) * max(high, 1e-9)
            if merit > most:
                best, best_gains, most = group, (low, high), merit
        self._limits(fixings)
        self._program.forget(list(range(first, len(self._groups))))
        if best >= 0:
            self._groups[first:] = [self._groups[best]]
            best = first
        return best, best_gains

    def _gain(self, fixings: Fixings, value: float) -> float:
        """Rise of the bound under fixings."""
        self._program.set_bounds(*self._limits(fixings))
        status = self._program.solve(self._go_on)
        if status == INFEASIBLE:
            return self.length
        bound, _ = self._program.bound()
        return min(max(bound - value, 0.0), self.length)

    def _inner_point(self) -> Floats:
        """Mean of some varied trees, or forests where no greedy order meets a tree.

        It satisfies every subtour inequality. The nearer it is to the trees, the deeper are the
        cuts between it and a vertex: beginning from nothing took four times as many rounds.
        """
        graph, m = self._graph, self._graph.length.size
        share, completed = shares(graph), _completed(graph)
        total, count = self.picked.astype(np.float64), int(self.picked.any())
        picked = np.zeros(completed.length.size, np.bool_)
        path = np.arange(m, picked.size)
        for k in range(count, INNER_TREES):
            wobble = 1.0 + 0.3 * np.modf(np.arange(m) * (0.618034 * k))[0]
            order = np.argsort(share * wobble, kind="stable")
            greedy_tree(completed, np.concatenate([order, path]), picked)
            total += picked[:m]
            length = float(graph.length[picked[:m]].sum())
            if not picked[m:].any() and length < self.length:
                self._take(length, picked[:m].copy())
        return total / INNER_TREES

    def _note(self, count: int) -> None:
        if self._record is None:
            return
        x = self._program.x
        used = np.flatnonzero(x > 0.0)
        first, members = self._sets
        sets = [sorted(members[first[c] : first[c + 1]].tolist()) for c in range(count)]
        self._record.append(
            {
                "node": self.counts["nodes"],
                "value": self._last_bound[0],
                "length": self.length if np.isfinite(self.length) else None,
                "sets": sets,
                "x": [[int(f), float(x[f])] for f in used],
            }
        )
