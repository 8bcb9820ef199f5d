"""Result rows to choose from: stored ones, a user's own, and those just recomputed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from ... import datasets
from ..models import shipped_policies
from ..rows import Row, newest
from ..specs import parse_method


class Results:
    """Rows by what they measured; recomputed ones win, then larger counts, then later files.

    A method is written as on the command line. `{home}` in the name of its model stands for the
    dataset, so that each set has the model that was trained on it; sets without one have D1's.
    """

    def __init__(self, rows: Iterable[Row], recomputed: Iterable[Row] = ()) -> None:
        self.stored = [row for row in newest(rows) if not _is_outdated(row)]
        self.recomputed = newest(recomputed)
        self._fresh = {id(row) for row in self.recomputed}
        self._index: dict[tuple[str, str, str], list[Row]] = {}
        for row in self.all():
            self._index.setdefault(_place(row.dataset, row.method, row.options), []).append(row)

    def all(self) -> list[Row]:
        """Return every row."""
        return [*self.stored, *self.recomputed]

    def is_recomputed(self, row: Row) -> bool:
        """Return whether a row was made just now."""
        return id(row) in self._fresh

    def gap(self, dataset: str, method: str) -> Row | None:
        """Return the row whose gap a table shows."""
        return self._best(self._rows(dataset, method))

    def stored_gap(self, row: Row) -> Row | None:
        """Return the stored row that a recomputed one repeats."""
        rows = self._index[_place(row.dataset, row.method, row.options)]
        return self._best([other for other in rows if not self.is_recomputed(other)])

    def timing(self, dataset: str, method: str, *, cpu: bool = True) -> Row | None:
        """Return the row whose times on the processor, or on an accelerator, a table shows.

        Recomputed rows are short and share the machine with their reader, so that stored times
        are shown where there are any.
        """
        rows = [row for row in self._rows(dataset, method) if (row.device == "cpu") == cpu]
        return self._best([row for row in rows if not self.is_recomputed(row)] or rows)

    def models(self) -> list[Row]:
        """Return one row of every trained model that was measured, by name."""
        found = {row.options["model"]: row for row in self.all() if row.options.get("model")}
        return [found[name] for name in sorted(found)]

    def _rows(self, dataset: str, method: str) -> list[Row]:
        home = dataset if dataset in datasets.PAPER else "D1"
        spec = parse_method(method.replace("{home}", home.lower()))
        return self._index.get(_place(dataset, spec.name, spec.options), [])

    def _best(self, rows: list[Row]) -> Row | None:
        # Reversed, since `max` keeps the first of equals.
        return max(rows[::-1], key=lambda row: (self.is_recomputed(row), row.count), default=None)


def _is_outdated(row: Row) -> bool:
    """Return whether a row was made with weights that the package's model no longer has."""
    known, now = row.model.get("weights"), _shipped_weights().get(row.options.get("model", ""))
    return known is not None and now is not None and known != now


@cache
def _shipped_weights() -> dict[str, str | None]:
    return {model.name: model.facts.get("weights") for model in shipped_policies()}


def _place(dataset: str, method: str, options: Mapping[str, Any]) -> tuple[str, str, str]:
    return dataset, method, json.dumps(dict(options), sort_keys=True)
