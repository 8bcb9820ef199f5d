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
from ..core.scalars import as_real
from ..core.solution import STATUSES, Solution
from ..core.surroundings.existing import as_existing
from ..core.surroundings.obstacles import as_obstacles, as_weights
from ..io.solution_files import as_edges, relay_count, with_terminals
from ..io.sources import shown
from ..io.terminal_hash import check_stamp, places_of, stamp_of
from .reports import counted

# A valid bound may be this much below the length, since it leaves out the edges that join
# points which coincide up to rounding.
PROOF_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a tree: its name, whether it passed (None where there was nothing), and why."""

    name: str
    passed: bool | None
    finding: str


def run_checks(
    data: Mapping[str, Any], points: Any, *, strict: bool, tolerance: float
) -> Iterator[Check]:
    """Yield the checks in order; those that need a tree are left out where there is none."""
    stated = stamp_of(data["terminals"], "the tree")
    if stated is not None:
        match = _attempt("points", _find_hash, stated, points)
        yield match
        if not match.passed:
            return
        data, points = with_terminals(data, points, "the tree"), None
    checks = (
        _attempt("terminals", _find_points, data["terminals"], "terminal"),
        _attempt("Steiner", _find_points, data.get("steiner_points") or [], "Steiner point"),
    )
    yield from checks
    if not all(check.passed for check in checks):
        return
    if points is not None:
        yield _attempt("points", _find_match, data["terminals"], points)
    shape = _attempt("tree", _find_tree, data)
    yield shape
    if not shape.passed:
        return
    tree = _solution(data)
    measured = float(tree.edge_costs().sum())
    for name, field, find, unstated in (
        ("length", "length", _find_length, f"none stated; the edges sum to {measured!r}"),
        ("bound", "lower_bound", _find_bound, "no lower bound stated"),
        ("status", "status", _find_status, "none stated"),
    ):
        if data.get(field) is None:
            yield Check(name, None, unstated)
        else:
            yield _attempt(name, find, data, measured, tolerance)
    if strict:
        yield _attempt("angles", _find_angles, replace(tree, length=measured))


def _attempt(name: str, find: Callable[..., str], *given: Any) -> Check:
    """Run a check, which returns its finding or raises, and return the outcome."""
    try:
        return Check(name, True, find(*given))
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
    for surplus, noun, others in (
        (wanted - given, "point", "terminals"),
        (given - wanted, "terminal", "points"),
    ):
        if surplus:
            first = next(iter(surplus))
            raise TreeError(f"{counted(surplus.total(), noun)} not among the {others}, as {first}")
    return "the terminals are the points given"


def _find_hash(stated: Mapping[str, Any], points: Any) -> str:
    check_stamp(stated, places_of(points))
    return "the terminals, by their hash, are the points given"


def _find_tree(data: Mapping[str, Any]) -> str:
    edges = as_edges(data["edges"])
    if edges is None:
        raise TreeError("the edges are not pairs of node numbers")
    tree = _solution(data)
    nodes = len(tree.coordinates)
    outside = edges[(edges < 0) | (edges >= nodes)]
    if outside.size:
        raise TreeError(f"an edge names node {outside[0]}, but nodes go from 0 to {nodes - 1}")
    # Fails where the coordinate system cannot measure lengths.
    replace(tree, length=float(tree.edge_costs().sum())).validate()
    words = f"{counted(len(edges), 'edge')} connect all points without a cycle"
    if tree.existing:
        words += f", {counted(len(tree.joints), 'joint')} on the existing network"
    if tree.obstacles:
        words += f", around {counted(len(tree.obstacles), 'obstacle')}"
    return words


def _solution(data: Mapping[str, Any]) -> Solution:
    crs, plane_crs = data.get("crs"), data.get("plane_crs")
    if crs is not None and plane_crs is None:
        plane_crs = plane_of(crs, None, data["terminals"]).plane_crs
    info: Any = data.get("info")
    steiner: Any = data.get("steiner_points") or []
    stated = info if isinstance(info, dict) else {}
    relays = relay_count(stated, steiner)
    if relays is None:
        got = shown(stated["relays"])
        raise TreeError(f"info 'relays' must count Steiner points, got {got}")
    kept: dict[str, Any] = {"relays": relays}
    if isinstance(stated.get("junction_cost"), float):
        kept["junction_cost"] = stated["junction_cost"]
    bends, joints = (_more_nodes(data, field) for field in ("bends", "joints"))
    regions = as_obstacles(data.get("regions") or [], "the tree", "regions")
    return Solution(
        data["terminals"], steiner, data["edges"], 0.0, info=kept, crs=crs, plane_crs=plane_crs,
        bends=bends, obstacles=as_obstacles(data.get("obstacles") or [], "the tree"), joints=joints,
        existing=as_existing(data.get("existing") or [], "the tree"), regions=regions,
        weights=as_weights(data.get("weights") or [], len(regions), "the tree"),
    )  # fmt: skip


def _more_nodes(data: Mapping[str, Any], field: str) -> Any:
    nodes = data.get(field) or []
    return as_points(nodes, what=field) if nodes else np.empty((0, 2))


def _find_length(data: Mapping[str, Any], measured: float, tolerance: float) -> str:
    stated = data["length"]
    number = as_real(stated)
    if number is None or not math.isclose(number, measured, rel_tol=tolerance, abs_tol=0.0):
        raise TreeError(f"stated as {shown(stated)}, but the edges sum to {measured!r}")
    return f"{stated!r} as stated"


def _find_bound(data: Mapping[str, Any], measured: float, tolerance: float) -> str:
    stated = data["lower_bound"]
    number = as_real(stated)
    if number is None or not 0 <= number < math.inf:
        raise TreeError(f"expected a number from 0, got {shown(stated)}")
    if number > measured * (1 + tolerance):
        raise TreeError(f"{stated!r} exceeds the length {measured!r}")
    return f"{stated!r} does not exceed the length (not proven here)"


def _find_status(data: Mapping[str, Any], measured: float, tolerance: float) -> str:
    stated, bound = data["status"], data.get("lower_bound")
    if not isinstance(stated, str) or stated not in STATUSES:
        raise TreeError(f"{shown(stated)} is none of {', '.join(STATUSES)}")
    proven = as_real(bound)
    least = measured * (1 - max(tolerance, PROOF_TOLERANCE))
    if stated == "optimal" and proven is not None and -math.inf < proven < least:
        raise TreeError(f"'optimal', but the bound {bound!r} is below the length")
    return f"{stated!r} (not proven here)"


def _find_angles(tree: Solution) -> str:
    tree.validate(strict=True)
    if "junction_cost" in tree.info:
        return "every Steiner point joins 3 edges at 120 degrees, or is where two lines cross"
    return "every Steiner point joins 3 edges at 120 degrees"
