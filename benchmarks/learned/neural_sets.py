"""Instances with proven optima on which `neural` is measured, and its targets there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from common import golden, shared

from deepsteiner import datasets
from deepsteiner.benchmark.optima import optimal_lengths
from deepsteiner.benchmark.specs import Instances

EFFORTS = ("fast", "default", "best")
# Largest mean gap in %, by effort. Sizes without targets of their own take those of the nearest.
SMALL = dict(zip(EFFORTS, (0.04, 0.004, 0.001), strict=True))
LARGE = dict(zip(EFFORTS, (0.05, 0.004, 0.001), strict=True))
STRUCTURED = dict(zip(EFFORTS, (0.08, 0.01, 0.003), strict=True))
# Longest time for one instance in ms, one thread, at the reference calibration.
TARGET_MS = {
    20: dict(zip(EFFORTS, (0.3, 1.0, 2.0), strict=True)),
    100: dict(zip(EFFORTS, (3.0, 12.0, 35.0), strict=True)),
    1000: dict(zip(EFFORTS, (35.0, 300.0, 1000.0), strict=True)),
}

GOLDEN = ("u10", "u20", "u50", "u100", "u200", "u500", "c50", "c100", "i12", "i30")
LIBRARY = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 250, 500, 1000)
KINDS = ("separated", "clustered", "grid")
# Fresh instances come from a stream of the test split that nothing was chosen on.
SEED = 8
MOST_FRESH = {50: 200, 100: 100, 1000: 5}


Loaded = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Trial:
    """A set of instances: how to load (B, n, 2) points and their optima, and the target gaps."""

    group: str
    name: str
    targets: Mapping[str, float]
    load: Callable[[], Loaded]


class Counts:
    """How many instances of a size to run: all, a few of each, or at most a number given."""

    def __init__(self, quick: bool, most: int | None) -> None:
        self.quick = quick
        self.most = most

    def some(self, points: np.ndarray, optima: np.ndarray) -> Loaded:
        """Return as many instances as should be run, with their optima."""
        n = points.shape[1]
        few = 200 if n <= 20 else 40 if n <= 50 else 20 if n <= 100 else 5 if n <= 250 else 2
        count = min(len(points), few) if self.quick else len(points)
        count = count if self.most is None else min(count, self.most)
        return points[:count], optima[:count]


def trials(known: Mapping[str, np.ndarray]) -> Iterator[Trial]:
    """Yield every set; `known` holds optima by the content hash of their instances."""
    for name in GOLDEN:
        uniform = SMALL if name in ("u10", "u20") else LARGE
        targets = uniform if name[0] == "u" else STRUCTURED
        yield Trial("golden", f"golden {name}", targets, lambda name=name: golden(name))
    yield from _files()
    for name in datasets.PAPER:
        yield Trial("ours", name, SMALL, lambda name=name: _solved(name, None, 10_000, 0, known))
    wanted = [(kind, n, STRUCTURED) for kind in KINDS for n in (50, 100)]
    for kind, n, targets in [*wanted, ("uniform", 1000, LARGE)]:
        made = lambda kind=kind, n=n: _solved(kind, n, MOST_FRESH[n], SEED, known)  # noqa: E731
        yield Trial("fresh", f"{kind} {n}", targets, made)


def _files() -> Iterator[Trial]:
    """Yield the sets that are not ours to give away, where they are at hand."""
    library = shared("orlib_estein.npz")
    if library is None:
        print("OR-Library's instances are not here: left out")
    for n in LIBRARY if library else ():
        found = library[f"points_{n}"], library[f"optimal_{n}"]
        targets = SMALL if n <= 20 else LARGE
        yield Trial("OR-Library", f"OR-Library {n}", targets, lambda found=found: found)
    for name, file, prefix in (("D1", "d1_authors", "test_"), ("DEG", "deg10_authors", "")):
        data = shared(f"{file}.npz")
        if data is None:
            print(f"the authors' {name} instances are not here: left out")
            continue
        found = data[f"{prefix}points"], data[f"{prefix}optimal_length"]
        yield Trial("authors'", f"authors' {name}", SMALL, lambda found=found: found)


def _solved(
    kind: str, n: int | None, count: int, seed: int, known: Mapping[str, np.ndarray]
) -> Loaded:
    """Return generated instances and their optima: known, cached, or proven now."""
    points = np.asarray(datasets.load(kind, count=count, seed=seed, n=n).points)
    return points, optimal_lengths(Instances(kind, points, None), known)
