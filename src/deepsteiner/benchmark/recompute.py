"""Recompute on a few instances what a laptop can, and compare it with the stored results."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..batch import solve_many
from .models import shipped_policies
from .rows import Row
from .runner import Bench, Task
from .tables.plans import LARGER, only, paper_plan
from .tables.results import Results

COUNT = 200
# A slow row is made of fewer instances, so that it takes about this many seconds.
ALLOWANCE = 15.0
LADDER = (100, 50, 20, 10)
TRIAL = 4
STANDARD_ERRORS = 3.0
# Plain Algorithm 1 and refined; the other uses of a model cost many times as much.
COSTLY = ("augment=True", "decode=sample")
# The groups of the plan that the tables are made of.
GROUPS = {"1": "table1", "2": "table2", "3": "table3", "4": "study", "5": "study", "6": "sizes"}


@dataclass(frozen=True)
class Agreement:
    """A recomputed row beside the stored one: how far apart they are, and may be."""

    row: Row
    stored: Row
    difference: float
    allowed: float

    @property
    def agrees(self) -> bool:
        """Whether the two means are within three standard errors of their difference."""
        return abs(self.difference) <= self.allowed


def quick_tasks(count: int = COUNT, tables: Sequence[str] = ()) -> list[Task]:
    """Return what is recomputed: the rows without training, and the distilled models at home.

    `tables` limits them to the rows of those tables.
    """
    distilled = [model for model in shipped_policies() if model.is_distilled]
    tasks = only(paper_plan(models=distilled), ["classical", "learned table1"])
    groups = {GROUPS.get(number) for number in tables}
    return [
        replace(task, count=min(count, LARGER.get(task.dataset.n or 0, COUNT)), single=0)
        for task in tasks
        if not (task.method.name == "policy" and any(word in task.method.text for word in COSTLY))
        and (not tables or groups & set(task.group.split()))
    ]


def recompute(
    tasks: Iterable[Task],
    bench: Bench,
    *,
    minutes: float,
    on_row: Callable[[Task, Row | None], None] = lambda task, row: None,
) -> list[Row]:
    """Make the rows until the time is up; what is not reached stays as it is stored."""
    deadline = time.monotonic() + 60.0 * minutes
    rows = []
    for task in tasks:
        row = None
        if time.monotonic() < deadline:
            row = bench.measure(affordable(task, bench))
            rows.append(row)
        on_row(task, row)
    return rows


def affordable(task: Task, bench: Bench) -> Task:
    """Return the task with fewer instances where the learned method is slow."""
    if task.method.name != "policy" or task.count is None:
        return task
    points = task.dataset.load(min(TRIAL, task.count), bench.seed).points
    call = bench.call(task)
    solve_many(points, **call)  # loading the model, which is done once, is not timed
    each = solve_many(points, **call).runtime / len(points)
    steps = (number for number in (task.count, *LADDER) if each * number <= ALLOWANCE)
    return replace(task, count=min(task.count, next(steps, LADDER[-1])))


def compare(results: Results) -> list[Agreement]:
    """Compare every recomputed row with the stored one of the same method and dataset.

    The error of the recomputed mean is taken from its own spread or from the stored one's,
    whichever is larger: few instances often miss the rare bad ones.
    """
    found = []
    for row in results.recomputed:
        stored = results.stored_gap(row)
        if stored is not None:
            own = max(row.gap_stderr, stored.gap_std / math.sqrt(row.count))
            allowed = STANDARD_ERRORS * math.hypot(own, stored.gap_stderr)
            difference = row.gap_mean - stored.gap_mean
            found.append(Agreement(row, stored, difference, allowed + 1e-9))
    return found


def verdict(agreements: Sequence[Agreement]) -> list[str]:
    """Return the comparison in sentences: how many agree, and each one that does not."""
    if not agreements:
        return ["No recomputed result has a stored one to compare with."]
    wrong = [one for one in agreements if not one.agrees]
    count = len(agreements)
    lines = [
        f"{count - len(wrong)} of {count} recomputed results agree with the stored ones within "
        f"three standard errors."
    ]
    lines += [
        f"Differs: {one.row.dataset} {one.row.method} {one.row.options or ''}: recomputed "
        f"{one.row.gap_mean:.4g} % on {one.row.count:,}, stored {one.stored.gap_mean:.4g} % on "
        f"{one.stored.count:,}; {abs(one.difference):.2g} apart, {one.allowed:.2g} allowed."
        for one in wrong
    ]
    return lines
