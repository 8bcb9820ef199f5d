"""Generation in one call, for small inputs inside other kernels."""

from __future__ import annotations

import numpy as np

from ....core.jit import njit
from .bottleneck_kernels import Floats, Ints, spanning_tree
from .closing_kernels import close_level
from .generation_kernels import DONE, begin, with_room
from .growth_kernels import finish_level, grow_level, search_level
from .rebuild_kernels import collect_trees

UNLIMITED = 1 << 60


@njit(cache=True, error_model="numpy")
def generate_small(
    points: Floats,
) -> tuple[Ints, Ints, Floats, Floats, Ints]:
    """All of `generate` without slices: offsets, terminals, lengths, Steiner points, edges.

    Made for up to some twenty points, centred and scaled to [-1, 1]; larger inputs are correct but
    cannot be interrupted.
    """
    n = len(points)
    edges, lengths = spanning_tree(points)
    generation = begin(points, edges, lengths)
    first = generation.first
    # as literals these would compile their callees twice
    one, unlimited = int(np.int64(1)), int(np.int64(UNLIMITED))
    finish_level(generation, one)
    for size in range(2, n):
        first[size] = generation.progress[0].branches
        status = grow_level(generation, size, unlimited)
        while status != DONE:
            generation = with_room(generation, status)
            status = grow_level(generation, size, unlimited)
        finish_level(generation, size)
        status = close_level(generation, size, unlimited)
        while status != DONE:
            generation = with_room(generation, status)
            status = close_level(generation, size, unlimited)
        status = search_level(generation, size, unlimited)
        while status != DONE:
            generation = with_room(generation, status)
            status = search_level(generation, size, unlimited)
        if first[size] == first[size + 1] and generation.progress[0].pairs == 0:
            break
    return collect_trees(generation)
