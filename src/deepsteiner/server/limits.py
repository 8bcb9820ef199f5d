"""What one request may cost; every refusal names the limit it met."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server.

    `points` and `trace_points` count points of one request, `body_bytes` the bytes of its body,
    which must arrive within `body_seconds`. A solve gets at most `time_limit` seconds; where it
    has not stopped `grace` seconds later its worker is ended. `queue` requests may wait.
    """

    points: int = 20_000
    trace_points: int = 200
    relays: int = 100_000
    body_bytes: int = 4 * 2**20
    body_seconds: float = 10.0
    time_limit: float = 60.0
    grace: float = 5.0
    queue: int = 512


def default_workers() -> int:
    """Return one worker a core, and two at least: one long solve must not block the others."""
    return min(max(2, os.cpu_count() or 1), 16)
