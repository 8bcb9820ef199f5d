"""How server and worker talk: frames of bytes through the worker's standard input and output."""

from __future__ import annotations

import json
import pickle
import struct
from enum import IntEnum
from typing import Any

# To the worker: the lengths of what follows: a pickled (job, task, streams), the task's pickled
# arguments, and bytes that go with them as they are.
REQUEST = struct.Struct("!III")
# From the worker: length, job, what it is, and a number (milliseconds, or an HTTP status).
REPLY = struct.Struct("!IQBd")


class Reply(IntEnum):
    """What a frame from a worker holds."""

    READY = 1
    PROGRESS = 2
    DONE = 3
    ERROR = 4


def pack_arguments(arguments: dict[str, Any]) -> bytes:
    """Return a task's arguments as the bytes in which they wait and travel."""
    return pickle.dumps(arguments, protocol=5)


def pack_request(
    job: int, task: str, arguments: bytes = b"", data: bytes = b"", *, streams: bool = False
) -> tuple[bytes, ...]:
    """Return the parts of the frame that asks a worker for a task.

    Task "stop" ends the job it names. The parts are sent one by one: large ones are not copied.
    """
    head = pickle.dumps((job, task, streams), protocol=5)
    return REQUEST.pack(len(head), len(arguments), len(data)) + head, arguments, data


def pack_json(value: Any) -> bytes:
    """Return a value as JSON without spaces; a number that is not finite is an error."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def pack_reply(job: int, kind: Reply, number: float, payload: bytes) -> bytes:
    """Return the frame with which a worker answers."""
    return REPLY.pack(len(payload), job, kind, number) + payload
