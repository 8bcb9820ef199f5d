"""How much a body may hold, counted while it arrives: what is parsed is never much larger.

A few bytes of JSON can become hundreds in memory, so lists, objects and values are limited beside
the bytes themselves. Marks inside strings count as well; good requests have none to speak of.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..refusals import Refusal

# What each mark begins or ends.
MARKS = {b"[": "lists", b"{": "objects", b",": "values", b"\n": "lines"}


@dataclass(frozen=True, slots=True)
class Room:
    """How many lists, objects, values and lines a body may hold, for so many points."""

    points: int
    lists: int
    objects: int
    values: int
    lines: int


def room_for_request(points: int) -> Room:
    """Return the room of a request, which may bring a tree to begin from.

    That makes five times as many pairs as points: the points, and the tree's terminals, Steiner
    points (fewer) and edges (fewer than twice as many). The rest is for options and for what a
    solution says about itself.
    """
    lists = 5 * points + 1_000
    return Room(points, lists, 1_000, 2 * lists + 20_000, 10 * lists)


def room_for_file(points: int) -> Room:
    """Return the room of a file of points, in which each may be an object with properties.

    Several instances may stand in one file; the first of them is read.
    """
    return Room(points, 10 * points, 5 * points, 20 * points, 10 * points)


class Counter:
    """Counts what a body holds, piece by piece."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self._found = dict.fromkeys(MARKS, 0)

    def add(self, piece: bytes) -> None:
        """Count one more piece, or refuse the body."""
        for mark, word in MARKS.items():
            self._found[mark] += piece.count(mark)
            most = getattr(self.room, word)
            if self._found[mark] > most:
                raise Refusal(
                    413,
                    f"the body holds too much: more than {most} {word}, where at most "
                    f"{self.room.points} points are accepted",
                )
