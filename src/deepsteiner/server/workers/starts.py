"""Beginning from the tree before: its topology, carried over to points that have moved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...core.points import FloatArray
from ...core.solution import Solution
from ...core.trees import tree_length
from ...geometry.relaxation import refine
from ...solvers.exact import BATCH_LIMIT as EXACT_KERNEL_SIZE
from ...solvers.local import BATCH_LIMIT as LOCAL_KERNEL_SIZE
from ..options import takes_start

# Up to here the method's kernel is done before it could make use of a tree.
KERNEL_SIZES = {"exact": EXACT_KERNEL_SIZE, "local": LOCAL_KERNEL_SIZE}


def fitted_start(data: Any, method: str, points: FloatArray) -> tuple[Solution | None, str | None]:
    """Return the tree to begin from, or None, and one word or two on what became of it."""
    if data is None:
        return None, None
    if not takes_start(method):
        return None, f"not taken by {method}"
    if len(points) <= KERNEL_SIZES.get(method, 0):
        return None, "not needed"
    start = Solution.from_dict(data)
    if start.terminals.shape != points.shape:
        return None, "does not fit"
    if np.array_equal(start.terminals, points):
        return start, "used"
    steiner, edges = refine(points, start.steiner_points, start.edges)
    length = tree_length(np.concatenate((points, steiner)), edges)
    moved = replace(
        start, terminals=points, steiner_points=steiner, edges=edges, length=length,
        lower_bound=None, status="feasible", crs=None, plane_crs=None,
    )  # fmt: skip
    return moved, "moved"
