"""The process that `structured.py` measures: it needs nothing but the package of a checkout."""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import deepsteiner as ds


def main() -> None:
    """Solve what each line of input names; print lengths and the processor seconds of one solve."""
    for line in sys.stdin:
        path, method, effort = json.loads(line)
        with np.load(path) as stored:
            points = [stored[key] for key in stored.files]
        options = {"effort": effort, "threads": 1}
        ds.solve(points[0][:200], method, **options)
        ds.solve(points[0][:400], method, **options)
        began = time.process_time()
        lengths = [ds.solve(one, method, **options).length for one in points]
        print(json.dumps([lengths, (time.process_time() - began) / len(points)]), flush=True)


if __name__ == "__main__":
    main()
