"""A first choice from a list: greedily by what each full Steiner tree saves.

M. Zachariasen and P. Winter, "Concatenation-based greedy heuristics for the Euclidean Steiner tree
problem", Algorithmica 25 (1999) 418-437, doi:10.1007/PL00009287.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ....core.points import FloatArray
from ....run.monitor import Monitor, Report
from ....run.threads import Workers
from ....run.watch import Stopped, Watch
from ...trees import FullTrees
from .windows import Flags

ROUNDS = 4


def first_choice(
    trees: FullTrees,
    workers: Workers,
    report: Report,
    watch: Watch | None = None,
    likely: FloatArray | None = None,
) -> Flags:
    """Pick trees greedily by what each saves, times how `likely` it is where that is known.

    `report` and the watch hear of it. Where the watch stops it, the choice of the last round that
    was finished is returned, and before the first the spanning tree.
    """
    from . import greedy_kernels as kernels

    wait = (watch or Watch(Monitor(), patient=False)).wait
    graph = trees.graph
    saving = np.zeros(len(trees))
    picked = np.arange(len(trees)) < graph.n - 1
    trial = np.zeros(len(trees), dtype=np.bool_)  # a call nobody waits for may still write to it
    try:
        for _ in range(ROUNDS):
            merges = wait("greedy", lambda: kernels.complete(graph, trial))
            picked = trial.copy()

            def measure(first: int, last: int, merges: Any = merges) -> None:
                kernels.measure(graph, trial, merges, saving, first, last)
                if likely is not None:
                    saving[first:last] *= likely[first:last]

            workers.map(measure, len(trees), 4000, report, "greedy")
            take = partial(kernels.take, graph, trial, merges, saving)
            if wait("greedy", take) == 0:
                break
        wait("greedy", lambda: kernels.complete(graph, trial))
    except Stopped:
        return picked
    return trial
