"""How far `neural` carries beyond what its network was trained on.

    python -m deepsteiner.scoring.train LABELS --without clustered tight --out no-clusters
    python -m deepsteiner.scoring.train LABELS --most-points 50 --out small
    python -m benchmarks.learned.neural_generalisation --no-clusters no-clusters --small small

A network trained without clusters is tested on clustered points, one trained on at most 50 points
on 1,000, each beside the shipped one, which saw clusters and up to 100 points. "none" switches all
exact re-solving off, which shows the network most. Optima are exact.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from common import golden, print_provenance, print_table

import deepsteiner as ds
from deepsteiner import datasets

EFFORTS, PIECES = ("fast", "default"), ("third", "none")
SEED = 5


def clustered(count: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield golden and fresh clustered sets with their optima."""
    for name in ("c50", "c100"):
        yield f"golden {name}", *golden(name)
    for n, many in ((50, count), (100, count // 3)):
        points = datasets.load("clustered", n=n, count=many, split="test", seed=SEED).points
        yield f"clustered {n}", points, ds.solve_many(points, "exact", workers=2).lengths


def uniform(count: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield golden sets and uniform points of ten times the size, with their optima."""
    yield "golden u100", *golden("u100")
    points = datasets.load("uniform", n=1000, count=count, split="test", seed=SEED).points
    yield "uniform 1000", points, ds.solve_many(points, "exact", workers=2).lengths


def compare(sets: Iterator[tuple[str, np.ndarray, np.ndarray]], model: str) -> None:
    """Print the gaps of the shipped and of another model, and their ratio."""
    rows: list[list[object]] = []
    for name, points, optima in sets:
        for pieces in PIECES:
            for effort in EFFORTS:
                row: list[object] = [name, len(points), pieces, effort]
                means = []
                for folder in (None, model):
                    options = {"effort": effort, "pieces": pieces, "model": folder, "threads": 1}
                    lengths = ds.solve_many(points, "neural", **options).lengths
                    gaps = 100.0 * (lengths / optima - 1.0)
                    error = gaps.std() / np.sqrt(len(gaps))
                    row.append(f"{gaps.mean():.5f} +- {error:.5f} / {gaps.max():.3f}")
                    means.append(gaps.mean())
                row.append(f"{means[1] / means[0]:.2f}" if means[0] > 1e-9 else "-")
                rows.append(row)
    header = ["set", "instances", "pieces", "effort", "shipped: gap % / worst", model, "ratio"]
    print_table(header, rows)
    print()


def main() -> None:
    """Compare the models that were given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-clusters", help="a model trained without clustered points")
    parser.add_argument("--small", help="a model trained on at most 50 points")
    parser.add_argument("--count", type=int, default=1500, help="fresh clustered instances")
    parser.add_argument("--large", type=int, default=16, help="instances of 1,000 points")
    given = parser.parse_args()
    print_provenance(SEED)
    if given.no_clusters:
        compare(clustered(given.count), given.no_clusters)
    if given.small:
        compare(uniform(given.large), given.small)


if __name__ == "__main__":
    main()
