"""Local probes all over a piece; a large one is probed part by part, in threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ....run.threads import Workers
from ..hypergraph import STRICT, Flags
from .probe_kernels import Probes, begin_probes, grow_parts, probe_everywhere, probe_part
from .subset_kernels import terminal_prices

if TYPE_CHECKING:
    from .concatenation import Level
    from .piece import Job

# Pieces of at least so many parts are probed part by part first. A part has so many terminals:
# many beside those of a region, and few enough for some threads to have one each.
PARTS, PART = 2, 1200
TURNS = 3  # with parts that begin elsewhere
AT_ONCE = 128  # parts between two reports that count
TURN_CLOCK = 1 << 40  # more than there are steps in a turn


def probe_piece(
    job: Job,
    level: Level,
    alive: Flags,
    chosen: Flags,
    threads: int,
    go_on: Callable[[bool], bool],
) -> int:
    """Clear what is in no better tree, flag what all better trees use; how many were decided.

    Nothing stays alive where there is no better tree. ``go_on(True)`` is asked after every call of
    ``level.probes_a_call`` probes, ``go_on(False)`` now and then in between.
    """
    n, graph = job.piece.n, job.piece.graph
    probes = begin_probes(
        graph, job.piece.distances, terminal_prices(graph), job.most * STRICT, alive
    )
    total, at = 0, 0
    if n >= PARTS * PART:
        with Workers(threads) as workers:
            total, more = _probe_parts(probes, level, workers, go_on)
        at = 0 if more else n
    while at < n:
        at, decided = probe_everywhere(
            probes, level.probe_trees, level.probe_partitions, at, level.probes_a_call
        )
        if decided < 0:
            alive[:] = False
            break
        total += int(decided)
        if not go_on(True):
            break
    chosen |= probes.forced
    return total


def _probe_parts(
    probes: Probes, level: Level, workers: Workers, go_on: Callable[[bool], bool]
) -> tuple[int, bool]:
    """Probe inside parts; how many FSTs that decided, and whether there is more to do."""
    size, most = level.probe_trees, level.probe_partitions
    total = 0
    for turn in range(TURNS):
        parts = grow_parts(probes, PART, turn)
        run = partial(probe_part, probes, parts, size, most, turn * TURN_CLOCK)
        count = parts.roots.first.size - 1
        for first in range(0, count, AT_ONCE):
            own = range(first, min(first + AT_ONCE, count))
            found = _each(run, own, workers, go_on)
            going = len(found) == len(own)
            for done, decided in found:
                if decided < 0:
                    probes.alive[:] = False
                    return total, False
                total += int(decided)
                for _ in range(done // level.probes_a_call):
                    going = going and go_on(True)
            if not going:
                return total, False
    probes.closing.clock[0] = TURNS * TURN_CLOCK
    return total, True


def _each(
    run: Callable[[int], Any], items: range, workers: Workers, go_on: Callable[[bool], bool]
) -> list[Any]:
    """Call run for the items in threads; the results in order, all of them if not stopped.

    A call may take long, so even a single thread is one apart.
    """
    chunks = workers.map(
        lambda first, last: [run(k) for k in items[first:last]],
        len(items), 1, lambda *_: go_on(False), heavy=True,
    )  # fmt: skip
    return [result for chunk in chunks for result in chunk]
