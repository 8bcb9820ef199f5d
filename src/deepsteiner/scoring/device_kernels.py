"""What the network needs of one small instance when it runs elsewhere."""

from __future__ import annotations

from numba import njit

from ..core.points import Array
from .network_kernels import described, savings
from .small_instance_kernels import list_grown


@njit(cache=True, nogil=True)
def listed(
    points: Array, largest: int
) -> tuple[Array, Array, Array, Array, Array, Array, Array, Array, Array]:
    """Return (start, terminals, length, steiner, gone_start, gone, features, begin, links)."""
    start, terminals, length, steiner = list_grown(points, largest)
    base, gone_start, gone = savings(points.shape[0], start, terminals, length)
    rows, begin, links = described(
        points, start, terminals, length, steiner, base, gone_start, gone
    )
    return start, terminals, length, steiner, gone_start, gone, rows, begin, links
