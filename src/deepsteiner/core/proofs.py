"""What happens to a claim that turns out to be wrong: it is withdrawn, and the log says so."""

from __future__ import annotations

import logging
import os
import tempfile
from typing import Any

import numpy as np

from .points import FloatArray

# Rounding explains this much, relative to the length; a bound that is further above the length of
# a known tree is wrong.
CONTRADICTED = 1e-9
# Lengths below the range of normal numbers are sums of edges that were each rounded to a grid.
DENORMAL = 1e-314
# Points that a log line can hold; more are written to a file.
MOST_IN_LOG = 40
# A bound this close to the length, relatively, is the length: both were rounded on the way.
EQUAL = 1e-12

log = logging.getLogger("deepsteiner")


def is_contradicted(bound: Any, length: Any) -> Any:
    """Return whether a tree of this length shows that the lower bound is wrong.

    Works on single numbers and on arrays; nan is no bound.

    >>> is_contradicted(2.0, 1.9), is_contradicted(2.0, 2.0 - 1e-12)
    (True, False)
    """
    return bound > length * (1.0 + CONTRADICTED) + DENORMAL


def stated_bound(bound: FloatArray | float, length: FloatArray | float) -> FloatArray:
    """Return a bound as it is handed out: never above the length, and equal to it up to rounding.

    Works on single numbers and on arrays; nan stays nan.
    """
    return np.where(np.asarray(length) * (1.0 - EQUAL) <= bound, length, bound)


def report_contradiction(
    method: str, points: FloatArray, bound: float, length: float
) -> dict[str, Any]:
    """Log a wrong bound with what reproduces it; return a record for `Solution.info`.

    `points`, `bound` and `length` are in one and the same unit.
    """
    from .. import __version__

    record = {"method": method, "bound": float(bound), "length": float(length)}
    log.error(
        "deepsteiner %s: method %r claimed a lower bound of %r, but knows a tree of length %r. "
        "The claim was withdrawn. Please report this with the points: %s",
        __version__, method, float(bound), float(length), _reproduction(points),
    )  # fmt: skip
    return record


def _reproduction(points: FloatArray) -> str:
    if len(points) <= MOST_IN_LOG:
        return repr(points.tolist())
    try:
        handle, name = tempfile.mkstemp(prefix="deepsteiner-contradiction-", suffix=".npy")
        with os.fdopen(handle, "wb") as file:
            np.save(file, points)
    except OSError as error:
        return f"{len(points)} of them, which could not be written ({error.strerror})"
    return name
