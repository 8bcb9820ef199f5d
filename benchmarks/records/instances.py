"""Public instances, with what is published about them, and uniform points anyone can draw again."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
from common import shared

# The points of `uniformN-SEED` are numpy.random.default_rng(SEED).random((N, 2)).
UNIFORM = re.compile(r"uniform([1-9]\d*)-(\d+)")


class Instance(NamedTuple):
    """Points under the name that records give them.

    `published` are the best lower and upper bound in print, equal where the optimum is known, and
    None where there are none.
    """

    name: str
    points: np.ndarray
    published: tuple[float, float] | None = None


def family(name: str) -> str:
    """Return where an instance comes from: tsplib, estein (OR-Library) or uniform."""
    found = re.match(r"(estein|uniform)\d+-\d+$", name)
    return found[1] if found else "tsplib"


def chosen(patterns: Sequence[str]) -> list[Instance]:
    """Return the instances with these names, in which * may stand, the smallest first."""
    found = {}
    known = [*tsplib(), *orlib()]
    for pattern in patterns:
        if uniform := UNIFORM.fullmatch(pattern):
            n, seed = map(int, uniform.groups())
            fitting = [Instance(pattern, np.random.default_rng(seed).random((n, 2)))]
        else:
            fitting = [one for one in known if fnmatchcase(one.name, pattern)]
        if not fitting:
            sys.exit(
                f"no instance is called {pattern!r}; accepted: names of TSPLIB's sets, esteinN-K "
                "and uniformN-SEED; the first two need ../shared/data"
            )
        found.update({one.name: one for one in fitting})
    return sorted(found.values(), key=lambda one: len(one.points))


def tsplib() -> Iterator[Instance]:
    """Yield TSPLIB's sets of plane points, repeated points left out."""
    data = {**(shared("tsplib.npz") or {}), **(shared("tsplib_large.npz") or {})}
    for key in data:
        if key.endswith("_points"):
            name = key.removesuffix("_points")
            bounds = data.get(f"{name}_optimal_length", data.get(f"{name}_published"))
            known = None if bounds is None else (float(np.min(bounds)), float(np.max(bounds)))
            yield Instance(name, data[key], known)


def orlib() -> Iterator[Instance]:
    """Yield OR-Library's instances: estein10-1 is the first of those with ten points."""
    data = shared("orlib_estein.npz") or {}
    for key in data:
        if key.startswith("points_"):
            n = key.removeprefix("points_")
            optima = data.get(f"optimal_{n}", np.full(len(data[key]), None)).tolist()
            for place, (points, optimum) in enumerate(zip(data[key], optima, strict=True), 1):
                known = None if optimum is None else (optimum, optimum)
                yield Instance(f"estein{n}-{place}", points, known)
