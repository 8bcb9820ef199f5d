"""Lengths of every method and effort on many sets: written once, compared after a change.

    python benchmarks/same_lengths.py --write before.json
    python benchmarks/same_lengths.py --against before.json

A change that only moves code, or that only makes it faster, must leave all of them as they are.
It takes some nine minutes; with `--largest 120` one or two. Golden sets, and where they lie beside
the project OR-Library's and TSPLIB's instances; the exit code is 1 where a length differs by more
than 1e-12 of itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import deepsteiner as ds

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
TOLERANCE = 1e-12
# Methods with their options, and the largest instances that each solves here.
METHODS = {
    "mst": ({}, 3000),
    "rand1": ({}, 3000),
    "rand2": ({}, 200),
    "thompson": ({}, 3000),
    "smith": ({}, 3000),
    "dreyer": ({}, 1000),
    "dreyer insertion": ({"variant": "insertion"}, 1000),
    "greedy": ({}, 200),
    "bereta": ({}, 60),
    "local fast": ({"effort": "fast"}, 3000),
    "local default": ({}, 3000),
    "local best": ({"effort": "best"}, 300),
    "neural fast": ({"effort": "fast"}, 3000),
    "neural default": ({}, 3000),
    "neural best": ({"effort": "best"}, 300),
    "neural whole": ({"pieces": "any"}, 1000),
    "policy": ({}, 20),
    "exact": ({}, 300),
    "auto": ({}, 300),
}


def instances(count: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (name, points): the first `count` of every golden set, and some of each other set."""
    for path in sorted((ROOT / "tests" / "golden").glob("*.npz")):
        with np.load(path) as data:
            for index, points in enumerate(data["points"][:count]):
                yield f"{path.stem} {index}", points
    for name in ("orlib_estein", "tsplib"):
        path = SHARED / f"{name}.npz"
        if path.exists():
            yield from _published(name, path)


def _published(name: str, path: Path) -> Iterator[tuple[str, np.ndarray]]:
    with np.load(path) as data:
        for key in data.files:
            values = data[key]
            if values.ndim == 2 and values.shape[1] == 2:
                yield f"{name} {key}", values
            elif values.ndim == 3 and values.shape[2] == 2:
                yield from ((f"{name} {key} {k}", values[k]) for k in range(min(3, len(values))))


def lengths(count: int, only: str, largest: int) -> dict[str, float]:
    """Solve everything; return the lengths by instance and method."""
    found = {}
    for name, points in instances(count):
        for label, (options, most) in METHODS.items():
            if only in label and len(points) <= min(most, largest):
                solution = ds.solve(points, label.split()[0], seed=1, **options)
                found[f"{name}: {label}"] = solution.length
    return found


def compare(found: dict[str, float], before: dict[str, float]) -> int:
    """Print what differs; return how many do."""
    wrong = 0
    for name in sorted(found):
        one, two = before.get(name), found[name]
        if one is None or abs(one - two) > TOLERANCE * abs(one):
            print(f"{name}: {one} before, {two} now")
            wrong += 1
    print(f"{len(found)} lengths, {wrong} differ")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", type=Path, help="keep the lengths in this file")
    parser.add_argument("--against", type=Path, help="compare with the lengths in this file")
    parser.add_argument("--count", type=int, default=3, help="instances of every golden set")
    parser.add_argument("--only", default="", help="methods whose name holds this word")
    parser.add_argument(
        "--largest", type=int, default=3000, help="instances up to this many points"
    )
    arguments = parser.parse_args()
    found = lengths(arguments.count, arguments.only, arguments.largest)
    if arguments.write:
        arguments.write.write_text(json.dumps(found, indent=0))
    if arguments.against:
        return 1 if compare(found, json.loads(arguments.against.read_text())) else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
