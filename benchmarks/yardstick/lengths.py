"""The lengths that gaps of the yardstick are measured from: proven optima of all its instances."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from yardstick.cases import Case, content_hash, sets
from yardstick.rows import BEST, ROUNDING, RowsError, machine, versions
from yardstick.run import COMPILING, Worker, commit_of

# What else is tried: a shorter tree than a proven one would be a wrong proof.
CHECKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("local", {"effort": "best"}),
    ("neural", {"effort": "best", "pieces": "any"}),
)


def lattice_length(n: int) -> float | None:
    """Return the optimum of a square lattice of n points whose side is a power of two.

    Brazil, Cole, Rubinstein, Thomas, Weng and Wormald, "Minimal Steiner trees for 2^k x 2^k square
    lattices", Journal of Combinatorial Theory A 73 (1996): (n - 1) / 3 crosses of four points.
    """
    side = math.isqrt(n)
    return (n - 1) / 3 * (1 + math.sqrt(3)) if side & (side - 1) == 0 else None


def prove(checkout: Path, points: Path, tell: Callable[[str], None]) -> None:
    """Write the length of every instance: proven by `exact`, or known in closed form."""
    worker = Worker(checkout, points)
    found: dict[str, Any] = {}
    try:
        for name, instances in sets().items():
            found[name] = _proven(worker, name, instances)
            tell(f"{name}: {len(instances)} instances, {found[name]['how']}")
    finally:
        worker.close()
    facts = {"commit": commit_of(checkout), "machine": machine(), "versions": versions()}
    BEST.write_text(json.dumps({"provenance": facts, "sets": found}, indent=1) + "\n")


def _proven(worker: Worker, name: str, instances: np.ndarray) -> dict[str, Any]:
    kind, n, count = name.split()[0], instances.shape[1], len(instances)
    known = lattice_length(n) if kind == "lattice" else None
    if known is None:
        answer = worker.ask(Case("exact", "single", kind, n, count), patience=COMPILING)
        if set(answer.get("statuses", ())) != {"optimal"}:
            raise RowsError(f"{name}: not solved to proof ({answer.get('error', 'open')})")
        lengths, how = np.array(answer["lengths"]), "proven by exact"
    else:
        lengths, how = np.full(count, known), "proven in closed form"
    for method, options in CHECKS:
        answer = worker.ask(Case(method, "single", kind, n, count, options), patience=COMPILING)
        if np.any(np.array(answer["lengths"]) < lengths * (1.0 - ROUNDING)):
            raise RowsError(f"{name}: {method} has a shorter tree than the proven one")
    return {"points": content_hash(instances), "how": how, "lengths": lengths.tolist()}
