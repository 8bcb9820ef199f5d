"""Published instances with obstacles: length, proof, rounds and time of a method.

The instances are in a file of the form NAME: {terminals, obstacles: [{weight, polygon}],
published_mean, best_known}; only those whose obstacles are all hard are solved. Seconds are those
of the processor, kernels warm.

    python benchmarks/obstacles.py instances.json --most 100 --time-limit 60
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import deepsteiner as ds

HEADER = (
    "| instance | n | length | against published | against best known | status | rounds "
    "| corners in play | seconds |\n|---|---|---|---|---|---|---|---|---|"
)


def hard_instances(path: Path, most: int) -> dict[str, Any]:
    """Return the instances of a file with hard obstacles only, the small ones first."""
    data = json.loads(path.read_text())
    hard = {
        name: one
        for name, one in data.items()
        if len(one["terminals"]) <= most
        and one["obstacles"]
        and all(obstacle["weight"] is None for obstacle in one["obstacles"])
    }
    return dict(sorted(hard.items(), key=lambda item: len(item[1]["terminals"])))


def against(length: float, other: float | None) -> str:
    """Return how much shorter or longer than another tree, as a signed number."""
    return "" if other is None else f"{length - other:+.6f}"


def row(name: str, one: dict[str, Any], method: str, limit: float | None) -> tuple[str, bool]:
    """Solve an instance; return its row and whether the tree is proven."""
    obstacles = [obstacle["polygon"] for obstacle in one["obstacles"]]
    began = time.process_time()
    solution = ds.solve(one["terminals"], method, obstacles=obstacles, time_limit=limit)
    seconds = time.process_time() - began
    cells = [
        name,
        len(one["terminals"]),
        f"{solution.length:.6f}",
        against(solution.length, one["published_mean"]),
        against(solution.length, one.get("best_known")),
        solution.status,
        solution.info.get("rounds", ""),
        solution.info.get("active_corners", ""),
        f"{seconds:.2f}",
    ]
    return f"| {' | '.join(map(str, cells))} |", solution.status == "optimal"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("instances", type=Path, help="the file of instances")
    parser.add_argument("--method", default="exact")
    parser.add_argument("--most", type=int, default=100, help="terminals of the largest instance")
    parser.add_argument("--time-limit", type=float, default=None, help="seconds for each")
    arguments = parser.parse_args()
    ds.solve(
        [[0, 0], [1, 0], [1, 1]], arguments.method, obstacles=[[[0.4, -1], [0.6, -1], [0.5, 1]]]
    )
    print(HEADER)
    proven = total = 0
    for name, one in hard_instances(arguments.instances, arguments.most).items():
        text, optimal = row(name, one, arguments.method, arguments.time_limit)
        print(text, flush=True)
        proven, total = proven + optimal, total + 1
    print(f"\nproven: {proven} of {total}")


if __name__ == "__main__":
    main()
