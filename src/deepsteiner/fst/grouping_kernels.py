"""Numbers grouped by a key: a counting sort into compressed rows."""

from __future__ import annotations

import numpy as np

from ..core.jit import njit
from .select.hypergraph import Ints, Rows


@njit(cache=True)
def grouped(keys: Ints, count: int) -> Rows:
    """Indices by key, 0 to count - 1, each group in order; negative keys are left out."""
    first = np.zeros(count + 1, np.int64)
    for i in range(keys.size):
        if keys[i] >= 0:
            first[keys[i] + 1] += 1
    for k in range(count):
        first[k + 1] += first[k]
    fill = first[:count].copy()
    items = np.empty(first[count], np.int64)
    for i in range(keys.size):
        if keys[i] >= 0:
            items[fill[keys[i]]] = i
            fill[keys[i]] += 1
    return Rows(first, items)
