"""The subtour relaxation of a list as a linear programme that grows row by row, on HiGHS.

Where a list has many more FSTs than terminals, as on boards, nearly all of them are never worth
their price. The simplex code then holds those that seem worth it and is given others as their
reduced costs ask for them (sifting: Bixby, Gregory, Lustig, Marsten and Shanno 1992).
"""

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
CERTAIN = 1e-9  # by this much a ray with weights up to 1 must show that there is no solution
IDLE_ROUNDS = 8  # a row that was slack this long leaves the programme
NO_GROUP = -1  # what rows other than those of groups are called
FEW = 1000  # columns that are all held
HELD_A_TERMINAL = 2  # columns held at first, where there are more, by their cost for each join
MOST_PRICED = 2000  # columns that come in at once
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
    given and taken are unscaled. `rows` are over all columns; the simplex code has their entries
    in the columns that are held.
    """

    def __init__(self, graph: Hypergraph, at: Rows, picked: Flags | None = None) -> None:
        highspy = load_highspy()
        n, m = graph.n, graph.length.size
        self.scale = 2.0 ** -round(float(np.log2(graph.length.mean())))
        self.cost = graph.length * self.scale
        self.lower = np.zeros(m)
        self.upper = np.ones(m)
        self.solves = 0
        self._status = highspy.HighsModelStatus
        self._first_rows = n + 1
        joins = np.diff(graph.start) - 1.0
        self.rows = rows = Inequalities(
            np.concatenate([[0], m + at.first]),
            np.concatenate([np.arange(m), at.items]),
            np.concatenate([joins, np.ones(at.items.size)]),
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
        model = highspy.HighsLp()
        model.num_col_ = 0
        model.num_row_ = rows.lower.size
        model.row_lower_ = rows.lower
        model.row_upper_ = rows.upper
        self._highs.passModel(model)
        self._held: Ints = np.empty(0, np.int64)  # columns, in the simplex code's order
        self._seat = np.full(m, -1)  # of each column among them
        self._hold_columns(self._first_columns(joins, picked))
        self.x: Floats = np.zeros(m)
        self._duals: Floats = np.zeros(rows.lower.size)

    def _first_columns(self, joins: Floats, picked: Flags | None) -> Ints:
        """Columns to begin with: all if they are few, else a tree and the cheapest for a join."""
        m = self.cost.size
        few = max(FEW, HELD_A_TERMINAL * self._first_rows)
        if m <= few:
            return np.arange(m)
        seems = np.zeros(m, np.bool_) if picked is None else picked.copy()
        seems[np.argsort(self.cost / joins, kind="stable")[:few]] = True
        return np.flatnonzero(seems)

    def _hold_columns(self, columns: Ints) -> None:
        """Give columns to the simplex code, with their entries in all rows."""
        self._seat[columns] = self._held.size + np.arange(columns.size)
        self._held = np.concatenate([self._held, columns])
        place = np.full(self.cost.size, -1)
        place[columns] = np.arange(columns.size)
        entries = np.flatnonzero(place[self.rows.columns] >= 0)
        row = np.repeat(np.arange(self.rows.lower.size), np.diff(self.rows.start))[entries]
        own = place[self.rows.columns[entries]]
        order = np.argsort(own, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=columns.size))])
        self._highs.addCols(
            columns.size, self.cost[columns], self.lower[columns], self.upper[columns],
            entries.size, start[:-1].astype(np.int32), row[order].astype(np.int32),
            self.rows.values[entries][order],
        )  # fmt: skip
        # Slices of simplex iterations, not of time: the same path on every machine.
        limit = max(100, 400_000 // self._held.size)
        self._highs.setOptionValue("simplex_iteration_limit", limit)

    def add_rows(self, more: Inequalities, name: int = NO_GROUP) -> None:
        """Append rows; those with a name stay until they are told to go."""
        count = more.lower.size
        seat = self._seat[more.columns]
        inside = seat >= 0
        start = np.concatenate([[0], np.cumsum(inside)])[more.start[:-1]]
        self._highs.addRows(
            count, more.lower, more.upper, int(inside.sum()), start.astype(np.int32),
            seat[inside].astype(np.int32), more.values[inside],
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
        changed = (lower != self.lower) | (upper != self.upper)
        if changed.any():
            self.lower, self.upper = lower.copy(), upper.copy()
            seats = np.flatnonzero(changed[self._held])
            own = self._held[seats]
            self._highs.changeColsBounds(seats.size, seats.astype(np.int32), lower[own], upper[own])

    def solve(self, keep_going: Callable[[], bool]) -> str:
        """Re-optimise from the last basis; x and the duals are fresh unless it failed.

        Columns that are not held come in while their reduced costs are negative. So they do where
        those held have no solution: then it is the reduced costs of the simplex code's ray that
        tell which columns stand against it. INFEASIBLE is said only where that ray, with all
        columns, proves it.
        """
        while True:
            status = self._solve_held(keep_going)
            if status == INFEASIBLE:
                value, reduced = self._weighed(np.zeros(self.cost.size), self._ray())
                if value > CERTAIN:
                    return INFEASIBLE
            elif status == OPTIMAL:
                _, reduced = self._weighed(self.cost, self._duals)
            else:
                return status
            reduced[(self._seat >= 0) | (self.upper == 0.0)] = np.inf
            more = np.argsort(reduced, kind="stable")[:MOST_PRICED]
            more = np.sort(more[reduced[more] < -self._tolerance])
            if more.size:
                self._hold_columns(more)
            elif status == OPTIMAL:
                return OPTIMAL
            elif (left := np.flatnonzero(self._seat < 0)).size:
                self._hold_columns(left)  # the ray proves nothing, and no column says why
            else:
                return FAILED
            if not keep_going():
                return STOPPED

    def _ray(self) -> Floats:
        """Weights of rows by which the simplex code saw that there is no solution; at most 1."""
        _, known, ray = self._highs.getDualRay()
        largest = np.abs(ray).max() if known else 0.0
        return ray / largest if largest else np.zeros(self.rows.lower.size)

    def _weighed(self, cost: Floats, duals: Floats) -> tuple[float, Floats]:
        value, reduced = safe_bound(cost, self.lower, self.upper, self.rows, duals)
        return float(value), reduced

    def _solve_held(self, keep_going: Callable[[], bool]) -> str:
        """Optimise over the columns that are held."""
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
                self.x = np.zeros(self.cost.size)
                self.x[self._held] = np.where(
                    x < TOLERANCE, 0.0, np.where(x > 1 - TOLERANCE, 1.0, x)
                )
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
        value, reduced = self._weighed(self.cost, self._duals)
        return value / self.scale, reduced / self.scale

    def binding(self) -> Inequalities:
        """The spanning equation, and the cuts that the last solution leans on."""
        keep = (np.abs(self._duals) > 1e-12) & (self._name == NO_GROUP)
        keep[1 : self._first_rows] = False
        keep[0] = True
        return some_rows(self.rows, keep)

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
        self.rows = some_rows(self.rows, keep)
        self._idle, self._duals, self._name = self._idle[keep], self._duals[keep], self._name[keep]


def some_rows(rows: Inequalities, keep: Flags) -> Inequalities:
    """Flagged rows."""
    start, columns, values, lower, upper = rows
    counts = np.diff(start)
    entry = np.repeat(keep, counts)
    return Inequalities(
        np.concatenate([[0], np.cumsum(counts[keep])]),
        columns[entry], values[entry], lower[keep], upper[keep],
    )  # fmt: skip
