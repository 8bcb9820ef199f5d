"""What a fresh process pays: the import, the first solve with cached kernels, and the very first.

Run: python benchmarks/startup.py            (about two minutes: everything is compiled once)
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from common import print_provenance, print_table

IMPORT = "import deepsteiner"
SOLVE = "import deepsteiner as ds; ds.solve([[0,0],[3,1],[1,4],[4,4],[2,2],[5,1]] , {method!r})"
LARGE = (
    "import deepsteiner as ds, numpy as np; "
    "ds.solve(np.random.default_rng(0).random((100, 2)), {method!r})"
)


def seconds(code: str, cache: str) -> float:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    factor = print_provenance()
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as cache:
        empty = min(seconds("pass", cache) for _ in range(5))
        quick = min(seconds(IMPORT, cache) for _ in range(5)) - empty
        rows.append(["import deepsteiner", f"{quick:.2f}", f"{quick * factor:.2f}", "0.3"])
        for method, code, first_limit in (
            ("greedy", SOLVE, 20),
            ("exact", LARGE, 60),
        ):
            first = seconds(code.format(method=method), cache)
            again = min(seconds(code.format(method=method), cache) for _ in range(3))
            scaled = f"{first * factor:.1f}"
            rows.append([f"{method}, very first", f"{first:.1f}", scaled, first_limit])
            rows.append([f"{method}, kernels cached", f"{again:.2f}", f"{again * factor:.2f}", 3])
    print_table(["what", "s", "s scaled", "at most"], rows)


if __name__ == "__main__":
    main()
