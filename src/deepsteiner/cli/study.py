"""Several trainings of one configuration: other seeds, other values, and a table of what came out.

OUT/seed-0, OUT/seed-1, ...                      with --seeds
OUT/train.batch=32/seed-0, ...                   with --sweep as well
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import OptionError
from .reports import print_table

if TYPE_CHECKING:
    from ..policy.training.training import Outcome


@dataclass(frozen=True)
class Study:
    """What to vary: a number of seeds, and lists of values as `table.key=one,other`."""

    seeds: int = 1
    sweeps: Sequence[str] = ()

    @property
    def is_single(self) -> bool:
        """Whether there is one training only, whose folder is the study's."""
        return self.seeds == 1 and not self.sweeps

    def variants(self) -> list[list[str]]:
        """Return the overrides of every combination of the swept values.

        >>> Study(1, ["train.batch=32,64", "train.clip=1.0"]).variants()
        [['train.batch=32', 'train.clip=1.0'], ['train.batch=64', 'train.clip=1.0']]
        """
        lists = []
        for text in self.sweeps:
            key, equals, values = text.partition("=")
            if not equals or "." not in key or not all(values.split(",")):
                raise OptionError(f"a sweep has the form table.key=one,other, got {text!r}")
            lists.append([f"{key}={value}" for value in values.split(",")])
        return [list(combination) for combination in itertools.product(*lists)]

    def run(self, out: Path, one: Callable[[Path, list[str]], Outcome]) -> list[dict[str, Any]]:
        """Train everything, one after the other; stop at the first that was interrupted.

        `one` trains in a folder with overrides. Returns, for each variant, the outcomes of its
        seeds.
        """
        rows: list[dict[str, Any]] = []
        for variant in self.variants():
            outcomes: list[Outcome] = []
            rows.append({"variant": variant, "outcomes": outcomes})
            for seed in range(self.seeds):
                folder = out.joinpath(*variant) / f"seed-{seed}"
                outcomes.append(one(folder, [*variant, f"train.seed={seed}"]))
                if outcomes[-1].status == "interrupted":
                    return rows
        return rows


def mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and its standard error, None for a single value.

    >>> mean_and_error([1.0, 3.0])
    (2.0, 1.0)
    """
    mean = sum(values) / len(values)
    if len(values) == 1:
        return mean, None
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, math.sqrt(variance / len(values))


def summary(rows: list[dict[str, Any]], measure: str) -> list[dict[str, Any]]:
    """Return a JSON-able row for each variant: seeds, steps, mean and standard error."""
    found = []
    for row in rows:
        outcomes: list[Outcome] = row["outcomes"]
        values = [one.results[measure] for one in outcomes if measure in one.results]
        mean, error = mean_and_error(values) if values else (None, None)
        facts = {"seeds": len(outcomes), "steps": [one.step for one in outcomes]}
        facts |= {measure: mean, f"{measure}_error": error, "values": values}
        facts["status"] = [one.status for one in outcomes]
        found.append({"variant": row["variant"], **facts})
    return found


def show(found: list[dict[str, Any]], measure: str, unit: str) -> None:
    """Print a table of the variants."""
    lines = []
    for row in found:
        text = "-" if row[measure] is None else f"{row[measure]:.4g}"
        if row[f"{measure}_error"] is not None:
            text += f" ± {row[f'{measure}_error']:.2g}"
        steps = sorted(set(row["steps"]))
        span = f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,}"
        lines.append((" ".join(row["variant"]) or "-", str(row["seeds"]), span, text + unit))
    print_table(("variant", "seeds", "steps", measure.replace("_", " ")), lines)
