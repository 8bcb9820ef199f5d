"""How much a body may hold, counted while it arrives: what is parsed is never much larger.

A few bytes of JSON can become hundreds in memory, so lists, objects and values are limited beside
the bytes themselves. Marks inside strings count as well; good requests have none to speak of.
"""

from __future__ import annotations

from ..refusals import Refusal

# What each mark begins or ends.
MARKS = {"lists": b"[", "objects": b"{", "values": b",", "lines": b"\n"}


class Counter:
    """Counts what a body of so many points holds, piece by piece; `most` limits each of `MARKS`."""

    def __init__(self, points: int, **most: int) -> None:
        self._points = points
        self._most = most
        self._found = dict.fromkeys(MARKS, 0)

    def add(self, piece: bytes) -> None:
        """Count one more piece, or refuse the body."""
        for word, most in self._most.items():
            self._found[word] += piece.count(MARKS[word])
            if self._found[word] > most:
                raise Refusal(
                    413,
                    f"the body holds too much: more than {most} {word}, where at most "
                    f"{self._points} points are accepted",
                )


def request_counter(points: int) -> Counter:
    """Return the counter for a request, which may bring a tree to begin from.

    That makes five times as many pairs as points: the points, and the tree's terminals, Steiner
    points (fewer) and edges (fewer than twice as many). The rest is for options and for what a
    solution says about itself.
    """
    lists = 5 * points + 1_000
    return Counter(points, lists=lists, objects=1_000, values=2 * lists + 20_000, lines=10 * lists)


def file_counter(points: int) -> Counter:
    """Return the counter for a file of points, in which each may be an object with properties.

    Several instances may stand in one file; the first of them is read.
    """
    each = {"lists": 10, "objects": 5, "values": 20, "lines": 10}
    return Counter(points, **{word: share * points for word, share in each.items()})
