"""Rows of the subtour relaxation and bounds that do not trust the simplex code."""

import numpy as np
from numba import njit

from .prune_kernels import Floats, Ints


@njit(cache=True)
def subtour_rows(
    n: int,
    start: Ints,
    first: Ints,
    lists: Ints,
    sets: Ints,
    bounds: Ints,
    count: int,
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Rows of the subtour inequalities of sets, each in the sparser of its two equivalent forms.

    The second form is the first subtracted from sum_F (|F| - 1) x_F = n - 1. Returns CSR offsets,
    columns, coefficients and the lower and upper limits.
    """
    m = start.size - 1
    within = np.zeros(m, np.int64)
    row_start = np.zeros(count + 1, np.int64)
    capacity = 1024
    columns = np.empty(capacity, np.int64)
    values = np.empty(capacity)
    lower = np.full(count, -np.inf)
    upper = np.full(count, np.inf)
    at = 0
    for c in range(count):
        size = bounds[c + 1] - bounds[c]
        inner = 0
        subsets = 0
        for k in range(bounds[c], bounds[c + 1]):
            v = sets[k]
            for j in range(first[v], first[v + 1]):
                f = lists[j]
                within[f] += 1
                if within[f] == 2:
                    inner += 1
                if within[f] == start[f + 1] - start[f]:
                    subsets += 1
        need = min(inner, m - subsets)
        if at + need > capacity:
            capacity = 2 * (at + need)
            grown = np.empty(capacity, np.int64)
            widened = np.empty(capacity)
            for k in range(at):  # slice assignments would compile a string formatter
                grown[k], widened[k] = columns[k], values[k]
            columns = grown
            values = widened
        if inner <= m - subsets:
            upper[c] = size - 1.0
            for k in range(bounds[c], bounds[c + 1]):
                v = sets[k]
                for j in range(first[v], first[v + 1]):
                    f = lists[j]
                    if within[f] > 1:
                        columns[at] = f
                        values[at] = within[f] - 1.0
                        at += 1
                    within[f] = 0
        else:
            lower[c] = n - size
            for f in range(m):
                coefficient = start[f + 1] - start[f] - 1 - max(0, within[f] - 1)
                if coefficient > 0:
                    columns[at] = f
                    values[at] = coefficient
                    at += 1
                within[f] = 0
        row_start[c + 1] = at
    return row_start, columns[:at], values[:at], lower, upper


@njit(cache=True)
def safe_bound(
    cost: Floats,
    column_lower: Floats,
    column_upper: Floats,
    row_start: Ints,
    columns: Ints,
    values: Floats,
    lower: Floats,
    upper: Floats,
    duals: Floats,
) -> tuple[float, Floats]:
    """Lagrangean bound and reduced costs of any dual vector, however it was found."""
    reduced = cost.copy()
    bound = 0.0
    for r in range(duals.size):
        y = duals[r]
        if (y > 0.0 and lower[r] == -np.inf) or (y < 0.0 and upper[r] == np.inf) or y == 0.0:
            continue
        bound += y * (lower[r] if y > 0.0 else upper[r])
        for k in range(row_start[r], row_start[r + 1]):
            reduced[columns[k]] -= y * values[k]
    for j in range(cost.size):
        bound += reduced[j] * (column_lower[j] if reduced[j] > 0.0 else column_upper[j])
    return bound, reduced
