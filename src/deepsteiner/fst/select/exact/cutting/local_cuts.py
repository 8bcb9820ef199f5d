"""Local cuts: whatever holds for all forests on a small set of terminals.

Subtour inequalities say that what a tree has within a set S is at most a tree of S. Forests on S
satisfy more than that, and for a small set all of it can be found: x, summed by traces (see
`forest_kernels`), is a mixture of forests or some inequality says that it is not. Which one, a
small linear programme tells, made row by row from the heaviest forests under its own weights. The
idea is Applegate, Bixby, Chvatal and Cook's (2001) for the travelling salesman; Juhl, Warme, Winter
and Zachariasen (2018) report what it does for Steiner trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...hypergraph import Flags, Floats, Hypergraph, Ints, Rows
from .forest_kernels import (
    NOTHING,
    TOO_WIDE,
    Traces,
    collect_traces,
    forest_order,
    grow_set,
    heaviest_forest,
    lift,
)
from .subtour_kernels import Inequalities
from .subtour_lp import OPTIONS, load_highspy

SMALL, LARGE = (6, 24), (14, 40)  # terminals of a set: at first, and where these find nothing
SETS = 60  # looked at in a round
PARTITIONS = 5000  # of a layer of the heaviest forest's programme
ROUNDS = 300  # of the small linear programme
VIOLATED = 1e-4  # by this share of its right side
UNIT = 1e7  # weights are whole numbers of this part of one where forests are priced
DENOMINATORS = 60  # fractions looked for in a cut's coefficients
FINE = 1000.0  # the denominator where they are none of these


class LocalCuts:
    """Looks for local cuts on one list."""

    def __init__(self, graph: Hypergraph, at: Rows) -> None:
        self._graph, self._at = graph, at
        self._random = np.random.default_rng(graph.n)
        self._sizes = SMALL

    def find(self, x: Floats, alive: Flags, go_on: Callable[[], bool]) -> Inequalities | None:
        """Cuts that x violates, None where none was found in small and in larger sets."""
        fractional = (x > 1e-6) & (x < 1.0 - 1e-6)
        if not fractional.any():
            return None
        first, members = self._graph.start, self._graph.terminals
        seeds = np.unique(members[np.repeat(fractional, np.diff(first))])
        for sizes in (SMALL, LARGE) if self._sizes == SMALL else (LARGE, SMALL):
            self._sizes = sizes
            found: dict[bytes, tuple[Ints, Floats, float]] = {}
            for traces in self._sets(x, alive, seeds):
                cut = violated_by(traces)
                if cut is not None:
                    row = as_row(traces, *cut)
                    found[row[0].tobytes() + row[1].tobytes()] = row
                if not go_on():
                    break
            if found:
                return as_rows(list(found.values()))
        return None

    def _sets(self, x: Floats, alive: Flags, seeds: Ints) -> Iterator[Traces]:
        for seed in self._random.permutation(seeds)[:SETS]:
            size = int(self._random.integers(*self._sizes))
            wobble = self._random.uniform(0.95, 1.05, self._graph.n)
            members = grow_set(self._graph, self._at, x, int(seed), size, wobble)
            yield collect_traces(self._at, alive, x, members)


def violated_by(traces: Traces) -> tuple[Floats, float] | None:
    """Weights of traces, whole numbers, whose sum is violated, and what no forest exceeds.

    Forests are closed under leaving something out, so weights are not negative, and the strongest
    violation is that of the weights w with w(F) <= 1 for every forest F that maximise w(x).
    """
    support = np.flatnonzero(traces.value > 1e-7)
    masks, value = traces.masks[support], traces.value[support]
    order, chosen = forest_order(masks), np.zeros(masks.size, np.bool_)
    if masks.size < 3:
        return None
    programme = load_highspy().Highs()
    for name, setting in OPTIONS.items():
        programme.setOptionValue(name, setting)
    programme.addVars(masks.size, np.zeros(masks.size), np.ones(masks.size))
    columns = np.arange(masks.size, dtype=np.int32)
    programme.changeColsCost(masks.size, columns, -value)
    weights = np.ones(masks.size)
    for _ in range(ROUNDS):
        priced = np.round(weights * UNIT)
        heaviest = heaviest_forest(masks, priced, order, UNIT * (1 + 1e-6), PARTITIONS, chosen)
        if heaviest == NOTHING:
            return _in_whole_numbers(traces, support, weights)
        if heaviest == TOO_WIDE:
            return None
        row = columns[chosen]
        programme.addRow(-np.inf, 1.0, row.size, row, np.ones(row.size))
        programme.run()
        weights = np.maximum(np.array(programme.getSolution().col_value), 0.0)
        if weights @ value <= 1.0 + VIOLATED:
            return None
    return None


def _in_whole_numbers(
    traces: Traces, support: Ints, weights: Floats
) -> tuple[Floats, float] | None:
    """The same weights as whole numbers, with those of all other traces.

    What no forest exceeds is then computed anew, without rounding: that makes the cut valid,
    wherever its weights came from.
    """
    for denominator in range(1, DENOMINATORS + 1):
        whole = np.round(weights * denominator)
        if np.abs(whole - weights * denominator).max() < 1e-5:
            break
    else:
        whole = np.floor(weights * FINE + 1e-6)
    masks, chosen = traces.masks[support], np.zeros(support.size, np.bool_)
    most = heaviest_forest(masks, whole, forest_order(masks), -0.5, PARTITIONS, chosen)
    if most <= 0.0 or whole @ traces.value[support] <= most * (1.0 + VIOLATED):
        return None
    rest = np.setdiff1d(np.arange(traces.masks.size), support)
    lifted = np.zeros(traces.masks.size)
    lifted[support] = whole
    lifted[rest] = lift(masks, whole, traces.masks[rest], PARTITIONS)
    return lifted, most


def as_row(traces: Traces, weights: Floats, most: float) -> tuple[Ints, Floats, float]:
    """A cut over FSTs: columns, values and right side."""
    values = weights[traces.which]
    heavy = values > 0.0
    return traces.columns[heavy], values[heavy], most


def as_rows(cuts: list[tuple[Ints, Floats, float]]) -> Inequalities:
    """Some cuts as rows of the linear programme."""
    columns, values, most = zip(*cuts, strict=True)
    start = np.concatenate([[0], np.cumsum([part.size for part in columns])])
    return Inequalities(
        start, np.concatenate(columns), np.concatenate(values),
        np.full(len(cuts), -np.inf), np.array(most),
    )  # fmt: skip
