"""Gaps of policy models on test sets: Algorithm 1, refined, with images, sampled.

Run: python -m benchmarks.learned.policy_gap [--device cuda] [--count 10000]
     [--model mst-d1 FOLDER ...] [--data d1.npz d2.npz ...] [--json gaps.jsonl]

A data file holds `points` and `optimal_length`; its name is the set's. Without files: the authors'
D1 and DEG where ../shared exists, else the golden uniform instances. With --seconds a row uses only
as many instances as fit that time, judging by a first few. Rows that a JSON file already holds are
not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import numpy as np
import torch
from common import golden, print_table, shared

import deepsteiner as ds
from deepsteiner.policy.training.problem import source_commit

PLAIN = {"normalize": False}
SETTINGS: dict[str, dict[str, object]] = {
    "plain": PLAIN,
    "refined": PLAIN | {"refine": True},
    "x8": PLAIN | {"augment": True},
    "x8 refined": PLAIN | {"augment": True, "refine": True},
    "sampled 16": PLAIN | {"decode": "sample", "samples": 16},
    "sampled 8 refined": PLAIN | {"decode": "sample", "samples": 8, "refine": True},
    "normalized": {},
}
# Instances of the first try, by device.
FEWEST = {"cpu": 100, "cuda": 256}
HEADER = ["model", "set", "setting", "count", "gap %", "std. error", "std.", "max", "ms"]


def read_sets(paths: list[str]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return points and optima by the name of the set."""
    found = {}
    for path in paths:
        with np.load(path) as data:
            found[Path(path).stem.removeprefix("test_")] = data["points"], data["optimal_length"]
    if found:
        return found
    authors, deg = shared("d1_authors.npz"), shared("deg10_authors.npz")
    if authors is None or deg is None:
        return {"u10": golden("u10")}
    return {
        "d1": (authors["test_points"], authors["test_optimal_length"]),
        "deg": (deg["points"], deg["optimal_length"]),
    }


def name_of(model: str) -> str:
    """Return what a model is called in the table: runs/NAME/model is NAME."""
    path = Path(model)
    return path.parent.name if path.name == "model" else path.name


def measure(
    points: np.ndarray, optimum: np.ndarray, call: dict[str, object], seconds: float
) -> dict[str, float]:
    """Solve as many instances as the time allows and describe their gaps."""
    some = min(FEWEST.get(str(call["device"]), 100), len(points))
    ds.solve_many(points[:16], "policy", **call)
    started = time.perf_counter()
    ds.solve_many(points[:some], "policy", **call)
    each = (time.perf_counter() - started) / some
    count = len(points)
    if seconds and each * count > seconds:
        # Larger batches are faster, so this errs on the side of too few.
        count = max(some, int(seconds / each))
    solved = ds.solve_many(points[:count], "policy", **call)
    gap = 100 * (solved.lengths / optimum[:count] - 1)
    return {
        "count": count,
        "gap": float(gap.mean()),
        "std_error": float(gap.std() / np.sqrt(count)),
        "std": float(gap.std()),
        "max": float(gap.max()),
        "ms": 1000 * solved.runtime / count,
    }


def rows(given: argparse.Namespace, known: set[tuple[str, ...]]) -> Iterable[dict[str, object]]:
    """Measure what is not known yet, row by row."""
    sets = read_sets(given.data)
    for setting, model, data in product(given.settings, given.model, sets):
        key = (name_of(model), data, setting)
        if key not in known:
            points, optimum = (array[: given.count] for array in sets[data])
            options = {"model": model, "device": given.device, **SETTINGS[setting]}
            facts = measure(points, optimum, options, given.seconds)
            yield dict(zip(("model", "set", "setting"), key, strict=True)) | facts


def cells(row: dict[str, object]) -> list[object]:
    numbers = [f"{row[key]:.4f}" for key in ("gap", "std_error", "std")]
    rest = [f"{row['max']:.2f}", f"{row['ms']:.3f}"]
    return [row["model"], row["set"], row["setting"], row["count"], *numbers, *rest]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--model", nargs="+", default=["mst-d1"], help="shipped names or folders")
    parser.add_argument("--data", nargs="*", default=[], help="npz files")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--seconds", type=float, default=0.0, help="the most a row should take")
    parser.add_argument("--json", help="append every row to this file")
    given = parser.parse_args()
    cuda = given.device == "cuda"
    provenance = {
        "commit": source_commit(),
        "device": torch.cuda.get_device_name() if cuda else f"cpu, {os.cpu_count()} cores",
        "versions": f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"numpy {np.__version__}, deepsteiner {ds.__version__}",
        "seed": 0,
    }
    print("; ".join(f"{key} {value}" for key, value in provenance.items()), flush=True)
    found: list[dict[str, object]] = []
    if given.json and Path(given.json).exists():
        found = [json.loads(line) for line in Path(given.json).read_text().splitlines()]
    known = {(str(row["model"]), str(row["set"]), str(row["setting"])) for row in found}
    for row in rows(given, known):
        found.append(row)
        print(" ".join(str(cell) for cell in cells(row)), flush=True)
        if given.json:
            with Path(given.json).open("a") as stream:
                stream.write(json.dumps(row | provenance) + "\n")
    print()
    print_table(HEADER, [cells(row) for row in found])


if __name__ == "__main__":
    main()
