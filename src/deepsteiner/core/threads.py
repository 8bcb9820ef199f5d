"""How many threads the parallel kernels may use."""

from __future__ import annotations


def use_threads(count: int) -> None:
    """Let parallel kernels called from this thread use `count` threads, as far as there are any."""
    import numba

    limit = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    numba.set_num_threads(max(1, min(count, limit)))
