"""Result rows to choose from: stored ones, a user's own, and those just recomputed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from ..models import shipped_policies
from ..rows import Row, newest
from ..specs import method_spec


class Results:
    """Rows by what they measured; recomputed ones win, then later files, then larger counts."""

    def __init__(self, rows: Iterable[Row], recomputed: Iterable[Row] = ()) -> None:
        self.stored = [row for row in newest(rows) if not _is_outdated(row)]
        self.recomputed = newest(recomputed)
        self._fresh = {id(row) for row in self.recomputed}
        self._index: dict[tuple[str, str, str], list[Row]] = {}
        for row in (*self.stored, *self.recomputed):
            self._index.setdefault(_place(row.dataset, row.method, row.options), []).append(row)

    def is_recomputed(self, row: Row) -> bool:
        """Return whether a row was made just now."""
        return id(row) in self._fresh

    def gap(self, dataset: str, method: str, options: Mapping[str, Any]) -> Row | None:
        """Return the row whose gap a table shows."""
        return self._best(self._rows(dataset, method, options))

    def stored_gap(self, row: Row) -> Row | None:
        """Return the stored row that a recomputed one repeats."""
        rows = self._index[_place(row.dataset, row.method, row.options)]
        return self._best([other for other in rows if not self.is_recomputed(other)])

    def timing(
        self, dataset: str, method: str, options: Mapping[str, Any], *, cpu: bool
    ) -> Row | None:
        """Return the stored row whose times on the processor, or an accelerator, a table shows.

        Recomputed rows are short and share the machine with their reader: they show no times
        where a stored row does.
        """
        rows = [r for r in self._rows(dataset, method, options) if (r.device == "cpu") == cpu]
        stored = [row for row in rows if not self.is_recomputed(row)]
        return self._best(stored or rows)

    def models(self) -> list[Row]:
        """Return one row of every trained model that was measured, by name."""
        found = {row.options["model"]: row for row in self.all() if row.options.get("model")}
        return [found[name] for name in sorted(found)]

    def all(self) -> list[Row]:
        """Return every row."""
        return [*self.stored, *self.recomputed]

    def _rows(self, dataset: str, method: str, options: Mapping[str, Any]) -> list[Row]:
        spec = method_spec(method, options)
        return self._index.get(_place(dataset, method, spec.options), [])

    def _best(self, rows: list[Row]) -> Row | None:
        if not rows:
            return None
        order = {id(row): place for place, row in enumerate(rows)}
        return max(rows, key=lambda row: (self.is_recomputed(row), row.count, order[id(row)]))


def _is_outdated(row: Row) -> bool:
    """Return whether a row was made with other weights than the package's model now has."""
    known, now = row.model.get("weights"), _shipped_weights().get(row.options.get("model", ""))
    return known is not None and now is not None and known != now


@cache
def _shipped_weights() -> dict[str, str | None]:
    return {model.name: model.facts.get("weights") for model in shipped_policies()}


def _place(dataset: str, method: str, options: Mapping[str, Any]) -> tuple[str, str, str]:
    return dataset, method, json.dumps(dict(options), sort_keys=True)
