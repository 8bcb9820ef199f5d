"""What stands above the tables: where the numbers come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..rows import Row
from .results import Results


def preface(results: Results, verdict: Sequence[str] = ()) -> list[str]:
    """Return the paragraphs above the tables."""
    rows = results.all()
    if not rows:
        return ["There are no results yet."]
    opening = f"Results of {len(rows)} measurements."
    if results.recomputed:
        opening = (
            f"{len(results.recomputed)} results were recomputed now; the others are stored ones."
        )
    where = [_where(rows, device) for device in sorted({row.device for row in rows})]
    return [opening, *where, *verdict]


def _where(rows: Iterable[Row], device: str) -> str:
    chosen = [row for row in rows if row.device == device]
    name = "On the processor" if device == "cpu" else f"On {device}"
    parts = [
        f"{name}: {_joined(row.machine for row in chosen)}",
        f"deepsteiner {_joined(row.version for row in chosen)}",
        f"commit {_joined(row.commit or 'unknown' for row in chosen)}",
        f"seed {_joined(str(row.seed) for row in chosen)}",
        _joined(_versions(row) for row in chosen),
        _joined(row.date for row in chosen),
    ]
    return "; ".join(parts) + "."


def _versions(row: Row) -> str:
    return ", ".join(f"{name} {number}" for name, number in row.versions.items())


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(sorted(texts)))
