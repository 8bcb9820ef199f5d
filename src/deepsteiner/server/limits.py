"""What one request may cost; every refusal names the limit it met."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server.

    `points` and `trace_points` count points of one request, `corners` those of all its obstacles
    and existing lines, `body_bytes` the bytes of its body, which must arrive within
    `body_seconds`. A solve gets at most `time_limit` seconds; where it has not stopped `grace`
    seconds later its worker is ended. A worker gets `worker_bytes` of memory.

    `queue` requests may wait, and as many streams; what waits and is large (over `SMALL_BYTES`)
    takes at most `waiting_bytes` in all. `connections` may be open. One that has not sent a whole
    request head `head_seconds` after it was opened, or after its last answer, is closed; so is one
    that does not take its answer within `answer_seconds`.
    """

    points: int = 20_000
    trace_points: int = 200
    relays: int = 100_000
    corners: int = 2_000
    body_bytes: int = 4 * 2**20
    body_seconds: float = 10.0
    time_limit: float = 60.0
    queue: int = 512
    waiting_bytes: int = 64 * 2**20
    connections: int = 1000
    head_seconds: float = 15.0
    answer_seconds: float = 60.0
    worker_bytes: int = 4 * 2**30
    grace: float = 5.0

    def told(self, workers: int) -> dict[str, float]:
        """Return what a server with this many workers says about its limits."""
        told = {name: value for name, value in asdict(self).items() if name != "grace"}
        return {**told, "streams_at_once": most_streams(workers)}


# Bodies up to this size are read at once and never refused for what else waits.
SMALL_BYTES = 64 * 2**10
# Every connection may hold a socket and a file; the rest is for workers, pipes and libraries.
DESCRIPTORS_EACH = 2
DESCRIPTORS_KEPT = 24
DESCRIPTORS_PER_WORKER = 4
FEWEST_CONNECTIONS = 4


def default_workers() -> int:
    """Return one worker a core, and three at least.

    One is kept for plain solves, so that two streams can run side by side.
    """
    return min(max(3, os.cpu_count() or 1), 16)


def most_streams(workers: int) -> int:
    """Return how many workers streams may have at once: all but one."""
    return max(1, workers - 1)


def affordable_connections(wanted: int, workers: int) -> int:
    """Return how many connections the process has descriptors for, at most as many as wanted."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed == resource.RLIM_INFINITY:
        return wanted
    room = allowed - DESCRIPTORS_KEPT - DESCRIPTORS_PER_WORKER * (workers + 1)
    return min(wanted, max(FEWEST_CONNECTIONS, room // DESCRIPTORS_EACH))
