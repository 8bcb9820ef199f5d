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
    """Base class of all errors that deepsteiner raises of its own accord."""


class InputError(DeepSteinerError, ValueError):
    """What was given cannot be used; the kinds below say which part of it."""


class PointsError(InputError):
    """The points cannot be used: wrong shape, not finite, not numbers, or refused duplicates."""


class FormatError(InputError):
    """A file could not be read or written in the format its name or content announces."""


class OptionError(InputError):
    """An argument or a method option is unknown or out of range."""


class UnknownMethodError(InputError):
    """No method of that name is registered."""


class ObstacleError(InputError):
    """An obstacle cannot be used, or leaves a terminal inside it or cut off."""


class TreeError(InputError):
    """The edges do not form the tree they claim to be."""


class MissingDependencyError(DeepSteinerError, ImportError):
    """An optional package is needed and not installed; the sentence says which."""


class InternalError(DeepSteinerError, RuntimeError):
    """A fault of deepsteiner's own, never of the input; its notes say how to repeat it."""


class WorkerError(DeepSteinerError, RuntimeError):
    """Worker processes died, as where memory runs out; the sentence names the instances.

    `failed` says of each instance that is given up why, and `finished` has the solutions that are
    there, both by their positions in the batch or stream.
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
