"""Compile what the site needs late, while Sphinx, on another core, begins with proofs and compiles what those need.

Processes that need the same kernel at the same time wait for each other: so this begins at the other end.
"""

from __future__ import annotations

import numpy as np

import deepsteiner as ds

IN_BATCHES = ("local", "neural", "greedy", "smith", "thompson", "dreyer", "mst")  # by the gallery
ALONE = ("bereta", "rand1", "rand2", "policy")


def main() -> None:
    """Solve as the pictures, the gallery and the pages do."""
    rng = np.random.default_rng(0)
    ds.solve(rng.random((20_000, 2)), "neural", effort="fast")
    points = rng.random((40, 2))
    for method in (*IN_BATCHES, *ALONE):
        ds.solve(points, method)
        if method in IN_BATCHES:
            ds.solve_many(points.reshape(4, 10, 2), method)


if __name__ == "__main__":
    main()
