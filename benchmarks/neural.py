"""`neural` against `local`, and what its network is worth.

    python benchmarks/neural.py                 golden sets, one thread: gap and time
    python benchmarks/neural.py --sizes 1000 10000 100000     uniform points, saving and time

"hand" is `neural` with the network taken out: nothing is dropped for its score, and trees are
picked by what they save alone. "no pieces" is `neural` with all exact re-solving switched off,
"any pieces" may solve more than a third of the terminals at once.
"""

from __future__ import annotations

import argparse
import time
from contextlib import contextmanager
from unittest import mock

import numpy as np
from common import golden, print_provenance, print_table

import deepsteiner as ds
from deepsteiner.search import neural, neural_weights

GOLDEN = {"u10": 1000, "u20": 1000, "u50": 100, "u100": 50, "u200": 20, "u500": 10}
OTHERS = {"c50": 100, "c100": 40, "i12": 100, "i30": 100}
EFFORTS = ("fast", "default", "best")


@contextmanager
def without_network():
    """Give every tree the same score and drop none."""
    flat = tuple(np.zeros_like(value) for value in neural_weights.load_weights())
    with mock.patch.object(neural, "load_weights", return_value=flat):
        yield


@contextmanager
def as_it_is():
    """Change nothing."""
    yield


def measure(points, optima, scale: float, method: str, **options) -> str:
    """Return mean gap with its standard error, worst gap (all in %) and ms per instance."""
    ds.solve_many(points[:2], method, **options)
    began = time.perf_counter()
    lengths = ds.solve_many(points, method, **options).lengths
    ms = 1e3 * scale * (time.perf_counter() - began) / len(points)
    gaps = 100.0 * (lengths / optima - 1.0)
    error = gaps.std() / np.sqrt(len(gaps))
    return f"{gaps.mean():.5f} +- {error:.5f} / {gaps.max():.3f} / {ms:.2f}"


def table(names: dict[str, int], scale: float, efforts: list[str]) -> None:
    """Print gap and time of everything on some golden sets."""
    rows = []
    for name, count in names.items():
        points, optima = (value[:count] for value in golden(name))
        for effort in efforts:
            row: list[object] = [f"{name} {effort}"]
            row.append(measure(points, optima, scale, "local", effort=effort, threads=1))
            row.append(measure(points, optima, scale, "neural", effort=effort, threads=1))
            with without_network():
                row.append(measure(points, optima, scale, "neural", effort=effort, threads=1))
            for pieces in ("none", "any"):
                options = {"effort": effort, "threads": 1, "pieces": pieces}
                row.append(measure(points, optima, scale, "neural", **options))
            rows.append(row)
            print(*row, sep=" | ", flush=True)
    print()
    print_table(["set", "local", "neural", "hand", "no pieces", "any pieces"], rows)
    print("\neach: mean gap % +- standard error / worst % / ms per instance, scaled\n")


def large(sizes: list[int], scale: float, efforts: list[str]) -> None:
    """Print saving over the spanning tree and time on uniform points."""
    rows = []
    for n in sizes:
        points = np.random.default_rng(n).random((n, 2))
        for effort in efforts:
            row: list[object] = [f"{n} {effort}"]
            for method, how in (
                ("local", as_it_is),
                ("neural", as_it_is),
                ("hand", without_network),
            ):
                name = "neural" if method == "hand" else method
                with how():
                    began = time.perf_counter()
                    solution = ds.solve(points, name, effort=effort, threads=1)
                    seconds = scale * (time.perf_counter() - began)
                row.append(f"{100 * solution.info['saving']:.4f} % / {seconds:.3f} s")
            rows.append(row)
            print(*row, sep=" | ", flush=True)
    print()
    print_table(["uniform points", "local", "neural", "hand"], rows)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[])
    parser.add_argument("--sets", nargs="+", default=list({**GOLDEN, **OTHERS}))
    parser.add_argument("--effort", choices=EFFORTS, action="append")
    given = parser.parse_args()
    efforts = given.effort or list(EFFORTS)
    for n in (100, 300):
        ds.solve(np.random.default_rng(0).random((n, 2)), "neural")  # compiles
    scale = print_provenance()
    if given.sizes:
        large(given.sizes, scale, efforts)
    else:
        counts = {**GOLDEN, **OTHERS}
        table({name: counts[name] for name in given.sets}, scale, efforts)


if __name__ == "__main__":
    main()
