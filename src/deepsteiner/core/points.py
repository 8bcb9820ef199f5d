"""The one validator that all points pass, and the frame in which all geometry is done."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from .coincident import merge_coincident
from .errors import OptionError, PointsError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Array = NDArray[Any]  # what kernels take: float64 or int64, as each says
Duplicates = Literal["merge", "raise"]

# Beyond this, squared distances and sums of lengths leave the range of float64.
LARGEST_COORDINATE = 1e150


def as_points(points: Any, *, what: str = "points") -> FloatArray:
    """Return the points as a new read-only (n, 2) float64 array, or say why they cannot be used.

    >>> as_points([[0, 0], [3, 4]]).shape
    (2, 2)
    """
    array = _numeric(points, what)
    if array.shape in ((0,), (0, 2)):
        raise PointsError(f"{what}: no points given; at least one (x, y) pair is needed")
    if array.ndim != 2 or array.shape[1] != 2:
        raise PointsError(f"{what} must have shape (n, 2), got {_shape(array)}")
    result = np.array(array, dtype=np.float64, order="C")
    _check_finite(result, what)
    result.flags.writeable = False
    return result


def as_batch(batch: Any) -> FloatArray | list[FloatArray]:
    """Return a batch as one read-only (B, n, 2) array, or as a list where sizes differ."""
    if isinstance(batch, np.ndarray) and batch.dtype != object:
        return _uniform_batch(batch)
    if isinstance(batch, (str, bytes)) or not hasattr(batch, "__iter__"):
        raise PointsError(
            "batch must be a (B, n, 2) array or a sequence of (n, 2) arrays, "
            f"got {type(batch).__name__}"
        )
    arrays = [as_points(points, what=f"instance {i}") for i, points in enumerate(batch)]
    if arrays and len({len(points) for points in arrays}) == 1:
        stacked = np.stack(arrays)
        stacked.flags.writeable = False
        return stacked
    return arrays


def _uniform_batch(batch: NDArray[Any]) -> FloatArray:
    array = _numeric(batch, "batch")
    if array.ndim != 3 or array.shape[2] != 2:
        raise PointsError(f"batch must have shape (B, n, 2), got {_shape(array)}")
    if array.shape[1] == 0:
        raise PointsError("batch: the instances have no points; at least one (x, y) pair is needed")
    result = np.array(array, dtype=np.float64, order="C")
    bad = ~(np.abs(result) <= LARGEST_COORDINATE).all(axis=(1, 2))
    if bad.any():
        index = int(np.argmax(bad))
        _check_finite(result[index], f"instance {index}")
    result.flags.writeable = False
    return result


def _numeric(points: Any, what: str) -> NDArray[Any]:
    try:
        array = np.asarray(points)
    except (ValueError, TypeError):
        raise PointsError(
            f"{what}: rows have different lengths; every point must be one (x, y) pair"
        ) from None
    if array.dtype == object:
        raise PointsError(f"{what} must be an (n, 2) array of real numbers, got {_kind(points)}")
    if array.dtype.kind not in "iuf":
        got = "complex numbers" if array.dtype.kind == "c" else f"values of type {array.dtype}"
        raise PointsError(f"{what} must be real numbers, got {got}")
    return array


def _check_finite(array: FloatArray, what: str) -> None:
    sizes = np.abs(array)
    if sizes.max() <= LARGEST_COORDINATE:  # false if any of them is NaN
        return
    row = int(np.argmax(~(sizes <= LARGEST_COORDINATE).all(axis=1)))
    x, y = array[row]
    large = math.isfinite(x) and math.isfinite(y)
    rule = f"at most {LARGEST_COORDINATE:g} in size" if large else "finite"
    raise PointsError(f"{what}: point {row} is ({x:g}, {y:g}); coordinates must be {rule}")


def _shape(array: NDArray[Any]) -> str:
    return "a single number" if array.ndim == 0 else str(array.shape)


def _kind(points: Any) -> str:
    if isinstance(points, (Sequence, np.ndarray)) and len(points):
        return f"a {type(points).__name__} holding {type(points[0]).__name__}"
    return type(points).__name__


@dataclass(frozen=True, slots=True)
class Frame:
    """Where geometry happens: shifted to the middle of the bounding box, scaled by 2**exponent.

    The shift is rounded to the spacing of the largest coordinate, so that subtracting it is exact
    for points given on one grid (UTM metres, integers), and the scale is a power of two, so that
    it never rounds. The middle of the box, unlike the centroid, does not depend on the order of
    the points.
    """

    shift: FloatArray
    exponent: int

    @classmethod
    def of(cls, points: FloatArray) -> Frame:
        """Return the frame that puts the points into [-1, 1] squared.

        The same as `frames` of a batch, in plain numbers: arrays of two are slow.
        """
        low, high = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        spacing = math.ulp(max(map(abs, (*low, *high))))
        shift = [round((a / 2 + b / 2) / spacing) * spacing for a, b in zip(low, high, strict=True)]
        extent = max(
            max(b - middle, middle - a) for a, b, middle in zip(low, high, shift, strict=True)
        )
        return cls(np.array(shift), -math.frexp(extent)[1])

    @property
    def unit(self) -> float:
        """The length, in the user's units, of one unit of the frame."""
        return math.ldexp(1.0, -self.exponent)

    def into(self, points: FloatArray) -> FloatArray:
        """Map points into the frame."""
        return np.ldexp(points - self.shift, self.exponent)

    def back(self, points: FloatArray) -> FloatArray:
        """Map points of the frame back to the user's coordinates."""
        return np.asarray(np.ldexp(points, -self.exponent) + self.shift, dtype=np.float64)


def frames(points: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the shift (B, 2) and the exponent (B,) of every instance of a (B, n, 2) batch."""
    low, high = points.min(axis=1), points.max(axis=1)
    spacing = np.spacing(np.maximum(np.abs(low), np.abs(high)).max(axis=1))[:, None]
    shifts = np.rint((low / 2 + high / 2) / spacing) * spacing
    extent = np.maximum(high - shifts, shifts - low).max(axis=1)
    # An extent of 0 has exponent 0 under frexp, which leaves the scale alone.
    return shifts, -np.frexp(extent)[1].astype(np.int64)


@dataclass(frozen=True, slots=True)
class Problem:
    """What a method gets: distinct points in the frame, and how they map to the terminals.

    `owner[i]` is the distinct point of terminal i; `first[j]` is the first terminal at distinct
    point j; the pairs in `ties` join the other terminals to those. Where no two points coincide
    (see `coincident`), both are 0..n-1 and the order of the points is the user's.
    """

    terminals: FloatArray
    frame: Frame
    points: FloatArray
    owner: IntArray
    first: IntArray
    ties: IntArray

    @classmethod
    def of(
        cls,
        terminals: FloatArray,
        duplicates: Duplicates = "merge",
        around: FloatArray | None = None,
    ) -> Problem:
        """Map validated terminals into their frame and merge (or refuse) those that coincide.

        `around` are further points that the frame must hold.
        """
        frame = Frame.of(terminals if around is None else np.concatenate((terminals, around)))
        problem = cls.within(frame, terminals)
        if len(problem.ties) and duplicates == "raise":
            _refuse_duplicates(terminals, problem.ties)
        return problem

    @classmethod
    def within(cls, frame: Frame, terminals: FloatArray) -> Problem:
        """Map validated terminals into a frame that holds them and merge those that coincide."""
        inside = frame.into(terminals)
        owner, first, ties = merge_coincident(inside)
        return cls(terminals, frame, inside[first] if len(ties) else inside, owner, first, ties)


def check_duplicates_policy(duplicates: str) -> Duplicates:
    """Return the policy, or refuse an unknown one."""
    if duplicates not in ("merge", "raise"):
        raise OptionError(f"duplicates must be 'merge' or 'raise', got {duplicates!r}")
    return cast(Duplicates, duplicates)


def _refuse_duplicates(terminals: FloatArray, ties: IntArray) -> None:
    low, high = sorted(ties[np.argmin(ties.max(axis=1))].tolist())
    (a, b), (x, y) = terminals[low], terminals[high]
    how = f"are equal ({x:g}, {y:g})"
    if (a, b) != (x, y):
        apart = math.hypot(x - a, y - b)
        how = f"coincide up to rounding at ({x:g}, {y:g}), {apart:.2g} apart,"
    raise PointsError(f"points: rows {low} and {high} {how} and duplicates='raise'")
