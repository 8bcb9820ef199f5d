"""Concatenation with optional nodes: a linear programme, cut by subtours, and what is left over.

Binary x_F says that a full tree is taken, y_v that a node is in the tree; y_v = 1 for terminals.

    minimise   sum c_F x_F
    subject to sum (|F| - 1) x_F = y(V) - 1,
               x_F <= y_v for v in F,
               x(trees at v) >= 1 at terminals, >= 2 y_v at optional nodes,
               sum_F max(0, |F & S| - 1) x_F <= y(S) - y_w for every set S and every w in S.

Solutions in whole numbers are trees over the terminals and the chosen optional nodes. The last
rows are added as they are violated. Where the programme is tight but not in whole numbers, HiGHS
branches over the rows so far; what it finds is cut again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.points import FloatArray, IntArray
from ....core.trees import offsets
from ..exact.cutting.subtour_kernels import Inequalities, safe_bound
from ..exact.cutting.subtour_lp import load_highspy
from ..exact.prune_kernels import incidence
from ..hypergraph import Hypergraph, Rows
from .optional_kernels import peel, set_rows, violated_sets

LEAST_VIOLATION = 1e-7
WHOLE = 1e-6
TOLERANCE = 1e-9
CLOSE = 1e-10
"""A bound this close to the length, relatively, proves it."""

KeepGoing = Callable[[str, int, int, float], bool]


@dataclass(frozen=True)
class Choice:
    """The trees taken, their total length, a proven bound, and whether they agree."""

    picked: IntArray
    length: float
    lower_bound: float
    optimal: bool
    rounds: int


def concatenate(
    leaves: list[IntArray], length: FloatArray, size: int, terminals: int,
    keep_going: KeepGoing | None = None,
) -> Choice:  # fmt: skip
    """Choose trees of least total length that connect all terminals.

    Parameters
    ----------
    leaves
        The nodes of each tree.
    length
        The length of each.
    size, terminals
        The number of nodes, and how many of them, the first ones, are terminals.
    keep_going
        Called as (phase, done, total, bound) between programmes; False stops.

    Returns
    -------
    Choice
        With nothing picked where it was stopped, or where nothing connects the terminals; the
        bound is infinite then.
    """
    if not leaves:
        return Choice(np.empty(0, np.int64), np.inf, np.inf, False, 0)
    return _Programme(leaves, length, size, terminals).run(keep_going)


class _Programme:
    """The linear programme on HiGHS and what it has found."""

    def __init__(
        self,
        leaves: list[IntArray],
        length: FloatArray,
        size: int,
        terminals: int,
    ) -> None:
        graph = Hypergraph(
            size, offsets([len(one) for one in leaves]), np.concatenate(leaves), length
        )
        alive = np.ones(len(leaves), np.bool_)
        peel(graph, alive, terminals)
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
        m, n = len(self.trees), len(used)
        self.at = incidence(self.graph, np.ones(m, np.bool_))
        self.column = np.full(n, -1)
        self.column[terminals:] = np.arange(m, m + n - terminals)
        self.scale = 2.0 ** -round(float(np.log2(length.mean())))
        self.cost = np.concatenate((self.graph.length * self.scale, np.zeros(n - terminals)))
        self.lower, self.upper = np.zeros(len(self.cost)), np.ones(len(self.cost))
        self.rows = self._first_rows()
        self.duals = np.zeros(len(self.rows.lower))
        self._load()
        self.bound = 0.0
        self.rounds = 0

    def _first_rows(self) -> Inequalities:
        """The spanning equation, degrees, x_F <= y_v at optional nodes, and sets of two nodes."""
        start, nodes = self.graph.start, self.graph.terminals
        m, n, t = len(self.trees), self.graph.n, self.terminals
        columns = [np.arange(m + n - t)]
        values = [np.concatenate((np.diff(start) - 1.0, -np.ones(n - t)))]
        lower, upper = [t - 1.0], [t - 1.0]
        for v in range(n):
            trees = self.at.items[self.at.first[v] : self.at.first[v + 1]]
            own = self.column[v]
            columns.append(trees if own < 0 else np.append(trees, own))
            values.append(np.append(np.ones(len(trees)), [-2.0] if own >= 0 else []))
            lower.append(1.0 if own < 0 else 0.0)
            upper.append(np.inf)
        owner = np.repeat(np.arange(m), np.diff(start))
        for f, v in zip(owner.tolist(), nodes.tolist(), strict=True):
            if self.column[v] >= 0:
                columns.append(np.array([f, self.column[v]]))
                values.append(np.array([1.0, -1.0]))
                lower.append(-np.inf)
                upper.append(0.0)
        for (u, v), sharing in self._shared_pairs().items():
            # The inequality of the set {u, v}, at most y of either.
            free = [int(c) for c in (self.column[u], self.column[v]) if c >= 0]
            for other in free or [-1]:
                columns.append(np.array(sharing if other < 0 else [*sharing, other]))
                values.append(np.append(np.ones(len(sharing)), [] if other < 0 else [-1.0]))
                lower.append(-np.inf)
                upper.append(1.0 if other < 0 else 0.0)
        return Inequalities(
            offsets([len(one) for one in columns]),
            np.concatenate(columns),
            np.concatenate(values),
            np.array(lower),
            np.array(upper),
        )

    def _shared_pairs(self) -> dict[tuple[int, int], list[int]]:
        """Pairs of nodes that several trees share, and these trees."""
        start, nodes = self.graph.start.tolist(), self.graph.terminals.tolist()
        shared: dict[tuple[int, int], list[int]] = {}
        for f in range(len(self.trees)):
            members = sorted(nodes[start[f] : start[f + 1]])
            for pair in itertools.combinations(members, 2):
                shared.setdefault(pair, []).append(f)
        return {pair: trees for pair, trees in shared.items() if len(trees) > 1}

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
        whole = False
        if not len(self.trees):
            self.bound = np.inf
            return self._unfinished()
        while True:
            if not self._solve():
                if self.highs.getModelStatus() == self.status.kInfeasible:
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
            whole = True
            self._demand_whole_numbers()
        picked = self.trees[x > 0.5]
        length = float(self.graph.length[x > 0.5].sum())
        bound = length if whole else min(self.bound / self.scale, length)
        return Choice(picked, length, bound, bound >= length * (1.0 - CLOSE), self.rounds)

    def _demand_whole_numbers(self) -> None:
        columns = np.arange(len(self.cost), dtype=np.int32)
        kinds = np.full(len(columns), int(self.kinds.kInteger), dtype=np.uint8)
        self.highs.changeColsIntegrality(len(columns), columns, kinds)

    def _solve(self) -> bool:
        self.highs.run()
        if self.highs.getModelStatus() != self.status.kOptimal:
            return False
        solution = self.highs.getSolution()
        point = np.array(solution.col_value)
        self.point = np.where(point < TOLERANCE, 0.0, np.where(point > 1 - TOLERANCE, 1.0, point))
        duals = np.array(solution.row_dual)
        if len(duals) == len(self.rows.lower):
            value, _ = safe_bound(self.cost, self.lower, self.upper, self.rows, duals)
            self.bound = max(self.bound, value)
        return True

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
        return count

    def _unfinished(self) -> Choice:
        none = np.empty(0, np.int64)
        return Choice(none, np.inf, self.bound / self.scale, False, self.rounds)
