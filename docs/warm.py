"""Compile what the site's examples need, on all cores, before Sphinx does it on one."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import numpy as np

# Each is a share of the work, about equally long, for one process.
SHARES = [
    ["exact", "obstacles", "mst", "rand1", "rand2", "bereta", "policy"],
    ["neural", "local", "greedy", "smith", "thompson", "dreyer"],
]


def warm(methods: list[str]) -> None:
    """Solve as the pictures and the gallery do."""
    import deepsteiner as ds

    points = np.random.default_rng(0).random((40, 2))
    for method in methods:
        if method == "obstacles":
            wall = [[(0.4, 0.4), (0.6, 0.4), (0.6, 0.6), (0.4, 0.6)]]
            free = points[(np.abs(points - 0.5) > 0.12).any(axis=1)]
            ds.solve(free[:8], "exact", obstacles=[wall], trace=True)
            continue
        ds.solve(points, method)
        ds.solve_many(points.reshape(4, 10, 2), method)


if __name__ == "__main__":
    with ProcessPoolExecutor(len(SHARES)) as pool:
        list(pool.map(warm, SHARES))
