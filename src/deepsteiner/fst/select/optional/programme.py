"""The linear programme of a list with optional nodes, cut by subtours, and what is left over.

Binary x_F says that a full tree is taken, y_v that a node is in the tree; y_v = 1 for terminals.

    minimise   sum c_F x_F
    subject to sum (|F| - 1) x_F = y(V) - 1,
               x_F <= y_v for v in F,
               x(trees at v) >= 1 at terminals, >= 2 y_v at optional nodes,
               what directions at corners say (see `turn_kernels`),
               sum_F max(0, |F & S| - 1) x_F <= y(S) - y_w for every set S and every w in S.

Solutions in whole numbers are trees over the terminals and the chosen optional nodes. The last
rows are added as they are violated. Where the programme is tight but not in whole numbers, HiGHS
branches over the rows so far; what it finds is cut again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.points import FloatArray, IntArray
from ....core.trees import offsets
from ..exact.cutting.subtour_kernels import Inequalities, safe_bound
from ..exact.cutting.subtour_lp import CERTAIN, load_highspy, some_rows
from ..exact.prune_kernels import incidence
from ..hypergraph import Flags, Hypergraph, Rows
from .first_rows import first_rows
from .optional_kernels import set_rows, violated_sets
from .turn_kernels import Turns, no_turns, peel

LEAST_VIOLATION = 1e-7
WHOLE = 1e-6
TOLERANCE = 1e-9
CLOSE = 1e-10
"""A bound this close to the length, relatively, proves it."""
MARGIN = 1e-8
"""How far above the ceiling, relatively, a bound rules something out."""
IDLE_ROUNDS = 5
"""Rounds after which a row that is slack leaves the programme."""
SMALL = 1e-12

KeepGoing = Callable[[str, int, int, float], bool]


@dataclass(frozen=True)
class Choice:
    """The trees taken, their total length, a proven bound, and whether they agree."""

    picked: IntArray
    length: float
    lower_bound: float
    optimal: bool
    rounds: int


@dataclass(frozen=True)
class Ask:
    """What is asked of a list: see `concatenation.concatenate`."""

    size: int
    terminals: int
    ceiling: float
    turns: Turns | None


class Programme:
    """The linear programme on HiGHS and what it has found."""

    def __init__(self, leaves: list[IntArray], length: FloatArray, ask: Ask) -> None:
        size, terminals = ask.size, ask.terminals
        start = offsets([len(one) for one in leaves])
        graph = Hypergraph(size, start, np.concatenate(leaves), length)
        turns = ask.turns or no_turns(len(graph.terminals), size)
        alive = np.ones(len(leaves), np.bool_)
        peel(graph, alive, np.arange(size) >= terminals, turns)
        self.trees = np.flatnonzero(alive)
        kept = [leaves[k] for k in self.trees]
        used = np.unique(np.concatenate([*kept, np.arange(terminals)])).astype(np.int64)
        number = np.full(size, -1)
        number[used] = np.arange(len(used))
        self.terminals = terminals
        self.graph = Hypergraph(
            len(used),
            offsets([len(one) for one in kept]),
            number[np.concatenate([np.empty(0, np.int64), *kept])],
            length[self.trees],
        )
        living = np.repeat(alive, np.diff(start))
        turns = Turns(turns.direction[living], turns.free[used])
        m, n = len(self.trees), len(used)
        self.at = incidence(self.graph, np.ones(m, np.bool_))
        self.column = np.full(n, -1)
        self.column[terminals:] = np.arange(m, m + n - terminals)
        self.scale = 2.0 ** -round(float(np.log2(length.mean())))
        self.ceiling = ask.ceiling * self.scale * (1.0 + MARGIN)
        self.cost = np.concatenate((self.graph.length * self.scale, np.zeros(n - terminals)))
        self.lower, self.upper = np.zeros(len(self.cost)), np.ones(len(self.cost))
        self.rows, self.must_stay = first_rows(self.graph, self.column, turns)
        self.idle = np.zeros(len(self.rows.lower), np.int64)
        self.bound = 0.0
        self.rounds = 0
        self.whole = False  # whether whole numbers are demanded
        self._load()

    def _load(self) -> None:
        highspy = load_highspy()
        self.highs: Any = highspy.Highs()
        self.status = highspy.HighsModelStatus
        self.kinds = highspy.HighsVarType
        for name, value in (
            ("output_flag", False),
            ("threads", 1),
            ("primal_feasibility_tolerance", TOLERANCE),
            ("dual_feasibility_tolerance", TOLERANCE),
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", 1e-10),
            ("solver", "simplex"),
            ("presolve", "off"),
        ):
            self.highs.setOptionValue(name, value)
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self.cost), len(self.rows.lower)
        model.col_cost_, model.col_lower_, model.col_upper_ = self.cost, self.lower, self.upper
        model.row_lower_, model.row_upper_ = self.rows.lower, self.rows.upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = self.rows.start.astype(np.int32)
        model.a_matrix_.index_ = self.rows.columns.astype(np.int32)
        model.a_matrix_.value_ = self.rows.values
        self.highs.passModel(model)

    def run(self, keep_going: KeepGoing | None) -> Choice:
        """Cut until nothing is violated; branch where the rest is not in whole numbers."""
        if not len(self.trees):
            self.bound = np.inf
            return self._unfinished()
        while True:
            if not self._solve():
                if self._is_infeasible():
                    self.bound = np.inf
                return self._unfinished()
            self.rounds += 1
            cuts = self._separate()
            if keep_going and not keep_going(
                "choosing full trees", self.rounds, 0, self.bound / self.scale
            ):
                return self._unfinished()
            if cuts:
                continue
            x = self.point[: len(self.trees)]
            if np.abs(x - np.rint(x)).max(initial=0.0) < WHOLE:
                break
            self.whole = True
            self._demand_whole_numbers()
        picked = self.trees[x > 0.5]
        length = float(self.graph.length[x > 0.5].sum())
        bound = length if self.whole else min(self.bound / self.scale, length)
        return Choice(picked, length, bound, bound >= length * (1.0 - CLOSE), self.rounds)

    def _demand_whole_numbers(self) -> None:
        self.highs.setOptionValue("presolve", "choose")
        self.highs.setOptionValue("solver", "choose")
        columns = np.arange(len(self.cost), dtype=np.int32)
        kinds = np.full(len(columns), int(self.kinds.kInteger), dtype=np.uint8)
        self.highs.changeColsIntegrality(len(columns), columns, kinds)

    def _solve(self) -> bool:
        self.highs.run()
        if self.highs.getModelStatus() not in (self.status.kOptimal, self.status.kInfeasible):
            self.highs.clearSolver()  # a bad basis: once more from scratch
            self.highs.run()
        if self.highs.getModelStatus() != self.status.kOptimal:
            return False
        solution = self.highs.getSolution()
        point = np.array(solution.col_value)
        self.point = np.where(point < TOLERANCE, 0.0, np.where(point > 1 - TOLERANCE, 1.0, point))
        if not self.whole:
            self._take_duals(np.array(solution.row_dual))
        return True

    def _take_duals(self, duals: FloatArray) -> None:
        """Raise the bound, leave out what is too dear, and rows that have been slack for long.

        A row is idle only in rounds that raise the bound, so that no row comes and goes for ever.
        """
        value, reduced = safe_bound(self.cost, self.lower, self.upper, self.rows, duals)
        if value > self.bound:
            self.bound = value
            self.idle = np.where(np.abs(duals) > SMALL, 0, self.idle + 1)
        dear = (value + reduced > self.ceiling) & (self.upper > 0.0) & (self.point < 1.0)
        if dear.any():
            # A tree that takes one of these columns is longer than the ceiling.
            columns = np.flatnonzero(dear)
            self.upper[columns] = 0.0
            self.highs.changeColsBounds(
                len(columns), columns.astype(np.int32), self.lower[columns], self.upper[columns]
            )
        idle = self.idle > IDLE_ROUNDS
        idle[: self.must_stay] = False
        if 4 * idle.sum() > idle.size:
            self._drop(idle)

    def _drop(self, flags: Flags) -> None:
        gone = np.flatnonzero(flags)
        self.highs.deleteRows(len(gone), gone.astype(np.int32))
        self.rows, self.idle = some_rows(self.rows, ~flags), self.idle[~flags]

    def _is_infeasible(self) -> bool:
        """Whether there is no solution; without whole numbers a ray must prove it."""
        if self.highs.getModelStatus() != self.status.kInfeasible:
            return False
        if self.whole:
            return True
        _, known, ray = self.highs.getDualRay()
        if not known or not np.abs(ray).max(initial=0.0):
            return False
        weights = np.array(ray) / np.abs(ray).max()
        value, _ = safe_bound(np.zeros_like(self.cost), self.lower, self.upper, self.rows, weights)
        return bool(value > CERTAIN)

    def _separate(self) -> int:
        """Add violated rows; return how many."""
        n, t = self.graph.n, self.terminals
        x = np.ascontiguousarray(self.point[: len(self.trees)])
        y = np.concatenate((np.ones(t), self.point[len(self.trees) :]))
        sets = Rows(np.zeros(4 * n + 100, np.int64), np.empty(40 * n + 1000, np.int64))
        count = int(violated_sets(self.graph, x, y, self.at, LEAST_VIOLATION, sets))
        if count:
            more = set_rows(self.graph, self.at, self.column, sets, count)
            self.highs.addRows(
                count, more.lower, more.upper, more.columns.size, more.start[:-1].astype(np.int32),
                more.columns.astype(np.int32), more.values,
            )  # fmt: skip
            shifted = more._replace(start=self.rows.start[-1] + more.start[1:])
            joined: Any = map(np.concatenate, zip(self.rows, shifted, strict=True))
            self.rows = Inequalities(*joined)
            self.idle = np.append(self.idle, np.zeros(count, np.int64))
        return count

    def _unfinished(self) -> Choice:
        none = np.empty(0, np.int64)
        return Choice(none, np.inf, self.bound / self.scale, False, self.rounds)
