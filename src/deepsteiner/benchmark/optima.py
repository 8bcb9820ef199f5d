"""Optimal lengths of instance sets: solved once by the exact solver, then kept by content hash.

The cache is a folder of .npz files in the user's cache folder, one per set. A file that
cannot be read, or does not hold what its name says, is made again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path

import numpy as np

from ..batch import solve_many
from ..core.errors import FormatError, OptionError
from ..core.folders import user_cache
from ..core.points import FloatArray
from ..io.arrays import Archive
from ..io.atomic import atomic_write
from ..io.sources import read_source
from ..run.monitor import ProgressCallback
from .specs import Instances

# A tree may be shorter than the stored optimum by rounding, and by nothing else.
TOLERANCE = 1e-9


def content_hash(points: FloatArray) -> str:
    """Return a name for a set of instances that only the same set has."""
    digest = hashlib.blake2b(digest_size=12)
    digest.update(repr(points.shape).encode())
    digest.update(np.ascontiguousarray(points, dtype="<f8").tobytes())
    return digest.hexdigest()


def cache_folder() -> Path:
    """Return the folder of the cache; DEEPSTEINER_CACHE overrides it."""
    if told := os.environ.get("DEEPSTEINER_CACHE"):
        return Path(told) / "optima"
    return user_cache() / "deepsteiner" / "optima"


def optimal_lengths(
    instances: Instances,
    known: Mapping[str, FloatArray] | None = None,
    on_progress: ProgressCallback | None = None,
    executor: Executor | None = None,
) -> FloatArray:
    """Return the optimum of every instance.

    Taken, in this order, from the dataset's own file, from `known` (by content hash), from the
    cache, and from the exact solver.
    """
    if instances.optima is not None:
        return instances.optima
    name = content_hash(instances.points)
    if known is not None and name in known:
        return known[name]
    path = cache_folder() / f"{name}.npz"
    with suppress(FormatError):  # a file that is not there, or damaged
        cached = read_optima(path).get(name)
        if cached is not None and len(cached) == len(instances.points) and np.all(cached >= 0.0):
            return cached
    found = _solve(instances, on_progress, executor)
    with suppress(OSError, FormatError):  # not being able to write costs time, not the result
        path.parent.mkdir(parents=True, exist_ok=True)
        write_optima(path, {name: found})
    return found


def write_optima(path: str | os.PathLike[str], optima: Mapping[str, FloatArray]) -> None:
    """Write sets of optima, by content hash, to one .npz file."""
    with atomic_write(path, "wb") as stream:
        np.savez(stream, **optima)  # type: ignore[arg-type]


def read_optima(path: str | os.PathLike[str]) -> dict[str, FloatArray]:
    """Return the sets of optima of a file that `write_optima` made."""
    archive = Archive(read_source(path))
    found = archive.read(*archive.names)
    if any(array.dtype != np.float64 or array.ndim != 1 for array in found.values()):
        raise FormatError(f"{os.fspath(path)} is not an .npz file of optimal lengths")
    return {name: np.array(array) for name, array in found.items()}


def check_against_optima(lengths: FloatArray, optima: FloatArray, what: str) -> None:
    """Refuse optima that a tree beats: they belong to other instances, or are not optima."""
    below = lengths < optima * (1 - TOLERANCE)
    if below.any():
        index = int(np.argmax(below))
        raise OptionError(
            f"{what}: the tree of instance {index} has length {lengths[index]:.9g}, below the "
            f"stated optimum {optima[index]:.9g}; the optima are not those of these instances"
        )


def _solve(
    instances: Instances, on_progress: ProgressCallback | None, executor: Executor | None
) -> FloatArray:
    solved = solve_many(instances.points, "exact", on_progress=on_progress, executor=executor)
    open_ones = [index for index, status in enumerate(solved.statuses) if status != "optimal"]
    if open_ones:
        if on_progress is not None and "interrupted" in solved.statuses:
            raise KeyboardInterrupt
        raise OptionError(
            f"dataset {instances.label!r}: instance {open_ones[0]} was not solved to proof"
        )
    return solved.lengths
