"""Time the concatenation of full Steiner trees alone, on uniform points, TSPLIB sets and lattices.

    python -m benchmarks.exact.concatenation --sizes 10 20 50 100 200 500 1000 --count 10
    python -m benchmarks.exact.concatenation --sizes 5000 --count 1
    python -m benchmarks.exact.concatenation --tsplib ../shared/data/tsplib.npz --largest 300
    python -m benchmarks.exact.concatenation --lattices 4 5 6

Lists are generated first and not timed. Each list is concatenated ``--repeat`` times after a
warm-up and the fastest is kept. The head gives the calibration time, to compare machines.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from common import print_provenance

from deepsteiner.fst.enumerate.complete.generate import generate
from deepsteiner.fst.select.exact.concatenation import Choice, concatenate
from deepsteiner.fst.trees import FullTrees


def normalised(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Points centred and scaled by a power of two into [-1, 1], and the scale."""
    centred = points - (points.max(axis=0) + points.min(axis=0)) / 2
    scale = float(2.0 ** np.ceil(np.log2(np.abs(centred).max())))
    return centred / scale, scale


def uniform(sizes: list[int], count: int, seed: int) -> Iterator[tuple[str, np.ndarray, float]]:
    for n in sizes:
        rng = np.random.default_rng([seed, n])
        for _ in range(count):
            yield f"uniform {n}", rng.random((n, 2)), np.nan


def lattices(sides: list[int]) -> Iterator[tuple[str, np.ndarray, float]]:
    for k in sides:
        points = np.stack(np.meshgrid(np.arange(k), np.arange(k)), -1).reshape(-1, 2)
        yield f"lattice {k}x{k}", points.astype(np.float64), np.nan


def tsplib(path: str, largest: int) -> Iterator[tuple[str, np.ndarray, float]]:
    with np.load(path) as data:
        names = [key[: -len("_points")] for key in data.files if key.endswith("_points")]
        for name in sorted(names, key=lambda name: len(data[f"{name}_points"])):
            points = data[f"{name}_points"]
            if len(points) <= largest:
                key = f"{name}_optimal_length"
                yield name, points, float(data[key]) if key in data.files else np.nan


def timed(trees: FullTrees, repeat: int, limit: float) -> tuple[float, Choice]:
    fastest = np.inf
    for _ in range(repeat):
        began = time.perf_counter()
        deadline = began + limit
        choice = concatenate(trees, keep_going=lambda *_, end=deadline: time.perf_counter() < end)
        fastest = min(fastest, time.perf_counter() - began)
    return fastest, choice


def report(name: str, rows: list[tuple[float, Choice, FullTrees, float]]) -> None:
    seconds = np.array([row[0] for row in rows])
    per_terminal = np.mean([len(row[2]) / len(row[2].points) for row in rows])
    proven = sum(row[1].optimal for row in rows)
    programmes = np.mean([row[1].stats["lp_solves"] for row in rows])
    nodes = np.mean([row[1].stats["nodes"] for row in rows])
    off = np.array([row[3] for row in rows])
    error = f"{np.nanmax(np.abs(off)):9.1e}" if np.isfinite(off).any() else "        -"
    print(
        f"{name:16} {len(rows):5d} {per_terminal:8.2f} {seconds.mean() * 1e3:10.3f} "
        f"{seconds.max() * 1e3:10.3f} {proven:6d} {programmes:8.1f} {nodes:7.1f} {error}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[])
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lattices", type=int, nargs="*", default=[])
    parser.add_argument("--tsplib", default=None, help="an npz file with NAME_points arrays")
    parser.add_argument("--largest", type=int, default=200, help="most terminals of a TSPLIB set")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds per concatenation")
    arguments = parser.parse_args()
    print_provenance(arguments.seed)
    for trace in (False, True):  # warm-up: compile or load every kernel
        concatenate(generate(normalised(np.random.default_rng(9).random((20, 2)))[0]), trace=trace)
    print("instances        count  FSTs/n    mean ms     max ms proven programs  nodes     error")
    instances = [
        uniform(arguments.sizes, arguments.count, arguments.seed),
        lattices(arguments.lattices),
        tsplib(arguments.tsplib, arguments.largest) if arguments.tsplib else iter(()),
    ]
    rows: list[tuple[float, Choice, FullTrees, float]] = []
    current = ""
    for source in instances:
        for name, points, optimum in source:
            if rows and name != current:
                report(current, rows)
                rows = []
            current = name
            scaled, scale = normalised(points)
            trees = generate(scaled)
            seconds, choice = timed(trees, arguments.repeat, arguments.limit)
            rows.append((seconds, choice, trees, choice.length * scale / optimum - 1.0))
    if rows:
        report(current, rows)


if __name__ == "__main__":
    main()
