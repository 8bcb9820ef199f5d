"""The subtour relaxation of a list as a linear programme that grows row by row, on HiGHS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .....core.errors import MissingDependencyError
from ...hypergraph import Flags, Floats, Hypergraph, Ints, Rows
from .subtour_kernels import Inequalities, safe_bound

OPTIMAL = "optimal"
INFEASIBLE = "infeasible"
STOPPED = "stopped"
FAILED = "failed"

TOLERANCE = 1e-9  # of the simplex code, and what x may be off 0 and 1
LOOSE = 1e-7  # its tolerance where the strict one failed
IDLE_ROUNDS = 8  # a row that was slack this long leaves the programme
NO_GROUP = -1  # what rows other than those of groups are called
OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "threads": 1,
    "solver": "simplex",
    "presolve": "off",
}


def load_highspy() -> Any:
    """The highspy module, or one sentence about how to get it."""
    try:
        import highspy
    except ImportError as error:
        raise MissingDependencyError(
            "This list of full Steiner trees is too wide for the built-in solver and needs a "
            "linear programme: install HiGHS with `pip install highspy`."
        ) from error
    return highspy


class Relaxation:
    """min sum c x over 0 <= x <= 1, the spanning equation, degree rows and added subtour rows.

    Costs are scaled by a power of two to about one each, so that absolute tolerances fit. Values
    given and taken are unscaled.
    """

    def __init__(self, graph: Hypergraph, at: Rows) -> None:
        highspy = load_highspy()
        n, m = graph.n, graph.length.size
        self.scale = 2.0 ** -round(float(np.log2(graph.length.mean())))
        self.cost = graph.length * self.scale
        self.lower = np.zeros(m)
        self.upper = np.ones(m)
        self.solves = 0
        self._status = highspy.HighsModelStatus
        self._first_rows = n + 1
        self.rows = rows = Inequalities(
            np.concatenate([[0], m + at.first]),
            np.concatenate([np.arange(m), at.items]),
            np.concatenate([np.diff(graph.start) - 1.0, np.ones(at.items.size)]),
            np.concatenate([[n - 1.0], np.ones(n)]),
            np.concatenate([[n - 1.0], np.full(n, np.inf)]),
        )
        self._idle = np.zeros(n + 1, np.int64)
        self._name = np.full(n + 1, NO_GROUP)
        self._highs = highspy.Highs()
        for name, value in OPTIONS.items():
            self._highs.setOptionValue(name, value)
        self._tolerance = 0.0
        self._set_tolerance(TOLERANCE)
        # Slices of simplex iterations, not of time: the same path on every machine.
        self._highs.setOptionValue("simplex_iteration_limit", max(100, 400_000 // m))
        model = highspy.HighsLp()
        model.num_col_ = m
        model.num_row_ = rows.lower.size
        model.col_cost_ = self.cost
        model.col_lower_ = self.lower
        model.col_upper_ = self.upper
        model.row_lower_ = rows.lower
        model.row_upper_ = rows.upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = rows.start.astype(np.int32)
        model.a_matrix_.index_ = rows.columns.astype(np.int32)
        model.a_matrix_.value_ = rows.values
        self._highs.passModel(model)
        self.x: Floats = np.zeros(m)
        self._duals: Floats = np.zeros(rows.lower.size)

    def add_rows(self, more: Inequalities, name: int = NO_GROUP) -> None:
        """Append rows; those with a name stay until they are told to go."""
        count = more.lower.size
        self._highs.addRows(
            count, more.lower, more.upper, more.columns.size, more.start[:-1].astype(np.int32),
            more.columns.astype(np.int32), more.values,
        )  # fmt: skip
        shifted = more._replace(start=self.rows.start[-1] + more.start[1:])
        joined: Any = map(np.concatenate, zip(self.rows, shifted, strict=True))
        self.rows = Inequalities(*joined)
        self._idle = np.concatenate([self._idle, np.zeros(count, np.int64)])
        self._duals = np.concatenate([self._duals, np.zeros(count)])
        self._name = np.concatenate([self._name, np.full(count, name)])

    def hold(self, groups: dict[int, Ints]) -> None:
        """Ask of these groups of columns that one of each be taken, and of no others."""
        for name in groups.keys() - set(self._name.tolist()):
            columns = groups[name]
            ones, none = np.ones(columns.size), np.array([-np.inf])
            rows = Inequalities(np.array([0, columns.size]), columns, ones, none, -none)
            self.add_rows(rows, name)
        named = self._name != NO_GROUP
        lower = np.where(np.isin(self._name, list(groups)), 1.0, -np.inf)
        changed = np.flatnonzero(named & (lower != self.rows.lower))
        if changed.size:
            self.rows.lower[changed] = lower[changed]
            free = np.full(changed.size, np.inf)
            self._highs.changeRowsBounds(
                changed.size, changed.astype(np.int32), lower[changed], free
            )

    def forget(self, groups: list[int]) -> None:
        """Leave out the rows of groups that are not held."""
        self._drop(np.isin(self._name, groups))

    def set_bounds(self, lower: Floats, upper: Floats) -> None:
        """Replace the bounds of all columns."""
        changed = np.flatnonzero((lower != self.lower) | (upper != self.upper)).astype(np.int32)
        if changed.size:
            self.lower, self.upper = lower.copy(), upper.copy()
            self._highs.changeColsBounds(changed.size, changed, lower[changed], upper[changed])

    def solve(self, keep_going: Callable[[], bool]) -> str:
        """Re-optimise from the last basis; x and the duals are fresh unless it failed."""
        status = self._run(keep_going)
        for tolerance in (self._tolerance, LOOSE):
            if status != FAILED:
                break
            # A bad basis: once more from scratch, then less strictly. That stays: wide programmes
            # that fail once fail often, and the bound does not depend on it.
            self._highs.clearSolver()
            self._set_tolerance(tolerance)
            status = self._run(keep_going)
        if status in (OPTIMAL, STOPPED):
            solution = self._highs.getSolution()
            if status == OPTIMAL:
                x = np.array(solution.col_value)
                self.x = np.where(x < TOLERANCE, 0.0, np.where(x > 1 - TOLERANCE, 1.0, x))
            self._duals = np.array(solution.row_dual)
        return status

    def _set_tolerance(self, tolerance: float) -> None:
        if tolerance != self._tolerance:
            self._tolerance = tolerance
            self._highs.setOptionValue("primal_feasibility_tolerance", tolerance)
            self._highs.setOptionValue("dual_feasibility_tolerance", tolerance)

    def _run(self, keep_going: Callable[[], bool]) -> str:
        while True:
            self._highs.run()
            self.solves += 1
            status = self._highs.getModelStatus()
            if status == self._status.kOptimal:
                return OPTIMAL
            if status == self._status.kInfeasible:
                return INFEASIBLE
            if status != self._status.kIterationLimit:
                return FAILED
            if not keep_going():
                return STOPPED

    def bound(self) -> tuple[float, Floats]:
        """A lower bound that holds whatever the simplex code did, and the reduced costs."""
        value, reduced = safe_bound(self.cost, self.lower, self.upper, self.rows, self._duals)
        return value / self.scale, reduced / self.scale

    def drop_idle_rows(self) -> int:
        """Once a round: remove subtour rows that have been slack for some; returns how many."""
        self._idle = np.where(np.abs(self._duals) > 1e-12, 0, self._idle + 1)
        idle = (self._idle > IDLE_ROUNDS) & (self._name == NO_GROUP)
        idle[: self._first_rows] = False
        if idle.sum() * 4 < idle.size:  # not worth disturbing the basis
            return 0
        self._drop(idle)
        return int(idle.sum())

    def _drop(self, flags: Flags) -> None:
        gone = np.flatnonzero(flags)
        if not gone.size:
            return
        self._highs.deleteRows(gone.size, gone.astype(np.int32))
        keep = ~flags
        start, columns, values, lower, upper = self.rows
        counts = np.diff(start)
        entry = np.repeat(keep, counts)
        self.rows = Inequalities(
            np.concatenate([[0], np.cumsum(counts[keep])]),
            columns[entry], values[entry], lower[keep], upper[keep],
        )  # fmt: skip
        self._idle, self._duals, self._name = self._idle[keep], self._duals[keep], self._name[keep]
