"""Requests that move one point of an earlier one among the same obstacles, as a drag sends them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.points import FloatArray
from ...core.solution import Solution
from ...dragging import dragged
from ...run.monitor import Monitor, ProgressCallback

PROVING = ("exact", "auto")
"""Methods that answer with a proof where there are so few points."""
KEPT = 4
"""Answers that are remembered: several people may drag at once."""


@dataclass(frozen=True, eq=False)
class _Answered:
    """A request as `solve` takes it, and its tree."""

    call: dict[str, Any]
    solution: Solution


class Moves:
    """The latest trees around obstacles, for requests that continue one of them."""

    def __init__(self) -> None:
        self._answered: deque[_Answered] = deque(maxlen=KEPT)

    def solve(self, call: dict[str, Any], on_progress: ProgressCallback) -> Solution | None:
        """Return a proven tree that continues an earlier one; None where none is continued."""
        for before in list(self._answered):
            index = _moved(before.call, call)
            if index is None:
                continue
            monitor = Monitor(call["time_limit"], on_progress)
            found = dragged(before.solution, index, call["points"][index], monitor)
            if found is not None:
                self._answered.remove(before)
            return found
        return None

    def remember(self, call: dict[str, Any], solution: Solution) -> None:
        """Keep an answer that a later request may continue."""
        if call.get("obstacles") and call["method"] in PROVING:
            self._answered.append(_Answered(call, solution))


def _moved(before: dict[str, Any], call: dict[str, Any]) -> int | None:
    """Return the one point that a request has moved; None where anything else has changed."""
    points, places = before["points"], call["points"]
    if points.shape != places.shape or not _same_beside(before, call):
        return None
    changed = np.flatnonzero((points != places).any(axis=1))
    return int(changed[0]) if len(changed) == 1 else None


def _same_beside(before: dict[str, Any], call: dict[str, Any]) -> bool:
    """Whether two requests ask the same of points among the same shapes."""
    apart = ("points", "obstacles", "time_limit")
    plain = [{name: one[name] for name in one if name not in apart} for one in (before, call)]
    shapes: list[list[FloatArray]] = [one.get("obstacles", []) for one in (before, call)]
    return (
        "existing" not in call
        and plain[0] == plain[1]
        and len(shapes[0]) == len(shapes[1])
        and all(np.array_equal(a, b) for a, b in zip(*shapes, strict=True))
    )
