"""The clerk: a process that checks large bodies and makes samples, so that the server need not.

What a body expands to while it is parsed is this process's, and so is the time that takes.
"""

from __future__ import annotations

import gc
import json
import pickle
import sys

from ... import datasets
from ..intake.checks import check
from ..limits import Limits
from .worker import Channel, Task, serve_tasks

# Converting more digits takes time by their square, and Python allows no smaller limit.
MOST_DIGITS = 640


def check_task(channel: Channel, kind: str, limits: Limits, data: bytes) -> bytes:
    """Check a body; return the order it places."""
    try:
        return pickle.dumps(check(kind, data, limits))
    finally:
        gc.collect()  # a refused body may hang on its refusal


def sample_task(channel: Channel, name: str, n: int | None, seed: int) -> bytes:
    """Return points to play with, as JSON."""
    points = datasets.load(name, count=1, n=n, seed=seed)[0]
    return json.dumps({"points": points.tolist()}).encode()


def clerk_tasks() -> dict[str, Task]:
    """Return what a clerk does, with all loaded that it needs."""
    sys.set_int_max_str_digits(MOST_DIGITS)
    check("solve", b'{"points": [[0, 0]]}', Limits())
    datasets.load("uniform", count=1, n=3)
    return {"check": check_task, "sample": sample_task}


if __name__ == "__main__":
    serve_tasks(clerk_tasks)
