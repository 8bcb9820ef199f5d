"""A small counter-based random stream for kernels: the same numbers on every platform."""

from __future__ import annotations

import math

import numpy as np
from numba import uint64

from ..core.jit import njit
from ..core.points import Array


@njit(cache=True)
def next_uniform(state: Array) -> float:
    """Advance the one-element uint64 state (SplitMix64) and return a float in [0, 1)."""
    state[0] += uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    z = z ^ (z >> uint64(31))
    return float(z >> uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True)
def next_below(state: Array, n: int) -> int:
    """Return a random integer in 0..n-1."""
    return min(int(next_uniform(state) * n), n - 1)


@njit(cache=True)
def next_normal(state: Array) -> float:
    """Return a standard normal number (Box and Muller's form; one of the pair is not used)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - next_uniform(state)))
    return radius * math.cos(2.0 * math.pi * next_uniform(state))


@njit(cache=True)
def new_state(seed: int) -> Array:
    """Return the state that begins the stream of a 64-bit seed."""
    state = np.empty(1, dtype=np.uint64)
    state[0] = uint64(seed)
    return state
