"""Rows of the subtour relaxation and bounds that do not trust the simplex code."""

from typing import NamedTuple

import numpy as np

from .....core.jit import njit
from ...hypergraph import Floats, Hypergraph, Ints, Rows


class Inequalities(NamedTuple):
    """Rows of a linear programme: lower <= sum of values times columns <= upper.

    start: row r has the entries start[r] to start[r + 1] - 1.
    columns, values: the entries.
    lower, upper: the limits of every row, infinite where there is none.
    """

    start: Ints
    columns: Ints
    values: Floats
    lower: Floats
    upper: Floats


@njit(cache=True)
def subtour_rows(graph: Hypergraph, at: Rows, sets: Rows, count: int) -> Inequalities:
    """Subtour inequalities of the first sets, each in the sparser of its two equivalent forms.

    Warme's (1998) inequality of a set S is sum_F max(0, |F & S| - 1) x_F <= |S| - 1. The second
    form is this one subtracted from sum_F (|F| - 1) x_F = n - 1.
    """
    first, lists = at
    start, m = graph.start, graph.length.size
    within = np.zeros(m, np.int64)
    row_start = np.zeros(count + 1, np.int64)
    capacity = 0  # an FST in a row of the first form has two terminals in the set
    for k in range(sets.first[count]):
        capacity += first[sets.items[k] + 1] - first[sets.items[k]]
    columns, values = np.empty(capacity // 2, np.int64), np.empty(capacity // 2)
    lower, upper = np.full(count, -np.inf), np.full(count, np.inf)
    entry = 0
    for c in range(count):
        members = sets.items[sets.first[c] : sets.first[c + 1]]
        inner = 0
        subsets = 0
        for v in members:
            for j in range(first[v], first[v + 1]):
                f = lists[j]
                within[f] += 1
                if within[f] == 2:
                    inner += 1
                if within[f] == start[f + 1] - start[f]:
                    subsets += 1
        if inner <= m - subsets:
            upper[c] = members.size - 1.0
            for v in members:
                for j in range(first[v], first[v + 1]):
                    f = lists[j]
                    if within[f] > 1:
                        columns[entry] = f
                        values[entry] = within[f] - 1.0
                        entry += 1
                    within[f] = 0
        else:
            lower[c] = graph.n - members.size
            for f in range(m):
                coefficient = start[f + 1] - start[f] - 1 - max(0, within[f] - 1)
                if coefficient > 0:
                    columns[entry] = f
                    values[entry] = coefficient
                    entry += 1
                within[f] = 0
        row_start[c + 1] = entry
    return Inequalities(row_start, columns[:entry], values[:entry], lower, upper)


@njit(cache=True)
def safe_bound(
    cost: Floats, column_lower: Floats, column_upper: Floats, rows: Inequalities, duals: Floats
) -> tuple[float, Floats]:
    """Lagrangean bound and reduced costs of any dual vector, however it was found."""
    reduced = cost.copy()
    bound = 0.0
    for r in range(duals.size):
        y = duals[r]
        limit = rows.lower[r] if y > 0.0 else rows.upper[r]
        if y == 0.0 or np.isinf(limit):
            continue
        bound += y * limit
        for k in range(rows.start[r], rows.start[r + 1]):
            reduced[rows.columns[k]] -= y * rows.values[k]
    for j in range(cost.size):
        bound += reduced[j] * (column_lower[j] if reduced[j] > 0.0 else column_upper[j])
    return bound, reduced
