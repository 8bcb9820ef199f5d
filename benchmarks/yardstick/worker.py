"""One checkout at work: reads cases from standard input, solves them, writes what they took.

Started by quick.py with the checkout's `src` on PYTHONPATH. It calls `solve` and `solve_many` and
nothing else of the package, so that any version can be measured. The points come in a file.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from typing import Any

import numpy as np

CHUNK = 50


def work(points: np.ndarray, order: dict[str, Any]) -> dict[str, Any]:
    """Solve the instances of a case once; return what every call took, and the trees.

    A batch is a call for every CHUNK instances: of short calls some are left undisturbed. Times
    are seconds by the clock and of the processor.
    """
    import deepsteiner as ds

    method, options = order["method"], order["options"]
    times, trees = [], []
    gc.collect()
    if order["mode"] == "batch":
        for start in range(0, len(points), CHUNK):
            began = _clocks()
            solved = ds.solve_many(points[start : start + CHUNK], method, **options)
            times.append(_clocks() - began)
            trees += list(solved)
    else:
        for one in points:
            began = _clocks()
            tree = ds.solve(one, method, **options)
            times.append(_clocks() - began)
            trees.append(tree)
    return {
        "times": np.array(times).tolist(),
        "lengths": [float(tree.length) for tree in trees],
        "statuses": [str(tree.status) for tree in trees],
    }


def _clocks() -> np.ndarray:
    return np.array((time.perf_counter(), time.process_time()))


def main() -> None:
    """Say which package this is, then answer every line until the input ends."""
    # What a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    import deepsteiner

    answers.write(json.dumps({"package": deepsteiner.__file__}) + "\n")
    with np.load(sys.argv[1]) as file:
        loaded = {name: file[name] for name in file.files}
    for line in sys.stdin:
        order = json.loads(line)
        points = loaded[order["set"]][: order["count"]]
        try:
            answer = work(points, order)
        except Exception as error:  # a version without the method, or one that fails: a result too
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
