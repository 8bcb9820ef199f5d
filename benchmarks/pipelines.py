"""Lists, scores and selections against each other: which pipeline serves which points best?

    python benchmarks/pipelines.py --workers 2

`local` and `neural` are settings of one search (`deepsteiner.solvers.search.Pipeline`). Here every
enumerator meets every score, at the budgets of their efforts, on uniform and on structured points
of several sizes. Of each: how much longer its trees are than the best that any setting found, in
percent with the standard error, and the processor time of one solve in milliseconds. `auto`'s
choices come from this table.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from common import print_provenance, print_table
from yardstick.cases import instances

import deepsteiner as ds
from deepsteiner.solvers.search import ENUMERATORS, SCORES

KINDS = ("uniform", "clustered", "board", "jittered", "lattice")
SIZES = {300: 6, 1000: 4, 5000: 2, 20_000: 1}


def settings(n: int) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield (name, method, options)."""
    for effort in ("fast", "default", "best"):
        if effort != "best" or n <= 5000:
            yield f"local {effort}", "local", {"effort": effort}
    for effort in ("fast", "default", "best"):
        if effort != "best" or n <= 5000:
            yield f"neural {effort}", "neural", {"effort": effort}
    for effort in ("default", "best"):
        if effort != "best" or n <= 5000:
            options = {"effort": effort, "pieces": "any"}
            yield f"neural {effort}, any piece", "neural", options
    for effort in ("fast", "default"):
        for listed, score in itertools.product(ENUMERATORS, SCORES):
            if (listed, score) == ("closed", "hand"):
                continue  # that is `local` itself
            options = {"effort": effort, "enumerate": listed, "score": score}
            yield f"{score} on {listed}, {effort}", "local", options


def measure(task: tuple[str, int]) -> list[tuple[str, int, str, list[float], float]]:
    """Solve one kind and size by all settings; return lengths and processor seconds."""
    kind, n = task
    whole = math.isqrt(n) ** 2 if kind in ("lattice", "jittered") else n
    points, rows = instances(kind, whole, SIZES[n]), []
    for name, method, options in settings(n):
        ds.solve(points[0][:200], method, threads=1, **options)
        began = time.process_time()
        lengths = [ds.solve(one, method, threads=1, **options).length for one in points]
        seconds = (time.process_time() - began) / len(points)
        rows.append((kind, n, name, lengths, seconds))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--size", action="append", type=int, choices=list(SIZES))
    given = parser.parse_args()
    print_provenance(64)
    sizes, kinds = given.size or list(SIZES), given.kind or KINDS
    tasks = [(kind, n) for n in sorted(sizes, reverse=True) for kind in kinds]
    measure(("uniform", 300))  # compiles, for all processes
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        found = [row for rows in pool.map(measure, tasks) for row in rows]
    for n in sorted(sizes):
        table = {}
        for kind in kinds:
            rows = [row for row in found if row[0] == kind and row[1] == n]
            best = np.min([row[3] for row in rows], axis=0)
            for _, _, name, lengths, seconds in rows:
                gaps = 100.0 * (np.array(lengths) / best - 1.0)
                error = gaps.std() / np.sqrt(len(gaps))
                cell = f"{gaps.mean():.4f} ± {error:.4f}, {1000 * seconds:.0f}"
                table.setdefault(name, []).append(cell)
        print(f"\n{n} points, {SIZES[n]} of each kind: % above the best found, ms")
        print_table(["setting", *kinds], [[name, *cells] for name, cells in table.items()])


if __name__ == "__main__":
    main()
