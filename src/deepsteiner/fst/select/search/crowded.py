"""Crowded lists, full of ties as on lattices and drilled boards: many passes of small regions.

Regions get stuck where trees far apart would have to change together. So the passes are run from
several first choices. What these have in common is most of each tree; over the trees that any of
them has picked, regions are narrow, and the best of each comes together. Tours are merged alike:
W. Cook and P. Seymour, "Tour merging via branch-decomposition", INFORMS Journal on Computing 15
(2003) 233-248.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ....geometry.relaxation import refine
from ....run.monitor import Report
from ....run.threads import Workers
from ....run.watch import Watch
from ...trees import FullTrees
from .greedy import first_choice
from .regions import RegionPass
from .thinning import run_thinned_pass
from .windows import Flags

# Points up to which the trees that relaxation makes of a choice go into the list: it takes long.
RELAXED = 5000
# How differently trees are weighed for a further first choice.
LEAST_LIKELY = 0.5


@dataclass(frozen=True)
class Crowded:
    """The passes from each of some `starts`, and those over what they have `merged`."""

    passes: tuple[RegionPass, ...] = ()
    starts: int = 1
    merged: tuple[RegionPass, ...] = ()

    def within(self, most: int) -> Crowded:
        """Return the same with regions of at most so many terminals."""
        passes, merged = (
            tuple(replace(one, size=min(one.size, most)) for one in some)
            for some in (self.passes, self.merged)
        )
        return Crowded(passes, self.starts, merged)


NOTHING = Crowded()


class CrowdedSearch:
    """A list, the best choice from it so far, and the passes that improve it.

    `report(phase, done, total, length)` hears of the best length; `record(step, saved)` of what a
    pass or a start has saved.
    """

    def __init__(
        self,
        trees: FullTrees,
        picked: Flags,
        workers: Workers,
        report: Report,
        record: Callable[[str, float], None],
        watch: Watch,
    ) -> None:
        self.trees = trees
        self.picked = picked
        self.workers = workers
        self.watch = watch
        self.passes = 0
        self._report = report
        self._record = record
        self._length = float(trees.length[picked].sum())
        self._going = True

    def run(self, plan: Crowded) -> None:
        """Improve the choice as the plan says, until told to stop."""
        choices = [self.picked.copy()]
        self._improve(choices[0], plan.passes, 0)
        for start in range(1, plan.starts):
            if not self._going:
                return
            choices.append(self._first_choice(start))
            self._improve(choices[start], plan.passes, start * len(plan.passes) // 2)
        if self._going and plan.merged:
            if len(self.trees.points) <= RELAXED:
                choices = self._with_relaxed(choices)
            lengths = [self.trees.length[one].sum() for one in choices]
            best = choices[int(np.argmin(lengths))].copy()
            self._keep(best)
            self._improve(best, plan.merged, 1, np.any(choices, axis=0))

    def _first_choice(self, start: int) -> Flags:
        """Return another first choice: of all trees, then of trees that are weighed at random."""
        likely = None
        if start > 1:
            likely = np.random.default_rng(start).uniform(LEAST_LIKELY, 1.0, len(self.trees))
        return first_choice(self.trees, self.workers, self._tell, self.watch, likely)

    def _improve(
        self,
        picked: Flags,
        passes: tuple[RegionPass, ...],
        number: int,
        also: Flags | None = None,
    ) -> None:
        """Run passes, of which the first has this number; keep what is shorter than the best."""
        for k, how in enumerate(passes):
            if not self._going:
                return
            given = (self.trees, picked, number + k, how, self.workers, self._shorter, self.watch)
            run_thinned_pass(*given, also)
            self._keep(picked)
            self.passes += self._going

    def _keep(self, picked: Flags) -> None:
        length = float(self.trees.length[picked].sum())
        if len(picked) > len(self.picked) or length < self._length:
            saved, self._length = self._length - length, length
            self.picked = picked.copy()
            self._record(f"pass {self.passes + 1}", saved)

    def _shorter(self, phase: str, done: int, total: int, length: float) -> bool:
        return self._tell(phase, done, total, length)

    def _tell(self, phase: str, done: int, total: int, length: float = np.inf) -> bool:
        self._going = self._report(phase, done, total, min(self._length, length))
        return self._going

    def _with_relaxed(self, choices: list[Flags]) -> list[Flags]:
        """Put what relaxation makes of the choices into the list, and into them."""
        relaxed = []
        for picked in choices:
            self.trees, numbers = self.trees.including(
                *refine(self.trees.points, *self.trees.union(_padded(picked, len(self.trees))))
            )
            relaxed.append(np.isin(np.arange(len(self.trees)), numbers))
        return [_padded(picked, len(self.trees)) for picked in relaxed]


def _padded(picked: Flags, count: int) -> Flags:
    """Return flags of a longer list, of which nothing new is picked."""
    return np.concatenate((picked, np.zeros(count - len(picked), dtype=np.bool_)))
