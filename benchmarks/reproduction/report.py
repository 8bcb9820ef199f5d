"""The printed recipe in tables: cells with seeds, both readings, curves, criteria, other sets.

    python -m benchmarks.reproduction.report runs/printed --optima runs/optima.npz \\
        --d1 D1.npz --deg DEG.npz --store benchmarks/stored/printed-recipe.json
    python -m benchmarks.reproduction.report          # the tables from the stored rows

A run's row comes from its `model/`, `log.jsonl` and `lengths.npz` (see `measure.py`). Optima of the
test sets are found by the exact solver once and kept in `--optima`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.common import ROOT, print_table

import deepsteiner as ds
from deepsteiner.benchmark.tables.paper import TABLE1, TABLE3

STORED = ROOT / "benchmarks" / "stored" / "printed-recipe.json"
SETS = ("d1", "d2", "d3")
READINGS = ("stopped", "kept")
EPOCHS = (5, 10, 20, 40, 60, 80, 100)
CRITERIA = ("first-selection", "first-increment", "all-selection")


def optima_of(given: argparse.Namespace) -> dict[str, np.ndarray]:
    """Return the optimal lengths of every test set."""
    found: dict[str, np.ndarray] = {}
    if given.optima.exists():
        with np.load(given.optima) as data:
            found = dict(data)
    for name in SETS:
        if len(found.get(name, ())) < given.count:
            points = ds.datasets.load(name.upper(), count=given.count).points
            found[name] = ds.solve_many(points, "exact").lengths
            np.savez(given.optima, **found)
    files = (("authors", given.d1, "test_optimal_length"), ("deg", given.deg, "optimal_length"))
    for name, path, key in files:
        if path is not None:
            with np.load(path) as data:
                found[name] = data[key]
    return found


def row_of(run: Path, optima: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return what is known of a run, as stored."""
    facts = json.loads((run / "model" / "config.json").read_text())
    config = facts["config"]
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    per_epoch = config["data"]["instances"] // config["train"]["batch"]
    # A run that was killed wrote some epochs twice: the later ones count.
    curve = {one["step"] // per_epoch: one["gap"] for one in log if "gap" in one}
    gaps: dict[str, list[float]] = {}
    with np.load(run / "lengths.npz") as lengths:
        for name in lengths:
            where, _, reading = name.partition("_")
            if reading in READINGS and where in optima:
                gap = 100.0 * (lengths[name] / optima[where][: len(lengths[name])] - 1.0)
                error = gap.std(ddof=1) / np.sqrt(len(gap))
                gaps[name] = [float(gap.mean()), float(error), len(gap)]
    weights = (run / "model" / "weights.safetensors").read_bytes()
    return {
        "name": run.name,
        "kind": config["candidates"]["kind"],
        "data": config["data"]["name"].lower(),
        "criterion": config["train"]["criterion"].replace("_", "-"),
        "seed": config["train"]["seed"],
        "precision": config["train"]["precision"],
        "products": facts.get("products"),
        "epochs": facts["step"] / per_epoch,
        "planned": config["train"]["epochs"],
        "instances": facts["step"] * config["train"]["batch"],
        "kept_epoch": facts.get("kept_epoch"),
        "minutes": facts["elapsed"] / 60.0,
        "device": facts["device"],
        "commit": facts["commit"],
        "torch": facts["torch"],
        "weights": hashlib.sha256(weights).hexdigest()[:16],
        "curve": sorted(curve.items()),
        "gaps": gaps,
    }


def over_seeds(rows: list[dict[str, Any]], key: str) -> str:
    """Return the mean of a gap; its error is that over seeds, or over instances of a single one."""
    found = [row["gaps"][key] for row in rows if key in row["gaps"]]
    if not found:
        return "-"
    means = np.array([mean for mean, _, _ in found])
    error = found[0][1] if len(means) == 1 else means.std(ddof=1) / np.sqrt(len(means))
    return f"{means.mean():.3f} ± {error:.3f}"


def effort(rows: list[dict[str, Any]]) -> str:
    """Return seeds, epochs and the epochs of the weights that were kept."""
    epochs = "/".join(f"{row['epochs']:.0f}" for row in rows)
    kept = "/".join(str(row["kept_epoch"]) for row in rows)
    return f"{len(rows)} seed{'s' if len(rows) > 1 else ''}, epochs {epochs}, kept {kept}"


def select(rows: Iterable[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def show_cells(rows: list[dict[str, Any]]) -> None:
    counts = {gap[2] for row in rows for name, gap in row["gaps"].items() if name[0] == "d"}
    print(f"First-selection as printed: gap in percent, up to {max(counts):,} test instances\n")
    header = ["cell", "paper", "here, stopped", "here, kept", "authors' D1", "here is", "effort"]
    lines = []
    for kind in ("knn", "mst", "grid"):
        for index, data in enumerate(SETS):
            own = select(rows, kind=kind, data=data, criterion="first-selection", planned=100)
            if not own:
                continue
            paper = TABLE1[f"{kind}-first-selection"][index]
            stopped = over_seeds(own, f"{data}_stopped")
            mean = float(stopped.split()[0]) if stopped != "-" else float("nan")
            authors = over_seeds(own, "authors_stopped") if data == "d1" else ""
            verdict = f"{abs(mean - paper):.2f} {'higher' if mean > paper else 'lower'}"
            kept = over_seeds(own, f"{data}_kept")
            name = f"{kind.upper()} on {data.upper()}"
            lines.append([name, paper, stopped, kept, authors, verdict, effort(own)])
    print_table(header, lines)


def show_criteria(rows: list[dict[str, Any]]) -> None:
    print("\nCriteria at equal budgets: MST on D1, 20 epochs, 0.2 million instances\n")
    lines = []
    for criterion in CRITERIA:
        own = select(rows, criterion=criterion, planned=20)
        if own:
            paper = TABLE1[f"mst-{criterion}"][0]
            both = [over_seeds(own, f"d1_{reading}") for reading in READINGS]
            lines.append([criterion, paper, *both, effort(own)])
    print_table(["criterion", "paper", "here, stopped", "here, kept", "effort"], lines)


def show_curves(rows: list[dict[str, Any]]) -> None:
    print("\nGap of the baseline on 1,000 validation instances after so many epochs\n")
    lines = []
    for row in rows:
        curve = dict(map(tuple, row["curve"]))
        cells = [f"{curve[epoch]:.2f}" if epoch in curve else "" for epoch in EPOCHS]
        lines.append([row["name"], *cells])
    print_table(["run", *map(str, EPOCHS)], lines)


def show_generalisation(rows: list[dict[str, Any]]) -> None:
    print("\nTable 3 as printed: MST + First-selection on other sets\n")
    lines = []
    for home in SETS:
        own = select(rows, kind="mst", data=home, criterion="first-selection", planned=100)
        if own:
            lines.append([home.upper(), "paper", *TABLE3[home.upper()], ""])
            cells = [over_seeds(own, f"{name}_stopped") for name in (*SETS, "deg", "authors")]
            lines.append([home.upper(), "here", *cells])
    print_table(["trained on", "", "D1", "D2", "D3", "DEG", "authors' D1"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="of the runs; none: the stored rows")
    parser.add_argument("--optima", type=Path, default=Path("runs/optima.npz"))
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--d1", type=Path)
    parser.add_argument("--deg", type=Path)
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    if given.folder is None:
        if not STORED.exists():
            parser.error(f"nothing is stored in {STORED.name} yet: give the folder of the runs")
        rows = json.loads(STORED.read_text())
    else:
        optima = optima_of(given)
        runs = sorted(path.parent for path in given.folder.glob("*/lengths.npz"))
        if not runs:
            parser.error(f"{given.folder} holds no run with lengths.npz: see measure.py")
        rows = [row_of(run, optima) for run in runs]
    if given.store:
        given.store.write_text(json.dumps(rows, indent=1) + "\n")
    show_cells(rows)
    show_criteria(rows)
    show_curves(rows)
    show_generalisation(rows)


if __name__ == "__main__":
    main()
