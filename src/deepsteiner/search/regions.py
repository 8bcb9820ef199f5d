"""Passes of regions over a large instance; see `region_kernels`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .listing import Listing
from .windows import cells_of

# Terminals in the regions that are solved together, between two reports.
TOGETHER = 4000


@dataclass(frozen=True)
class RegionPass:
    """One round of regions of about `size` terminals; `work` and `widest` limit each."""

    size: int
    work: float = 1e5
    widest: int = 20_000


def run_pass(
    listing: Listing,
    picked: Any,
    number: int,
    how: RegionPass,
    on_saving: Callable[[str, int, int, float], bool],
) -> float:
    """Solve the regions of one pass, one after the other; return what they saved.

    `on_saving(phase, done, total, saved)` hears what was saved since it was last called.
    """
    from .region_kernels import solve_regions
    from .window_kernels import by_first_terminal

    n = len(listing.points)
    own = by_first_terminal(n, listing.start, listing.terminals)
    cell = cells_of(listing.points, how.size, number)
    order = np.argsort(cell, kind="stable")
    bounds = np.flatnonzero(np.diff(cell[order])) + 1
    bounds = np.concatenate(([0], bounds, [n]))
    regions = len(bounds) - 1
    # What lies beyond the regions solved together is looked at once for each such group.
    step = max(1, min(int(np.sqrt(regions)), TOGETHER // how.size))
    scratch = [np.full(n, -1, dtype=np.int64) for _ in range(3)]
    trees = [listing.start, listing.terminals, listing.length, picked, *own]
    total = 0.0
    for first in range(0, regions, step):
        some = bounds[first : first + step + 1]
        members = order[some[0] : some[-1]]
        given = [*trees, members, some - some[0], how.work, how.widest, *scratch]
        saved = float(solve_regions(*given))
        total += saved
        done = min(first + step, regions)
        if not on_saving(f"regions, pass {number + 1}", done, regions, saved):
            break
    return total
