"""Every error a user can cause: one sentence that says what, where, and what is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .solution import Solution


class DeepSteinerError(ValueError):
    """Base class of all errors that deepsteiner raises about its input."""


class PointsError(DeepSteinerError):
    """The points cannot be used: wrong shape, not finite, not numbers, or refused duplicates."""


class FormatError(DeepSteinerError):
    """A file could not be read or written in the format its name or content announces."""


class OptionError(DeepSteinerError):
    """An argument or a method option is unknown or out of range."""


class UnknownMethodError(DeepSteinerError):
    """No method of that name is registered."""


class TreeError(DeepSteinerError):
    """The edges do not form the tree they claim to be."""


class MissingDependencyError(DeepSteinerError):
    """An optional package is needed and not installed; the sentence says which."""


class WorkerError(RuntimeError):
    """A worker process died, as where memory runs out; the sentence names its instance.

    `finished` has the solutions of the batch that are finished, by their positions in it.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.finished: dict[int, Solution] = {}
