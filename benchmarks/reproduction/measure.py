"""Tree lengths of trained runs on whole test sets, in both readings of Algorithm 1.

    python -m benchmarks.reproduction.measure runs/printed/* --device cuda
    python -m benchmarks.reproduction.measure runs/printed/* --deg DEG.npz --d1 D1.npz
    python -m benchmarks.reproduction.measure runs/better/relative --optima runs/optima.npz

Writes `lengths.npz` into every run: SET_stopped (the tree before the first point that lengthens
it) and SET_kept (with that point). The weights are those that would be shipped: 16 bits. MST runs
are measured on every set, others on their own one. With the optima that `report.py` keeps, gaps are
printed, also of lengths that are there already.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

import deepsteiner as ds
from deepsteiner.policy import checkpoint
from deepsteiner.policy.device import resolve
from deepsteiner.policy.rollout import Player, turns
from deepsteiner.policy.sampling import likeliest

from .train import halved

TOKENS = 1_000_000
# A longer tree is one that is longer by more than rounding, as in the environment.
ROUNDING = 1e-12


@torch.inference_mode()
def both_readings(player: Player, points: np.ndarray, device: torch.device) -> np.ndarray:
    """Return (2, B): lengths without and with the point that ends a game by lengthening the tree.

    One game gives both: it goes on until a point lengthens the tree, and keeps that point.
    """
    size = points.shape[1]
    chunk = max(1, TOKENS // (player.spec.number(size + 4) + size + 4))
    found = []
    for start in range(0, len(points), chunk):
        some = torch.from_numpy(points[start : start + chunk]).to(device)
        state = player.rules.reset(some)
        lengths = state.length.repeat(2, 1)
        for turn in turns(player, state, lambda scores, rows, step: likeliest(scores)):
            before, after = turn.before.length, turn.after.length
            lengths[1, turn.rows] = after
            longer = after > before * (1.0 + ROUNDING)
            lengths[0, turn.rows] = torch.where(longer, before, after)
        found.append(lengths.cpu().numpy())
    return np.concatenate(found, axis=1)


def test_sets(given: argparse.Namespace) -> dict[str, np.ndarray]:
    sets = {
        name: np.asarray(ds.datasets.load(name.upper(), count=given.count).points)
        for name in ("d1", "d2", "d3")
    }
    for name, path, key in (("authors", given.d1, "test_points"), ("deg", given.deg, "points")):
        if path is not None:
            with np.load(path) as data:
                sets[name] = data[key][: given.count]
    return sets


def measured(run: Path, sets: dict[str, np.ndarray], device: torch.device) -> dict[str, np.ndarray]:
    policy, meta = checkpoint.load(halved(run) / "model", device=device)
    spec, own = checkpoint.candidate_spec(meta), meta["config"]["data"]["name"].lower()
    player = Player(policy, spec, criterion="first_increment")
    found = {}
    for name, points in sets.items():
        if spec.kind != "mst" and name != own and not (name == "authors" and own == "d1"):
            continue
        both = both_readings(player, points, device)
        found |= {f"{name}_stopped": both[0], f"{name}_kept": both[1]}
    return found


def gaps(lengths: dict[str, np.ndarray], given: argparse.Namespace) -> str:
    """Return the mean gaps in percent with their standard errors, where optima are known."""
    with np.load(given.optima) as data:
        optima = dict(data)
    for name, path, key in (
        ("authors", given.d1, "test_optimal_length"),
        ("deg", given.deg, "optimal_length"),
    ):
        if path is not None:
            with np.load(path) as data:
                optima[name] = data[key]
    lines = []
    for name, own in lengths.items():
        optimal = optima.get(name.partition("_")[0])
        if optimal is not None:
            gap = 100.0 * (own / optimal[: len(own)] - 1.0)
            error = gap.std(ddof=1) / np.sqrt(len(gap))
            lines.append(f"  {name:16s} {gap.mean():.4f} ± {error:.4f} %  of {len(gap):,}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--d1", type=Path, help="the authors' D1 instances")
    parser.add_argument("--deg", type=Path, help="the authors' DEG instances")
    parser.add_argument("--optima", type=Path, help="of the test sets, for gaps")
    parser.add_argument("--again", action="store_true", help="also those that have been measured")
    given = parser.parse_args()
    device, sets = resolve(given.device), test_sets(given)
    for run in given.runs:
        target = run / "lengths.npz"
        if not (run / "model").is_dir() or (target.exists() and not given.again):
            if given.optima is not None and target.exists():
                with np.load(target) as data:
                    known = {name: data[name] for name in data if name != "facts"}
                print(f"{run.name}\n{gaps(known, given)}", flush=True)
            continue
        started = time.perf_counter()
        found = measured(run, sets, device)
        facts = {"device": str(device), "count": given.count, "torch": torch.__version__}
        np.savez_compressed(target, **found, facts=json.dumps(facts))
        means = "  ".join(f"{name} {value.mean():.4f}" for name, value in found.items())
        print(f"{run.name}: {means}  ({time.perf_counter() - started:.1f} s)", flush=True)
        if given.optima is not None:
            print(gaps(found, given), flush=True)


if __name__ == "__main__":
    main()
