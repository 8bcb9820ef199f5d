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
    devices = sorted({row.device for row in rows})
    where = [_where([row for row in rows if row.device == one], one) for one in devices]
    return [opening, *where, *verdict]


def _where(rows: Sequence[Row], device: str) -> str:
    name = "On the processor" if device == "cpu" else f"On {device}"
    versions = [", ".join(map(" ".join, row.versions.items())) for row in rows]
    return (
        f"{name}: {_joined(row.machine for row in rows)}; "
        f"deepsteiner {_joined(row.version for row in rows)}; "
        f"commit {_joined(row.commit or 'unknown' for row in rows)}; "
        f"seed {_joined(str(row.seed) for row in rows)}; "
        f"{_joined(versions)}; {_joined(row.date for row in rows)}."
    )


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(sorted(set(texts)))
