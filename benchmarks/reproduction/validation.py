"""Write the validation instances of D1, D2 and D3 with their optimal lengths.

    python -m benchmarks.reproduction.validation --out runs/validation

A GPU machine without compiled kernels need not solve them then.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import deepsteiner as ds

COUNT = 1000


def write(folder: Path, name: str, count: int) -> None:
    points = ds.datasets.load(name.upper(), count=count, split="validation").points
    solved = ds.solve_many(points, "exact")
    assert all(one.status == "optimal" for one in solved)
    np.savez(folder / f"{name}.npz", points=points, optimal_length=solved.lengths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/validation"))
    parser.add_argument("--count", type=int, default=COUNT)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in ("d1", "d2", "d3"):
        write(given.out, name, given.count)


if __name__ == "__main__":
    main()
