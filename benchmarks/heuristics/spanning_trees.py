"""Spanning trees: batches of ten points, and a million points beside the triangulation alone.

Run: python -m benchmarks.heuristics.spanning_trees     (about a minute)
"""

from __future__ import annotations

import numpy as np
from common import print_provenance, print_table, timed
from scipy.spatial import Delaunay

from deepsteiner.geometry.spanning_trees import minimum_spanning_tree, mst_batch


def main() -> None:
    factor = print_provenance(seed=0)
    rng = np.random.default_rng(0)
    batch = rng.random((10_000, 10, 2))
    mst_batch(batch)
    each = min(timed(lambda: mst_batch(batch)) for _ in range(5)) / len(batch)
    print(f"10,000 trees of 10 points, one thread: {1e6 * each:.2f} us each "
          f"({1e6 * each * factor:.2f} scaled)\n")  # fmt: skip
    rows: list[list[object]] = []
    for n in (10_000, 100_000, 1_000_000):
        points = rng.random((n, 2))
        minimum_spanning_tree(points[:2000])
        triangulation = timed(lambda points=points: Delaunay(points))
        tree = timed(lambda points=points: minimum_spanning_tree(points))
        rows.append([n, f"{triangulation:.2f}", f"{tree:.2f}", f"{tree / triangulation:.2f}"])
    print_table(["n", "Delaunay s", "spanning tree s", "ratio"], rows)


if __name__ == "__main__":
    main()
