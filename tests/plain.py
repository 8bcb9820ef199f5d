"""Plain ways to do what kernels do, which several tests compare with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deepsteiner.core.trees import tree_length
from deepsteiner.geometry.spanning_trees import minimum_spanning_tree


def random_points(seed: int, n: int) -> np.ndarray:
    """Return n points in [-1, 1] squared."""
    return 2 * np.random.default_rng(seed).random((n, 2)) - 1


def mst_length(points: np.ndarray) -> float:
    """Return the length of the minimum spanning tree."""
    return tree_length(points, minimum_spanning_tree(points))


def star_length(points: np.ndarray, centre: np.ndarray) -> float:
    """Return the sum of the distances from a centre."""
    return float(np.linalg.norm(points - centre, axis=1).sum())


def weiszfeld(points: np.ndarray) -> float:
    """Return the least sum of distances to the points, by averaging over and over."""
    centre, best = points.mean(axis=0), min(star_length(points, corner) for corner in points)
    for _ in range(3000):
        distance = np.linalg.norm(points - centre, axis=1)
        if (distance < 1e-14).any():
            break
        centre = (points / distance[:, None]).sum(axis=0) / (1 / distance).sum()
    return min(best, star_length(points, centre))


def splitmix(seed: int) -> Iterator[float]:
    """SplitMix64 in plain integers, as published: yields floats in [0, 1)."""
    mask = 2**64 - 1
    state = seed & mask
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield ((z ^ (z >> 31)) >> 11) / 2**53
