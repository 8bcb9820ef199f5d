"""`exact` among obstacles where there is an existing network, too.

The shortest tree that joins the network, obstacles left out, is a lower bound; where it crosses
none, it is the shortest tree. Of the network only what lies outside the obstacles is joined then,
which no tree is hindered by. Where the tree crosses obstacles, the best tree found comes back
beside that bound.
"""

from __future__ import annotations

from dataclasses import replace

from ...core.errors import OptionError
from ...run.method import Run, Tree
from ...run.monitor import Monitor, Progress
from ..around.repair import CLOSE
from ..joining.proof import solve_exact as solve_joining
from .ground import Graph, Ground
from .search import improved, led_around, spanning

SHARE = 0.5
"""The share of a time limit that the proof without obstacles gets."""


def solve_exact(run: Run, has_options: bool) -> Tree:
    """Return the shortest tree where it crosses no obstacle; else a good one, and a bound."""
    if has_options:
        raise OptionError("exact takes no options of its own where there are obstacles")
    ground = Ground.of(run)
    if not run.monitor.report("start"):
        return ground.tree(spanning(ground))
    bare = _without_obstacles(run)
    bound = bare.lower_bound or 0.0
    graph = ground.bare(run.points, bare)
    info = {**bare.info, "crossed": len(ground.plane.crossed(graph.nodes, graph.edges))}
    if info["crossed"]:
        graph = _around(ground, graph, bound)
    optimal = bare.optimal and graph.length <= bound * (1.0 + CLOSE)
    bound = min(bound, graph.length)
    run.monitor.report("done", 1, 1, graph.length, bound)
    if not info["crossed"]:
        return replace(bare, lower_bound=bound, optimal=optimal, info=info)
    if run.trace is not None:
        unit = run.frame.unit
        run.trace.append({"stage": "round", "bound": bound * unit, "length": graph.length * unit})
    return ground.tree(graph, lower_bound=bound, optimal=optimal, info=info)


def _without_obstacles(run: Run) -> Tree:
    """Return the tree that joins the network as if there were no obstacles."""

    def forward(one: Progress) -> bool:
        # Trees without obstacles are no trees here: only the bound is told.
        return run.monitor.report(one.phase, one.done, one.total, None, one.lower_bound)

    limit = None if run.monitor.time_limit is None else SHARE * run.monitor.remaining()
    monitor = Monitor(limit, forward) if run.monitor.is_watched else Monitor()
    return solve_joining(replace(run, plane=None, monitor=monitor), False)


def _around(ground: Ground, bare: Graph, bound: float) -> Graph:
    """Return a good tree around the obstacles."""
    monitor = ground.run.monitor
    best = spanning(ground)
    monitor.known = (best.length, bound)
    if len(ground.plane.home) == 1 and monitor.report("leading edges around"):
        found, _ = led_around(ground, bare, lambda: True)
        best = min(best, found, key=lambda one: one.length)
    best = improved(ground, best, "default")
    monitor.known = (None, None)
    return best
