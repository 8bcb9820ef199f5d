"""The exception tree; `deepsteiner.errors` is its public address, and shows it as a picture.

Each message is one sentence that says what, where, and what is accepted. The command line exits
with 2 and the server answers 4xx where the input is to blame; an internal error gives 70 and 500.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .solution import Solution

# Up to this many points are written out where a fault says how to repeat it.
MOST_POINTS_SHOWN = 1000


class DeepSteinerError(Exception):
    """Base class of all errors that deepsteiner raises of its own accord.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> try:
    ...     ds.solve([[0, 0], [1, 1]], "exacty")
    ... except ds.DeepSteinerError as error:
    ...     print(type(error).__name__)
    UnknownMethodError
    """


class InputError(DeepSteinerError, ValueError):
    """What was given cannot be used; the kinds below say which part of it.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> issubclass(ds.errors.InputError, ValueError)
    True
    """


class PointsError(InputError):
    """The points cannot be used: wrong shape, not finite, not numbers, or refused duplicates.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> try:
    ...     ds.solve([[0, 0], [1, float("inf")]])
    ... except ds.errors.PointsError as error:
    ...     print(error)
    points: point 1 is (1, inf); coordinates must be finite
    """


class FormatError(InputError):
    """A file could not be read or written in the format its name or content announces.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> try:
    ...     ds.load_points("nowhere.csv")
    ... except ds.errors.FormatError as error:
    ...     print(error)
    nowhere.csv does not exist
    """


class OptionError(InputError):
    """An argument or a method option is unknown or out of range.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> try:
    ...     ds.solve([[0, 0], [1, 1]], "mst", colour="red")
    ... except ds.errors.OptionError as error:
    ...     print(error)
    method 'mst' has no option 'colour'; its options are: none
    """


class UnknownMethodError(InputError):
    """No method of that name is registered.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> try:
    ...     ds.solve([[0, 0], [1, 1]], "steiner")
    ... except ds.errors.UnknownMethodError as error:
    ...     print(str(error).partition(";")[0])
    unknown method 'steiner'
    """


class ObstacleError(InputError):
    """An obstacle cannot be used, or leaves a terminal inside it or cut off.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> wall = [[(0, 0), (2, 0), (2, 2), (0, 2)]]
    >>> try:
    ...     ds.solve([[1, 1], [3, 3]], obstacles=[wall])
    ... except ds.errors.ObstacleError as error:
    ...     print(error)
    point 0 at (1, 1) is inside an obstacle; terminals must be outside, or on the boundary
    """


class NetworkError(InputError):
    """An existing network cannot be used: no lines or polygons, or not finite.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> try:
    ...     ds.solve([[0, 1]], existing=[[[0, 0], [float("nan"), 0]]])
    ... except ds.errors.NetworkError as error:
    ...     print(type(error).__name__)
    NetworkError
    """


class TreeError(InputError):
    """The edges do not form the tree they claim to be.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> loop = ds.Solution([[0, 0], [1, 0]], [], [[0, 0]], 0.0)
    >>> try:
    ...     loop.validate()
    ... except ds.errors.TreeError as error:
    ...     print(error)
    the edges do not connect all points
    """


class MissingDependencyError(DeepSteinerError, ImportError):
    """An optional package is needed and not installed; the sentence says which.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> issubclass(ds.errors.MissingDependencyError, ImportError)
    True
    """


class InternalError(DeepSteinerError, RuntimeError):
    """A fault of deepsteiner's own, never of the input; its notes say how to repeat it.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> issubclass(ds.errors.InternalError, RuntimeError)
    True
    """


class WorkerError(DeepSteinerError, RuntimeError):
    """Worker processes died, as where memory runs out; the sentence names the instances.

    `failed` says of each instance that is given up why, and `finished` has the solutions that are
    there, both by their positions in the batch or stream.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> error = ds.errors.WorkerError("instance 3 was given up", {3: "out of memory"})
    >>> error.failed, error.finished
    ({3: 'out of memory'}, {})
    """

    def __init__(self, sentence: str, failed: Mapping[int, str] | None = None) -> None:
        super().__init__(sentence)
        self.failed: dict[int, str] = dict(failed or {})
        self.finished: dict[int, Solution] = {}


def repeating_line(points: Any, method: str, seed: int, options: Mapping[str, Any]) -> str:
    """Return the line of Python that repeats a solve, bit for bit.

    >>> import numpy as np
    >>> repeating_line(np.eye(2), "greedy", 0, {"relax": False})
    "solve([[1.0, 0.0], [0.0, 1.0]], 'greedy', seed=0, relax=False)"
    """
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"solve({shown_points(points)}, {method!r}, seed={seed}{given})"


def shown_points(points: Any) -> str:
    """Return an array of points as Python writes it, or their number where they are many."""
    return str(points.tolist()) if len(points) <= MOST_POINTS_SHOWN else f"<{len(points)} points>"
