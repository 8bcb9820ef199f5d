"""How server and worker talk: frames of bytes through the worker's standard input and output."""

from __future__ import annotations

import json
import pickle
import struct
from http import HTTPStatus
from typing import Any

# To the worker: job, whether it streams, and the length of the pickled task that follows. One
# without a task stops the job.
REQUEST = struct.Struct("!Q?I")
# From the worker: length, job, an HTTP status, and the milliseconds that the job took.
REPLY = struct.Struct("!IQHd")
# Statuses, beside those of answers: the worker is up; a job is under way.
READY, PROGRESS = HTTPStatus.CONTINUE, HTTPStatus.PROCESSING


def pack_task(name: str, /, **arguments: Any) -> bytes:
    """Return a task as the bytes in which it waits and travels."""
    return pickle.dumps((name, arguments), protocol=5)


def pack_request(job: int, task: bytes = b"", *, streams: bool = False) -> tuple[bytes, bytes]:
    """Return the parts of a frame for a worker, sent one by one: a large task is not copied."""
    return REQUEST.pack(job, streams, len(task)), task


def pack_json(value: Any) -> bytes:
    """Return a value as JSON without spaces; a number that is not finite is an error."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def pack_reply(job: int, status: int, payload: bytes, milliseconds: float) -> bytes:
    """Return the frame with which a worker answers."""
    return REPLY.pack(len(payload), job, status, milliseconds) + payload
