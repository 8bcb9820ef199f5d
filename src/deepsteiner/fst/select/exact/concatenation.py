"""Concatenation: the cheapest choice of full Steiner trees that connects all terminals.

The list is reduced and split into blocks; narrow blocks are solved by dynamic programmes, wide ones
are first thinned by local probes, and what is still wide goes to cutting planes and branching.
"""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.errors import InternalError
from ....run.monitor import Report
from ....run.watch import Stopped, waited
from ..hypergraph import Budget
from .piece import Fallback, Job, OpenJobs, Piece, distances_among

if TYPE_CHECKING:
    from ...trees import FullTrees


class Level(NamedTuple):
    """How hard a block is tried before it goes to the next level, and last to a linear programme.

    `work` and `widest` are the estimated steps, and the partitions a layer, that the frontier
    programme may cost. Before it, local probes grow regions of up to `probe_trees` FSTs (0: no
    probes) with up to `probe_partitions` partitions, `probes_a_call` in one call.
    """

    work: float
    widest: int
    probe_trees: int = 0
    probe_partitions: int = 0
    probes_a_call: int = 0


# Each level may cost about ten times the one before: some 10, 100 and 1000 ms a block.
LEVELS = (
    Level(4e5, 100_000),
    Level(3e6, 200_000, 100, 500, 4),
    Level(3e7, 400_000, 200, 2000, 1),
)
LAST_RESORT = Level(1e11, 1_000_000)  # where there is no linear programme
QUICK_WORK = 4e5  # what one uninterrupted call may cost: some 10 ms
LONG = 2000  # FSTs from which on a call to reduce them and solve narrow blocks may take long
WAITING = "reduce"  # what is told meanwhile
# What each report counts for, in slices of about 1 ms. (What is told meanwhile follows a clock.)
SLICES = {WAITING: 0, "concatenate": 2, "frontier": 2, "probe": 2, "improve": 2, "cut": 10}
AROUND = 80  # terminals of the regions in which a tree is improved that a programme guides
DENSE = 6.0  # FSTs per terminal above which a linear programme comes before probes,
DENSE_MOST = 2000  # unless there are so many that it would be slow
DENSE_WORK = 0.05  # and what is left of the frontier programme's allowance


@dataclass(frozen=True)
class Choice:
    """A concatenation of a list of full Steiner trees.

    Attributes:
        selected: indices of the FSTs; they form a tree over all terminals.
        length: their total length.
        lower_bound: no concatenation of the list is shorter.
        optimal: whether ``selected`` is proven shortest for the list.
        stats: counts and seconds by stage.
        rounds: with ``trace``, one record per linear programme: the branching ``node`` (0 is the
            root), its ``value``, the best ``length`` so far (or None), the violated terminal
            ``sets`` and ``x``, pairs of an FST and its fractional value.
    """

    selected: NDArray[np.int64]
    length: float
    lower_bound: float
    optimal: bool
    stats: dict[str, float | int]
    rounds: list[dict[str, Any]] = field(default_factory=list)


def concatenate(
    trees: FullTrees,
    *,
    keep_going: Report | None = None,
    trace: bool = False,
    start: NDArray[np.int64] | None = None,
    threads: int = 1,
) -> Choice:
    """Choose FSTs of least total length that form a tree over all terminals.

    Args:
        trees: the list; its first n-1 FSTs are the edges of a minimum spanning tree, some of
            which may be left out where there is a start.
        keep_going: called as (phase, done, total, length, lower_bound), about every 50 ms;
            returning False stops, and the best choice so far comes back with its bound.
        trace: solve the whole list by cutting planes, slower, and record every round.
        start: indices of FSTs that form a tree, to begin from.
        threads: for probes of large pieces; the choice does not depend on it.
    """
    n = trees.points.shape[0]
    whole = Piece(n, trees.start, trees.terminals, trees.length, np.arange(len(trees)))
    return _Concatenation(whole, keep_going, start, threads).run(trace)


class _Concatenation:
    """The run: what is chosen for good, the open jobs, the best tree and the best bound.

    Where `assembled` is False, the best tree is what is chosen and the open jobs' own trees.
    """

    def __init__(
        self,
        whole: Piece,
        keep_going: Report | None,
        start: NDArray[np.int64] | None,
        threads: int = 1,
    ) -> None:
        self.whole = whole
        self.keep_going = keep_going
        self.threads = threads
        self.chosen = np.zeros(whole.length.size, np.bool_)
        self.fixed = 0.0  # length of what is chosen
        self.open = OpenJobs()
        self.under_way = 0  # terminals still to be joined in the job that is worked on
        self.assembled = True
        self.best = np.zeros(whole.length.size, np.bool_)
        self.best[: whole.n - 1] = True
        if start is not None:
            given = np.zeros_like(self.best)
            given[start] = True
            shorter = whole.length[given].sum() < whole.length[self.best].sum()
            if (shorter and _is_tree(whole, given)) or not _is_tree(whole, self.best):
                self.best = given
        self.best_length = float(whole.length[self.best].sum())
        self.bound = 0.0
        self.stopped = False
        self.rounds: list[dict[str, Any]] = []
        self.began = time.perf_counter()
        self.stats: dict[str, float | int] = dict.fromkeys(
            (
                "fsts", "pruned", "kept", "compulsory", "blocks", "probes_decided", "lp_pieces",
                "lp_solves", "rows", "rounds", "cuts_components", "cuts_flow", "cuts_local",
                "nodes",
            ),
            0,
        )  # fmt: skip
        self.stats |= dict.fromkeys(("seconds_narrow", "seconds_probe", "seconds_lp"), 0.0)
        self.stats["fsts"] = whole.length.size

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """What is tried before a linear programme (looked up only when level 0 was not enough)."""
        has_programme = importlib.util.find_spec("highspy") is not None
        return LEVELS if has_programme else (*LEVELS, LAST_RESORT)

    def run(self, trace: bool) -> Choice:
        """Work through the jobs, hardest last."""
        whole = self.whole
        if whole.n > 1:
            level = len(self.levels) if trace else 0
            self.open.push(Job(whole, level, self.best.copy(), _price_bound(whole)))
            self._survey()
            while self.open and not self.stopped:
                job = self.open.pop()
                self.under_way = job.piece.n - 1
                if job.level == 0 or job.level < len(self.levels):
                    self._narrow(job)
                else:
                    self._program(job, trace)
                self.under_way = 0
                self._survey()
            self._assemble()
        self._check_tree()
        optimal = not self.open and not self.stopped
        if optimal:
            self.bound = self.best_length
        self.stats["seconds"] = time.perf_counter() - self.began
        return Choice(
            np.flatnonzero(self.best),
            self.best_length,
            min(self.bound, self.best_length),
            optimal,
            self.stats,
            self.rounds,
        )

    def _check_tree(self) -> None:
        """Nothing that is not a tree over all terminals ever leaves this module."""
        if not _is_tree(self.whole, self.best):
            raise InternalError("the chosen full Steiner trees do not form a tree")

    def _survey(self) -> None:
        """See whether what is chosen and the open jobs make a better tree or a better bound."""
        length = self.fixed + self.open.length
        if self.open.treeless == 0 and length < self.best_length:
            self.best_length, self.assembled = length, False
        bound = self.fixed + self.open.bound
        self.bound = max(self.bound, min(bound, self.best_length))
        self._tick("concatenate", self.best_length, self.bound)

    def _assemble(self, popped: Job | None = None) -> None:
        """Put the best tree together from its parts; `popped` is a job that is open, too."""
        if self.assembled:
            return
        self.best = self.chosen.copy()
        for job in [*self.open.jobs, *([popped] if popped else [])]:
            self.best[job.piece.trees[job.guess]] = True
        self.best_length = float(self.whole.length[self.best].sum())
        self.assembled = True

    def _choose(self, ids: NDArray[np.int64]) -> None:
        """Choose FSTs for good."""
        self.chosen[ids] = True
        self.fixed += float(self.whole.length[ids].sum())

    def _tick(self, phase: str, length: float, bound: float) -> bool:
        if self.keep_going is not None and not self.stopped:
            total = self.whole.n
            done = max(total - self.open.undecided - self.under_way, 0)
            self.stopped = not self.keep_going(phase, done, total, length, bound)
        return not self.stopped

    def _narrow(self, job: Job) -> None:
        """Probe (above level 0), reduce, split, solve narrow blocks, queue the others."""
        piece = job.piece
        level = (self.levels if job.level else LEVELS)[job.level]
        work = level.work * (DENSE_WORK if self._dense(job) else 1.0)
        alive = np.ones(piece.length.size, np.bool_)
        chosen = np.zeros(piece.length.size, np.bool_)
        merged = np.arange(piece.n)
        if level.probe_trees:
            began = time.perf_counter()
            self._probe(job, level, alive, chosen)
            self.stats["seconds_probe"] += time.perf_counter() - began
            if self.stopped:
                self.open.push(job)
                return
            if not alive.any():
                self._exhaust(job)
                return
            self._contract(piece, alive, chosen, merged)
        began = time.perf_counter()
        try:
            found = self._settled(piece, alive, chosen, merged, min(work, QUICK_WORK), level.widest)
        except Stopped:
            self.open.push(job)
            return
        (blocks, first, listed, begin, local, names, forest), solved, guess = found
        self.stats["seconds_narrow"] += time.perf_counter() - began
        if blocks < 0:
            self._exhaust(job)
            return
        self.stats["blocks"] += int(blocks)
        if piece is self.whole:
            in_blocks = int(guess[np.repeat(solved, np.diff(first))].sum())
            self.stats["compulsory"] = int(chosen.sum()) - in_blocks
            self.stats["kept"] = listed.size
            self.stats["pruned"] = chosen.size - listed.size - int(self.stats["compulsory"])
        rests = []
        for b in np.flatnonzero(~solved):
            low, high = first[b], first[b + 1]
            ids = listed[low:high]
            own = names.items[names.first[b] : names.first[b + 1]]
            part = Piece(
                own.size,
                begin[low : high + 1] - begin[low],
                local[begin[low] : begin[high]],
                piece.length[ids],
                piece.trees[ids],
                distances_among(forest, own),
            )
            rest = Job(
                part, job.level, guess[low:high], _price_bound(part), job.programmed, cuts=job.cuts
            )  # fmt: skip
            if self._dense(rest):
                rest.level = len(self.levels)
            elif job.level < 2 or part.length.size > 0.7 * piece.length.size:
                rest.level += 1
            rests.append(rest)
        if any(np.isinf(rest.length) for rest in rests):
            self._assemble(job)  # its parts do not make a tree
            fallback = job.fallback
            if job.guess.any():
                fallback = Fallback(piece.trees, piece.trees[job.guess])
            for rest in rests:
                rest.fallback = fallback
        self._choose(piece.trees[chosen])
        self.under_way = sum(rest.piece.n - 1 for rest in rests)
        for rest in rests:
            if work <= QUICK_WORK or not self._long_frontier(rest, work, level.widest):
                self.open.push(rest)
            self.under_way -= rest.piece.n - 1

    def _settled(
        self,
        piece: Piece,
        alive: NDArray[np.bool_],
        chosen: NDArray[np.bool_],
        merged: NDArray[np.int64],
        work: float,
        widest: int,
    ) -> Any:
        """Reduce, split and solve narrow blocks; a long call is told of while it lasts."""
        from .blocks_kernels import settle

        given = (piece.graph, piece.distances, alive, chosen, merged, Budget(work, widest))
        if self.keep_going is None or piece.length.size < LONG:
            return settle(*given)
        return waited(
            lambda: settle(*given),
            lambda: self._tick(WAITING, self.best_length, self.bound),
        )

    def _long_frontier(self, job: Job, work: float, widest: int) -> bool:
        """Solve a job by the frontier programme in slices; whether that settled it."""
        from .frontier import solve_by_frontier

        began = time.perf_counter()
        picked, settled = solve_by_frontier(
            job.piece,
            job.most,
            Budget(work, widest),
            lambda: self._tick("frontier", self.best_length, self.bound),
        )
        self.stats["seconds_narrow"] += time.perf_counter() - began
        if picked is not None:
            self._choose(job.piece.trees[picked])
        elif settled:
            self._exhaust(job)
        return settled

    def _dense(self, job: Job) -> bool:
        """Many FSTs a terminal, as on lattices, and no linear programme has thinned them yet."""
        many = DENSE * job.piece.n < job.piece.length.size < DENSE_MOST
        return many and not job.programmed and self.levels is LEVELS

    def _exhaust(self, job: Job) -> None:
        """No tree of the piece beats the one in hand: its own, or the fallback's.

        (Where the ceiling says so, the best tree of the whole list may be shortest instead. To go
        on with the fallback is right then, too: nothing shorter will be found.)
        """
        if job.guess.any():
            self._choose(job.piece.trees[job.guess])
            return
        assert job.fallback is not None
        inside = np.zeros(self.chosen.size, np.bool_)
        inside[job.fallback.trees] = True
        self.open.drop(inside)
        self.chosen[inside] = False
        self.fixed = float(self.whole.length[self.chosen].sum())
        self._choose(job.fallback.guess)

    def _probe(
        self, job: Job, level: Level, alive: NDArray[np.bool_], chosen: NDArray[np.bool_]
    ) -> None:
        """Local probes all over a piece."""
        from .probes import probe_piece

        def go_on(counts: bool) -> bool:
            return self._tick("probe" if counts else WAITING, self.best_length, self.bound)

        decided = probe_piece(job, level, alive, chosen, self.threads, go_on)
        self.stats["probes_decided"] += decided

    @staticmethod
    def _contract(
        piece: Piece,
        alive: NDArray[np.bool_],
        chosen: NDArray[np.bool_],
        merged: NDArray[np.int64],
    ) -> None:
        from .prune_kernels import merge_tree

        for f in np.flatnonzero(chosen):
            alive[f] = False
            merge_tree(merged, piece.terminals, piece.start[f], piece.start[f + 1])

    def _program(self, job: Job, trace: bool) -> None:
        """Cutting planes; then back to the blocks if many FSTs fell, else branching."""
        from .cutting.branch_and_cut import CONVERGED, BranchAndCut
        from .cutting.kept_cuts import inward

        began = time.perf_counter()
        others = self.fixed + (np.inf if self.open.treeless else self.open.length)
        elsewhere = self.fixed + self.open.bound

        def tick(length: float, bound: float) -> bool:
            whole_length = min(self.best_length, others + length)
            self.bound = max(self.bound, min(elsewhere + bound, self.best_length))
            return self._tick("cut", whole_length, self.bound)

        search = BranchAndCut(
            job.piece, job.guess, tick, self.rounds if trace else None,
            lambda x: self._ceiling(job, x), job.most,
            None if job.cuts is None else inward(job.cuts, job.piece.trees, self.chosen),
        )  # fmt: skip
        outcome = search.root()
        again = outcome == CONVERGED and not trace and (search.shrunk or not job.programmed)
        if outcome == CONVERGED and not again:
            outcome = search.deepen()
            again = outcome == CONVERGED and not trace and search.shrunk
            if outcome == CONVERGED and not again:
                search.branch()
        self.stats["lp_pieces"] += 1
        self.stats["lp_solves"] += search.solves
        for name, count in search.counts.items():
            self.stats[name] = (
                max(self.stats[name], count) if name == "rows" else self.stats[name] + count
            )
        self.stats["seconds_lp"] += time.perf_counter() - began
        answer = search.answer()
        if answer.optimal and answer.picked.any():
            self._choose(job.piece.trees[answer.picked])
        elif answer.optimal:
            self._exhaust(job)
        else:
            keep = search.alive if again else np.ones_like(search.alive)
            rest, guess = job.piece.restrict(keep), answer.picked[keep]
            level = 0 if again else job.level
            most, fallback = search.length, job.fallback
            cuts = search.cuts() if again else None
            self.open.push(Job(rest, level, guess, answer.bound, True, most, fallback, cuts))
            self.stopped = not again

    def _ceiling(self, job: Job, x: NDArray[np.float64]) -> float:
        """Make a tree of the whole list, guided by x in the piece of a job; what that allows it.

        All other parts of a shortest tree cost at least what is chosen and the open jobs' bounds.
        Spanning-tree edges complete any choice, which is why the whole list is looked at.
        """
        from .cutting.branch_and_cut import improved
        from .subset_kernels import greedy_tree, share_order

        graph = self.whole.graph
        rank = np.empty(graph.length.size)
        rank[share_order(graph)] = np.linspace(1.0, 2.0, rank.size)
        rank[job.piece.trees] = (1.0 - x) + 1e-3 * (rank[job.piece.trees] - 1.0)
        for other in self.open.jobs:
            rank[other.piece.trees[other.guess]] = -1.0
        rank[self.chosen] = -2.0
        picked = np.zeros(rank.size, np.bool_)
        if np.isfinite(greedy_tree(graph, np.argsort(rank, kind="stable"), picked)):
            inside = job.piece.trees[x > 0.0]
            terminals = self.whole.restrict(np.isin(np.arange(rank.size), inside)).terminals
            near = np.zeros(rank.size, np.bool_)
            near[inside] = True
            picked = improved(
                self.whole, picked, near, np.unique(terminals), AROUND,
                lambda: self._tick("improve", self.best_length, self.bound),
            )  # fmt: skip
        length = float(self.whole.length[picked].sum()) if picked.any() else np.inf
        if length < self.best_length:
            self.best, self.best_length, self.assembled = picked, float(length), True
        return float(length) - self.fixed - self.open.bound


def _is_tree(piece: Piece, flags: NDArray[np.bool_]) -> bool:
    """Return whether the flagged FSTs form a tree over all terminals."""
    from .subset_kernels import greedy_tree

    picked = np.zeros_like(flags)
    order = np.flatnonzero(flags)
    greedy_tree(piece.graph, order, picked)
    return bool(np.array_equal(picked, flags))


def _price_bound(piece: Piece) -> float:
    """Every terminal but one pays at least its cheapest share of an FST."""
    from .subset_kernels import terminal_prices

    prices = terminal_prices(piece.graph)
    return float(prices.sum() - prices.max())
