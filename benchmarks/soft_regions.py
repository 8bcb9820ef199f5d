"""Published instances with soft regions: cost and time of a method.

    python benchmarks/soft_regions.py instances.json

The file has the form NAME: {terminals, obstacles: [{weight, polygon}], published_mean, best_known};
a weight of null is hard. Seconds are those of the processor, kernels warm.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import deepsteiner as ds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("instances", type=Path, help="the file of instances")
    parser.add_argument("--effort", default="default")
    parser.add_argument("--only", nargs="*", default=None, help="names of instances")
    arguments = parser.parse_args()
    data = json.loads(arguments.instances.read_text())
    box = [[0.3, -0.2], [0.7, -0.2], [0.5, 0.6]]
    ds.solve([[0, 0], [1, 0], [0.5, 1]], "local", obstacles=[(box, 1.2)])
    print("| instance | n | cost | against published | against best known | seconds |")
    print("|---|---|---|---|---|---|")
    met = total = 0
    for name, one in data.items():
        if all(area["weight"] is None for area in one["obstacles"]):
            continue
        if arguments.only is not None and name not in arguments.only:
            continue
        obstacles = [(area["polygon"], area["weight"]) for area in one["obstacles"]]
        began = time.process_time()
        solution = ds.solve(one["terminals"], "local", obstacles=obstacles, effort=arguments.effort)
        seconds = time.process_time() - began
        mean, best = one["published_mean"], one.get("best_known")
        met += solution.length <= mean + 1e-4 and (best is None or solution.length <= best + 1e-6)
        total += 1
        known = "" if best is None else f"{solution.length - best:+.6f}"
        cells = [name, len(one["terminals"]), f"{solution.length:.6f}",
                 f"{solution.length - mean:+.6f}", known, f"{seconds:.2f}"]  # fmt: skip
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
    print(f"\nno longer than published: {met} of {total}")


if __name__ == "__main__":
    main()
