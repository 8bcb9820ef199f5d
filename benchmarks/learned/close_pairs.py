"""How far apart neighbours of one full component are in proven shortest trees, in bottlenecks.

    python -m benchmarks.learned.close_pairs [--count 250] [--points 60]

The bottleneck of two terminals is the longest edge between them in the spanning tree. Two that hang
on one Steiner point can be 1.73 of them apart, two on adjacent Steiner points 2.65; `neural` lists
trees over pairs within `CLOSE`. What counts is what a list needs to meet a component: of three
terminals on one Steiner point two pairs, between adjacent Steiner points the nearest pair.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from common import print_provenance, print_table

import deepsteiner as ds
from deepsteiner import datasets
from deepsteiner.fst.enumerate.nearby.neighbour_kernels import CLOSE, bottleneck, bottleneck_tree
from deepsteiner.geometry.spanning_trees import minimum_spanning_tree

KINDS = ("uniform", "normal", "clustered", "separated", "grid")
SEED = 5


def stretches(solution: ds.Solution) -> Iterator[tuple[float, float]]:
    """Yield, for every Steiner point, the stretch needed on it and to the adjacent ones."""
    points, n = solution.terminals, len(solution.terminals)
    tree = minimum_spanning_tree(points)
    lengths = np.hypot(*(points[tree[:, 0]] - points[tree[:, 1]]).T)
    tree = tree[np.argsort(lengths, kind="stable")]
    bottlenecks = bottleneck_tree(points, tree)

    def apart(a: int, b: int) -> float:
        return float(np.hypot(*(points[a] - points[b])) / bottleneck(a, b, bottlenecks))

    around: dict[int, list[int]] = {}
    for a, b in solution.edges.tolist():
        around.setdefault(a, []).append(b)
        around.setdefault(b, []).append(a)
    for s in range(n, n + len(solution.steiner_points)):
        own = [v for v in around[s] if v < n]
        pairs = sorted(apart(a, b) for a, b in combinations(own, 2))
        on_one = pairs[len(pairs) // 2] if pairs else 0.0
        on_two = 0.0
        for other in (v for v in around[s] if v >= n):
            theirs = [v for v in around[other] if v < n]
            if own and theirs:
                on_two = max(on_two, min(apart(a, b) for a in own for b in theirs))
        yield on_one, on_two


def main() -> None:
    """Print quantiles for every kind of points."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=250, help="instances of each kind")
    parser.add_argument("--points", type=int, default=60)
    given = parser.parse_args()
    print_provenance(SEED)
    rows: list[list[object]] = []
    for kind in KINDS:
        options = {"n": given.points, "count": given.count, "split": "validation", "seed": SEED}
        solved = ds.solve_many(datasets.load(kind, **options).points, "exact", workers=2)
        found = np.array([pair for one in solved for pair in stretches(one)])
        for name, values in zip(("one", "two"), found.T, strict=True):
            values = values[values > 0.0]
            share = 100.0 * float((values > CLOSE).mean())
            cells = [f"{np.quantile(values, q):.3f}" for q in (0.99, 0.999, 1.0)]
            rows.append([kind, name, len(values), *cells, f"{share:.3f} %"])
    print_table(
        ["points", "Steiner points", "pairs", "99 %", "99.9 %", "most", f"above {CLOSE}"], rows
    )


if __name__ == "__main__":
    main()
