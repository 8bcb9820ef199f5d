"""`exact` among obstacles where there is an existing network, too.

The shortest tree that joins the network, obstacles left out, is a lower bound; where it crosses
none, it is the shortest tree. Of the network only what lies outside the obstacles is joined then,
which no tree is hindered by. Obstacles that it crosses come into play, and the shortest tree around
these is the next bound, until one crosses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...core.errors import OptionError
from ...core.proofs import is_contradicted, report_contradiction
from ...run.method import Run, Tree
from ...run.monitor import Monitor, Progress
from ...run.watch import Stopped, waited
from ..around.repair import CLOSE
from ..joining.case import looks_at_all_pairs, total
from ..joining.case import spanning as spanned_bare
from ..joining.proof import first_bound
from ..joining.proof import solve_exact as solve_joining
from .ground import Graph, Ground
from .rounds import Field, field_of, nodes_and_lengths, union
from .search import improved, led_around, settled, spanning

SHARE = 0.3
"""Share of a time limit in which a good tree is looked for before the proof begins."""
MOST_CORNERS = 500
"""Corners in play up to which `local` tries a proof."""


def solve_exact(run: Run, has_options: bool) -> Tree:
    """Return the shortest tree, proven, or as far as the limits allow."""
    if has_options:
        raise OptionError("exact takes no options of its own where there are obstacles")
    ground = Ground.of(run)
    best = spanning(ground)
    if ground.case.mandatory < 2:
        run.monitor.report("done", 1, 1, 0.0, 0.0)
        return ground.tree(best, lower_bound=0.0, optimal=True)
    run.monitor.known = (best.length, None)
    proof = Proof(ground, best)
    try:
        return proof.go()
    finally:
        run.monitor.known = (None, None)


@dataclass
class Proof:
    """The rounds of a proof: the best tree, the best bound, the obstacles in play."""

    ground: Ground
    best: Graph
    bound: float = 0.0
    active: set[int] = field(default_factory=set)
    rounds: list[dict[str, Any]] = field(default_factory=list)
    improve: bool = True
    most_corners: float = np.inf

    def run(self) -> bool:
        """Go through the rounds; whether the best tree is proven in the end."""
        optimal = self._go_on("start") and self._first_round()
        while not optimal and self._go_on("obstacles in play", len(self.active)):
            before = len(self.active)
            outcome = self._round()
            if outcome is None or (not outcome and len(self.active) == before):
                break
            optimal = outcome
        return optimal

    def go(self) -> Tree:
        """Prove the best tree, or find a shorter one; stop where a limit says so."""
        optimal = self.run()
        run = self.ground.run
        info: dict[str, Any] = {}
        if is_contradicted(self.bound, self.best.length):
            unit = run.frame.unit
            info["contradiction"] = report_contradiction(
                "exact", run.frame.back(run.points), self.bound * unit, self.best.length * unit
            )
            return self.ground.tree(self.best, info=info)
        bound = min(self.bound, self.best.length) or None
        run.monitor.report("done", 1, 1, self.best.length, bound)
        if run.trace is not None:
            unit = run.frame.unit
            for one in self.rounds:
                lengths = {"bound": one["bound"] * unit, "length": one["length"] * unit}
                run.trace.append({"stage": "round", **one, **lengths})
        info = {
            "rounds": len(self.rounds),
            "active_obstacles": len(self.active),
            "active_corners": max((one["corners"] for one in self.rounds), default=0),
        }
        return self.ground.tree(self.best, lower_bound=bound, optimal=optimal, info=info)

    def _go_on(self, phase: str, done: int = 0, total: int = 0, bound: float = 0.0) -> bool:
        bound = min(max(self.bound, bound), self.best.length)
        return self.ground.run.monitor.report(phase, done, total, self.best.length, bound)

    def _first_round(self) -> bool:
        """Solve as if there were no obstacles."""
        run = self.ground.run
        monitor = run.monitor
        if looks_at_all_pairs(self.ground.case):
            self.bound = first_bound(self.ground.case, total(spanned_bare(self.ground.case)))
        if self.improve and monitor.time_limit is not None:  # the proof may not be finished
            self._improve(SHARE * monitor.remaining())

        def forward(one: Progress) -> bool:
            # Trees without obstacles are no trees here: only the bound is told.
            bound = min(one.lower_bound or 0.0, self.best.length)
            return monitor.report(one.phase, one.done, one.total, self.best.length, bound)

        limit = None if monitor.time_limit is None else monitor.remaining()
        inner = Monitor(limit, forward) if monitor.is_watched else Monitor()
        tree = solve_joining(replace(run, plane=None, monitor=inner, trace=None), False)
        self.bound = max(self.bound, tree.lower_bound or 0.0)
        if not tree.optimal:
            return False
        return self._offer(self.ground.bare(run.points, tree), 0, 0)

    def _offer(self, found: Graph, corners: int, trees: int) -> bool:
        """Take the shortest tree of a round; whether it proves the best one."""
        ground = self.ground
        crossed = ground.plane.crossed(found.nodes, found.edges)
        if not crossed:
            self._take(ground.tidied(found))
        elif found.length < self.best.length and len(ground.plane.home) == 1:
            try:
                around, _ = led_around(ground, found, lambda: self._go_on("leading edges around"))
                self._take(settled(ground, around, lambda: self._go_on("settling")))
            except Stopped:
                pass
        record = {"corners": corners, "trees": trees, "bound": self.bound}
        self.rounds.append({**record, "length": self.best.length, "crossed": len(crossed)})
        self.active |= set(crossed)
        return self.bound >= self.best.length * (1.0 - CLOSE)

    def _improve(self, seconds: float) -> None:
        """Look for a shorter tree, for some seconds at most."""
        run = self.ground.run

        def forward(one: Progress) -> bool:
            return run.monitor.report(one.phase, one.done, one.total, one.length, self.bound)

        limit = None if seconds == np.inf else seconds
        inner = Monitor(limit, forward) if run.monitor.is_watched else Monitor()
        part = Ground(replace(run, monitor=inner, trace=None), self.ground.case)
        self.best = improved(part, self.best, "fast")

    def _take(self, found: Graph) -> None:
        if found.length < self.best.length:
            self.best = found

    def _round(self) -> bool | None:
        """Solve with the obstacles in play; whether that is a proof, None where it is cut short."""
        from ...fst.enumerate.corners.segments import generate_with_segments
        from ...fst.select.optional.concatenation import concatenate

        monitor = self.ground.run.monitor
        if self.improve and len(self.rounds) <= 1 and monitor.time_limit is None:
            self._improve(np.inf)
        if len(self.ground.plane.corners.of(self.active).places) > self.most_corners:
            return None
        try:
            area = self._field()
        except Stopped:
            return None
        trees = generate_with_segments(area.ground, area.seen, self._go_on)
        if not trees.complete:
            return None
        nodes, length = nodes_and_lengths(area, trees)
        choice = concatenate(
            nodes, length, area.count, self.ground.case.mandatory, self._go_on,
            ceiling=self.best.length,
        )  # fmt: skip
        self.bound = max(self.bound, min(choice.lower_bound, self.best.length))
        if monitor.stop_reason is not None:
            return None
        if not len(choice.picked):
            # Nothing is shorter than the best tree, or else the programme failed.
            return True if self.bound >= self.best.length * (1.0 - CLOSE) else None
        corners = area.count - self.ground.case.count
        return self._offer(union(self.ground, area, trees, choice.picked), corners, len(nodes))

    def _field(self) -> Field:
        ground, active = self.ground, set(self.active)
        if not ground.run.monitor.is_watched:
            return field_of(ground, active)
        return waited(lambda: field_of(ground, active), lambda: self._go_on("what sees what"))


def with_some_proof(ground: Ground, best: Graph, steps: int) -> tuple[Graph, bool]:
    """Return the best tree of so many steps of a proof, and whether it is the shortest."""
    monitor = ground.run.monitor
    left = [steps]

    def forward(one: Progress) -> bool:
        left[0] -= 1
        return left[0] > 0 and monitor.report(one.phase, one.done, one.total, one.length)

    limit = None if monitor.time_limit is None else monitor.remaining()
    inner = replace(ground.run, monitor=Monitor(limit, forward), trace=None)
    proof = Proof(Ground(inner, ground.case), best, improve=False, most_corners=MOST_CORNERS)
    done = proof.run()
    return proof.best, done
