"""The checks that `deepsteiner verify` makes, one by one, on the fields of a tree file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.errors import InputError, MissingDependencyError, TreeError
from ..core.geo import plane_of
from ..core.points import as_points
from ..core.solution import STATUSES, Solution
from ..core.trees import pack_one
from ..io.sources import shown
from .reports import counted

# A bound may lie below a shortest tree by what joining nearly equal points can cost.
PROOF_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Check:
    """One question about a tree: its name, the answer (None where it was not asked) and why."""

    name: str
    passed: bool | None
    finding: str


def run_checks(
    data: Mapping[str, Any], points: Any, *, strict: bool, tolerance: float
) -> Iterator[Check]:
    """Yield the checks in order; those that need a tree are left out where there is none."""
    checks = (
        _attempt("terminals", lambda: _find_points(data["terminals"], "terminal")),
        _attempt(
            "Steiner", lambda: _find_points(data.get("steiner_points") or [], "Steiner point")
        ),
    )
    yield from checks
    if not all(check.passed for check in checks):
        return
    if points is not None:
        yield _attempt("points", lambda: _find_match(data["terminals"], points))
    shape = _attempt("tree", lambda: _find_tree(data))
    yield shape
    if not shape.passed:
        return
    tree = _solution(data)
    measured = float(tree.edge_lengths().sum())
    yield _check_length(measured, data.get("length"), tolerance)
    yield _check_bound(measured, data.get("lower_bound"), tolerance)
    yield _check_status(measured, data.get("status"), data.get("lower_bound"), tolerance)
    if strict:
        yield _attempt("angles", lambda: _find_angles(tree))


def _attempt(name: str, find: Callable[[], str]) -> Check:
    """Return the finding of a check that raises where it fails."""
    try:
        return Check(name, True, find())
    except (InputError, MissingDependencyError) as error:
        return Check(name, False, str(error))


def _find_points(values: Any, noun: str) -> str:
    if isinstance(values, list) and not values and noun != "terminal":
        return "none"
    return f"{counted(len(as_points(values, what=f'{noun}s')), noun)}, all finite"


def _find_match(terminals: Any, points: Any) -> str:
    given, wanted = (
        Counter(map(tuple, as_points(values).tolist())) for values in (terminals, points)
    )
    if missing := wanted - given:
        first = next(iter(missing))
        raise TreeError(f"{counted(missing.total(), 'point')} not among the terminals, as {first}")
    if extra := given - wanted:
        first = next(iter(extra))
        raise TreeError(f"{counted(extra.total(), 'terminal')} not among the points, as {first}")
    return "the terminals are the points given"


def _find_tree(data: Mapping[str, Any]) -> str:
    edges = data["edges"]
    try:
        pairs = np.asarray(edges if len(edges) else np.empty((0, 2), dtype=np.int64))
    except (ValueError, TypeError):
        pairs = np.empty(0)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise TreeError("the edges are not pairs of node numbers")
    tree = _solution(data)
    pack_one(tree.terminals, tree.steiner_points, tree.edges).check()
    tree.edge_lengths()  # which a coordinate system may refuse to measure
    return f"{counted(len(pairs), 'edge')} connect all points without a cycle"


def _solution(data: Mapping[str, Any]) -> Solution:
    crs, plane_crs = data.get("crs"), data.get("plane_crs")
    if crs is not None and plane_crs is None:
        plane_crs = plane_of(crs, None, data["terminals"]).plane_crs
    info: Any = data.get("info")
    relays = info.get("relays", 0) if isinstance(info, dict) else 0
    steiner: Any = data.get("steiner_points") or []
    if isinstance(relays, bool) or not isinstance(relays, int) or not 0 <= relays <= len(steiner):
        raise TreeError(f"info 'relays' must count Steiner points, got {shown(relays)}")
    return Solution(
        data["terminals"],
        steiner,
        data["edges"],
        0.0,
        info={"relays": relays},
        crs=crs,
        plane_crs=plane_crs,
    )


def _check_length(measured: float, stated: Any, tolerance: float) -> Check:
    if stated is None:
        return Check("length", None, f"none stated; the edges sum to {measured!r}")
    number = _number(stated)
    if number is not None and math.isclose(number, measured, rel_tol=tolerance, abs_tol=0.0):
        return Check("length", True, f"{stated!r} as stated")
    return Check("length", False, f"stated as {shown(stated)}, but the edges sum to {measured!r}")


def _check_bound(measured: float, stated: Any, tolerance: float) -> Check:
    if stated is None:
        return Check("bound", None, "no lower bound stated")
    number = _number(stated)
    if number is None or number < 0:
        return Check("bound", False, f"expected a number from 0, got {shown(stated)}")
    if number <= measured * (1 + tolerance):
        return Check("bound", True, f"{stated!r} does not exceed the length (not proven here)")
    return Check("bound", False, f"{stated!r} exceeds the length {measured!r}")


def _check_status(measured: float, stated: Any, bound: Any, tolerance: float) -> Check:
    if stated is None:
        return Check("status", None, "none stated")
    if not isinstance(stated, str) or stated not in STATUSES:
        return Check("status", False, f"{shown(stated)} is none of {', '.join(STATUSES)}")
    proven = _number(bound)
    room = max(tolerance, PROOF_TOLERANCE)
    if stated == "optimal" and proven is not None and proven < measured * (1 - room):
        return Check("status", False, f"'optimal', but the bound {bound!r} is below the length")
    return Check("status", True, f"{stated!r} (not proven here)")


def _number(value: Any) -> float | None:
    """Return a finite number as such, and None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer of hundreds of digits
        return None


def _find_angles(tree: Solution) -> str:
    length = float(tree.edge_lengths().sum())
    replace(tree, length=length).validate(strict=True)
    return "every Steiner point joins 3 edges at 120 degrees"
