"""Trees that are kept while a terminal moves, looked at again with the terminal at its place."""

from __future__ import annotations

import numpy as np

from ....core.jit import njit
from ....plane.sight_kernels import Flags
from ..complete.bottleneck_kernels import Records
from .branch_kernels import Sprouts
from .growth_kernels import draw, may_be_needed, new_drawn
from .landscape_kernels import Landscape


@njit(cache=True, error_model="numpy")
def still_needed(ground: Landscape, sprouts: Sprouts, trees: Records) -> Flags:
    """Whether trees that were closed on other ground pass the tests of drawn trees on this."""
    needed = np.empty(len(trees), np.bool_)
    for k in range(len(trees)):
        branch, root = trees[k].branch, trees[k].root
        drawn = new_drawn(sprouts.branches[branch].size)
        draw(ground.places, sprouts, branch, root, drawn)
        needed[k] = may_be_needed(ground, sprouts, branch, root, drawn)
    return needed
