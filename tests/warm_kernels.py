"""Compile what most tests need before they start, once instead of in every test process.

    python tests/warm_kernels.py      two processes, each with its share of the methods

Two test processes that begin on cold caches compile the same kernels side by side; this halves it.
"""

from __future__ import annotations

import subprocess
import sys

# `exact` and `auto` need much of what `local` does, which the second process begins with: by the
# time they come to it, it is there.
FIRST = ("thompson", "dreyer", "bereta", "rand1", "exact", "auto")
SECOND = ("local", "neural")


def warm(methods: list[str]) -> None:
    """Solve small, larger and structured points, alone and in a batch."""
    import numpy as np

    import deepsteiner as ds

    rng = np.random.default_rng(0)
    lattice = np.stack(np.meshgrid(np.arange(6.0), np.arange(6.0)), axis=-1).reshape(-1, 2)
    for method in methods:
        ds.solve_many(rng.random((3, 8, 2)), method)
        sizes = (12, 60) if method == "bereta" else (12, 300)
        for points in (lattice, *(rng.random((n, 2)) for n in sizes)):
            ds.refine(ds.solve(points, method))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        warm(sys.argv[1:])
    else:
        from deepsteiner.registry import MODULES

        known = {*FIRST, *SECOND, "policy"}  # the last has none
        second = [*SECOND, *(method for method in MODULES if method not in known)]
        shares = [subprocess.Popen([sys.executable, __file__, *one]) for one in (FIRST, second)]
        sys.exit(max(share.wait() for share in shares))
