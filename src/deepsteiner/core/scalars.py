"""Single numbers as people give them: Python's, numpy's and 0-d arrays, but never truth values."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np


def as_whole(value: Any) -> int | None:
    """Return a whole number as an int, or None if the value is not one.

    >>> import numpy as np
    >>> as_whole(np.uint8(7)), as_whole(np.array(7)), as_whole(7.0), as_whole(True)
    (7, 7, None, None)
    """
    value = _unpacked(value)
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    return int(value)


def as_real(value: Any) -> float | None:
    """Return a real number as a float, or None if the value is not one or too large for a float.

    >>> import numpy as np
    >>> as_real(np.float32(0.5)), as_real(2), as_real("2"), as_real(np.True_)
    (0.5, 2.0, None, None)
    """
    value = _unpacked(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def as_truth(value: Any) -> bool | None:
    """Return True or False, Python's or numpy's, as a bool, or None if the value is neither."""
    value = _unpacked(value)
    return bool(value) if isinstance(value, (bool, np.bool_)) else None


def _unpacked(value: Any) -> Any:
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
