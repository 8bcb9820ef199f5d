"""Passes of regions over the part of a crowded list that a tree would regret least.

On lattices and drilled boards a list has so many full Steiner trees that regions of sixty terminals
are too wide to be solved. Most of these trees cost far more than what they replace in a good tree.
Over two to four trees a terminal, those of least regret (`regret_kernels`), regions of twice the
size are narrow. The better the tree, the better the regrets: they are measured for every pass.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ....core.points import IntArray
from ....run.monitor import Monitor, Report
from ....run.threads import Workers
from ....run.watch import Stopped, Watch
from ...trees import FullTrees
from .regions import RegionPass, run_pass
from .windows import Flags

# Trees whose regrets are measured in one uninterrupted call.
SLICE = 4000


def run_thinned_pass(
    listing: FullTrees,
    picked: Flags,
    number: int,
    how: RegionPass,
    workers: Workers,
    report: Report,
    watch: Watch | None = None,
    also: Flags | None = None,
) -> float:
    """Run one pass over the trees that `how.thin` leaves, and `also` these; return what it saved.

    Everything else is as for `run_pass`, which does it where nothing is to be thinned.
    """
    watch = watch or Watch(Monitor(), patient=False)
    if how.thin == 0.0:
        return run_pass(listing, picked, number, how, workers, report, watch)
    length = float(listing.length[picked].sum())
    told = partial(_tell, report, length)
    stays = picked if also is None else picked | also
    try:
        keep = least_regretted(listing, picked, stays, how.thin, workers, told, watch)
        part = watch.wait("list", lambda: listing.part(keep))
    except Stopped:
        return 0.0
    flags = picked[keep]
    saved = run_pass(part, flags, number, replace(how, thin=0.0), workers, report, watch)
    picked[keep] = flags
    return saved


def _tell(report: Report, length: float, phase: str, done: int, total: int) -> bool:
    return report(phase, done, total, length)


def least_regretted(
    listing: FullTrees,
    picked: Flags,
    stays: Flags,
    share: float,
    workers: Workers,
    report: Report,
    watch: Watch,
) -> Flags:
    """Flag `share` trees a terminal: those that stay and, of the others, the least regretted.

    Raises Stopped where `report` or the watch says no.
    """
    from . import regret_kernels as kernels

    graph, m = listing.graph, len(listing)
    links = watch.wait("regrets", lambda: kernels.priced_links(listing.points, graph, picked))
    regret = np.empty(m)

    def measure(first: int, last: int) -> int:
        kernels.measure_regrets(graph, links, regret, first, last)
        return last - first

    if sum(workers.map(measure, m, SLICE, report, "regrets")) < m:
        raise Stopped
    regret[stays] = -np.inf
    count = max(int(share * graph.n), int(stays.sum()))

    def lowest() -> IntArray:
        order: IntArray = np.argsort(regret, kind="stable")[:count]
        return order

    keep = np.zeros(m, dtype=np.bool_)
    keep[watch.wait("regrets", lowest)] = True
    return keep
