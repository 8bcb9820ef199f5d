"""The printed recipe in tables: cells with seeds, both readings, curves, criteria, other sets.

    python -m benchmarks.reproduction.report runs/printed --optima runs/optima.npz \\
        --d1 D1.npz --deg DEG.npz --store
    python -m benchmarks.reproduction.report          # the tables from the stored rows

A run's row comes from its `model/`, `log.jsonl` and `lengths.npz` (see `measure.py`), and joins the
stored ones. Optima of the test sets are found by the exact solver once and kept in `--optima`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
from benchmarks.common import print_table

import deepsteiner as ds
from deepsteiner.benchmark.printed_recipe import (
    PATH,
    READINGS,
    Training,
    at_equal_budgets,
    cell,
    over_seeds,
    stored_trainings,
    verdict,
)
from deepsteiner.benchmark.tables.entries import CRITERIA
from deepsteiner.benchmark.tables.paper import TABLE1, TABLE3

SETS = ("d1", "d2", "d3")
EPOCHS = (5, 10, 20, 40, 60, 80, 100)


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


def training_of(run: Path, optima: dict[str, np.ndarray]) -> Training:
    """Return what is known of a run, as stored."""
    facts = json.loads((run / "model" / "config.json").read_text())
    config = facts["config"]
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    per_epoch = config["data"]["instances"] // config["train"]["batch"]
    # A run that was killed wrote some epochs twice: the later ones count.
    curve = {one["step"] // per_epoch: one["gap"] for one in log if "gap" in one}
    gaps: dict[str, tuple[float, float, int]] = {}
    with np.load(run / "lengths.npz") as lengths:
        for name in lengths:
            where, _, reading = name.partition("_")
            if reading in READINGS and where in optima:
                gap = 100.0 * (lengths[name] / optima[where][: len(lengths[name])] - 1.0)
                error = gap.std(ddof=1) / np.sqrt(len(gap))
                gaps[name] = (float(gap.mean()), float(error), len(gap))
    weights = (run / "model" / "weights.safetensors").read_bytes()
    return Training(
        name=run.name,
        kind=config["candidates"]["kind"],
        data=config["data"]["name"].lower(),
        criterion=config["train"]["criterion"].replace("_", "-"),
        seed=config["train"]["seed"],
        precision=config["train"]["precision"],
        products=facts.get("products"),
        epochs=facts["step"] / per_epoch,
        planned=config["train"]["epochs"],
        instances=facts["step"] * config["train"]["batch"],
        kept_epoch=facts.get("kept_epoch"),
        minutes=facts["elapsed"] / 60.0,
        device=facts["device"],
        commit=facts["commit"],
        torch=facts["torch"],
        weights=hashlib.sha256(weights).hexdigest()[:16],
        curve=sorted(curve.items()),
        gaps=gaps,
    )


def shown(trainings: list[Training], key: str) -> str:
    """Return a gap over seeds in words."""
    found = over_seeds(trainings, key)
    return "-" if found is None else f"{found[0]:.3f} ± {found[1]:.3f}"


def effort(trainings: list[Training]) -> str:
    """Return seeds, epochs and the epochs of the weights that were kept."""
    epochs = "/".join(f"{one.epochs:.0f}" for one in trainings)
    kept = "/".join(str(one.kept_epoch) for one in trainings)
    seeds = f"{len(trainings)} seed{'s' if len(trainings) > 1 else ''}"
    return f"{seeds}, epochs {epochs}, kept {kept}"


def show_cells(trainings: list[Training]) -> None:
    counts = {gap[2] for one in trainings for name, gap in one.gaps.items() if name[0] == "d"}
    print(f"First-selection as printed: gap in percent, up to {max(counts):,} test instances\n")
    header = ["cell", "paper", "here, stopped", "here, kept", "authors' D1", "here is", "effort"]
    lines = []
    for kind in ("knn", "mst", "grid"):
        for index, data in enumerate(SETS):
            own = cell(trainings, kind, data)
            stopped = over_seeds(own, f"{data}_stopped")
            if stopped is None:
                continue
            paper = TABLE1[f"{kind}-first-selection"][index]
            authors = shown(own, "authors_stopped") if data == "d1" else ""
            name = f"{kind.upper()} on {data.upper()}"
            ours = [shown(own, f"{data}_{reading}") for reading in READINGS]
            lines.append([name, paper, *ours, authors, verdict(stopped[0], paper), effort(own)])
    print_table(header, lines)


def show_criteria(trainings: list[Training]) -> None:
    print("\nCriteria at equal budgets: MST on D1, 20 epochs, 0.2 million instances\n")
    lines = []
    for criterion in CRITERIA:
        own = at_equal_budgets(trainings, criterion.lower())
        if own:
            paper = TABLE1[f"mst-{criterion.lower()}"][0]
            both = [shown(own, f"d1_{reading}") for reading in READINGS]
            lines.append([criterion, paper, *both, effort(own)])
    print_table(["criterion", "paper", "here, stopped", "here, kept", "effort"], lines)


def show_curves(trainings: list[Training]) -> None:
    print("\nGap of the baseline on 1,000 validation instances after so many epochs\n")
    lines = []
    for one in trainings:
        curve = dict(map(tuple, one.curve))
        cells = [f"{curve[epoch]:.2f}" if epoch in curve else "" for epoch in EPOCHS]
        lines.append([one.name, *cells])
    print_table(["run", *map(str, EPOCHS)], lines)


def show_generalisation(trainings: list[Training]) -> None:
    print("\nTable 3 as printed: MST + First-selection on other sets\n")
    lines = []
    for home in SETS:
        own = cell(trainings, "mst", home)
        if own:
            lines.append([home.upper(), "paper", *TABLE3[home.upper()], ""])
            cells = [shown(own, f"{name}_stopped") for name in (*SETS, "deg", "authors")]
            lines.append([home.upper(), "here", *cells])
    print_table(["trained on", "", "D1", "D2", "D3", "DEG", "authors' D1"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="of the runs; none: the stored rows")
    parser.add_argument("--optima", type=Path, default=Path("runs/optima.npz"))
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--d1", type=Path)
    parser.add_argument("--deg", type=Path)
    parser.add_argument("--store", action="store_true", help="keep the rows with the package")
    given = parser.parse_args()
    if given.folder is None:
        trainings = list(stored_trainings())
    else:
        optima = optima_of(given)
        runs = sorted(path.parent for path in given.folder.glob("*/lengths.npz"))
        if not runs:
            parser.error(f"{given.folder} holds no run with lengths.npz: see measure.py")
        # Runs of other days stay; one that went on replaces what it was.
        known = {one.name: one for one in stored_trainings()}
        known |= {run.name: training_of(run, optima) for run in runs}
        trainings = [known[name] for name in sorted(known)]
    if given.store:
        PATH.write_text(json.dumps([asdict(one) for one in trainings], indent=1) + "\n")
    show_cells(trainings)
    show_criteria(trainings)
    show_curves(trainings)
    show_generalisation(trainings)


if __name__ == "__main__":
    main()
