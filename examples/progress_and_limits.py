"""Watch a solve, bound its time, and use the proven gap."""

import numpy as np

import deepsteiner as ds

points = np.random.default_rng(0).random((200, 2))


best = float("inf")


def show(progress: ds.Progress) -> bool:
    """Print every improvement; returning False would stop the solve."""
    global best
    if progress.length < best:
        best = progress.length
        print(f"{progress.phase}: length {best:.4f}")
    return True


solution = ds.solve(points, "exact", time_limit=60, on_progress=show)
print(solution.status, "gap", solution.gap)
