"""The paper's recipe as printed: what its trainings came to, from stored rows.

`python -m benchmarks.reproduction.report --store` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from .rows import STORED

PATH = STORED / "printed-recipe.json"
READINGS = ("stopped", "kept")
"""The tree before the first point that lengthens it, or with that point: see Algorithm 1."""


@dataclass(frozen=True)
class Training:
    """One training: its plan, how far it came, and the gaps of its 16-bit weights.

    `gaps` has [mean, standard error, instances] in percent by set and reading, such as
    "d1_stopped"; "authors" is the authors' own file of D1. `curve` has [epoch, gap] on validation
    instances, and `kept_epoch` is the last one whose policy passed the t-test.
    """

    name: str
    kind: str
    data: str
    criterion: str
    seed: int
    precision: str
    products: str | None
    epochs: float
    planned: int
    instances: int
    kept_epoch: int | None
    minutes: float
    device: str
    commit: str | None
    torch: str
    weights: str
    curve: list[tuple[int, float]]
    gaps: dict[str, tuple[float, float, int]]

    @property
    def finished(self) -> bool:
        """Whether it has seen all its epochs."""
        return self.epochs >= self.planned


@cache
def stored_trainings() -> tuple[Training, ...]:
    """Return all trainings that are stored."""
    return tuple(Training(**row) for row in json.loads(PATH.read_text(encoding="utf-8")))


def cell(trainings: Iterable[Training], kind: str, data: str) -> list[Training]:
    """Return the trainings of one cell of Table 1: First-selection, one for each seed."""
    wanted = (kind, data.lower(), "first-selection", 100)
    return [one for one in trainings if (one.kind, one.data, one.criterion, one.planned) == wanted]


def at_equal_budgets(trainings: Iterable[Training], criterion: str) -> list[Training]:
    """Return the trainings of MST on D1 with 0.2 million instances under a criterion."""
    return [one for one in trainings if (one.criterion, one.planned) == (criterion, 20)]


def over_seeds(trainings: Iterable[Training], key: str) -> tuple[float, float, int] | None:
    """Return the mean gap, its error and the instances; None where nothing was measured.

    The error is that of the mean over seeds, or over the instances of a single one.
    """
    found = [one.gaps[key] for one in trainings if key in one.gaps]
    if not found:
        return None
    means = np.array([mean for mean, _, _ in found])
    error = found[0][1] if len(means) == 1 else means.std(ddof=1) / np.sqrt(len(means))
    return float(means.mean()), float(error), min(count for _, _, count in found)


def effort(trainings: list[Training]) -> str:
    """Return seeds and epochs, such as '3: 100', or '1: 16/100' where they are not finished."""
    if not trainings:
        return ""
    least, planned = min(one.epochs for one in trainings), trainings[0].planned
    done = "" if all(one.finished for one in trainings) else f"{least:.0f}/"
    return f"{len(trainings)}: {done}{planned}"


def verdict(ours: float, paper: float) -> str:
    """Return how far a gap is from the paper's.

    >>> verdict(1.838, 1.39), verdict(3.132, 3.16)
    ('0.45 higher', '0.03 lower')
    """
    return f"{abs(ours - paper):.2f} {'higher' if ours > paper else 'lower'}"
