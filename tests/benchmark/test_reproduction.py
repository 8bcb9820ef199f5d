"""The trainings of the reproduction: side by side, killed, continued, packed and unpacked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
TINY = {
    "network.layers": "1",
    "network.ff": "32",
    "candidates.k_star": "1",
    "data.instances": "64",
    "train.epochs": "3",
    "train.save_seconds": "0",
    "reinforce.instances": "20",
    "validation.instances": "4",
}


@pytest.fixture
def validation(tmp_path):
    points = np.random.default_rng(5).random((4, 10, 2))
    np.savez(tmp_path / "d1.npz", points=points, optimal_length=np.ones(4))
    return tmp_path


def command(validation: Path, out: Path, *more: str) -> list[str]:
    words = [word for key, value in TINY.items() for word in ("--set", f"{key}={value}")]
    where = ["--validation", str(validation), "--out", str(out), "--device", "cpu"]
    chosen = ["--only", "mst-d1-0", "first-increment"]
    module = [sys.executable, "-m", "benchmarks.reproduction.train"]
    return [*module, *chosen, *where, *words, "--seconds", "300", *more]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}


def run(words: list[str]) -> str:
    call = {"cwd": ROOT, "env": environment(), "text": True, "timeout": 240}
    return subprocess.run(words, check=True, capture_output=True, **call).stdout


def states(out: Path) -> dict[str, bytes]:
    from safetensors.torch import load_file

    found = {}
    for name in ("mst-d1-0", "first-increment-0"):
        for key, value in load_file(out / name / "training.safetensors").items():
            found[f"{name}/{key}"] = value.numpy().tobytes()
    return found


@pytest.mark.heavy
def test_a_killed_fleet_goes_on_bit_for_bit(validation, tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert "all runs are done" in run(command(validation, whole))
    process = subprocess.Popen(command(validation, cut), cwd=ROOT, env=environment())
    state = cut / "mst-d1-0" / "training.safetensors"
    while process.poll() is None and not state.exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (cut / "first-increment-0" / "done.json").exists()
    assert "all runs are done" in run(command(validation, cut))
    assert states(cut) == states(whole)


@pytest.mark.heavy
def test_what_is_packed_goes_on_elsewhere(validation, tmp_path):
    here, there, packed = tmp_path / "here", tmp_path / "there", tmp_path / "packed"
    said = run(command(validation, here, "--seconds", "0.5", "--pack", str(packed)))
    assert "to go on with: " in said
    words = command(validation, there, "--unpack", str(packed), "--pack", str(packed))
    assert "all runs are done" in run(words)
    assert [path.name for path in sorted(packed.glob("models-*"))] == ["models-0.tar"]
    from deepsteiner.policy import checkpoint

    policy, meta = checkpoint.load(there / "mst-d1-0" / "small" / "model")
    assert meta["step"] == 6
    assert meta["config"]["train"]["start"] == "tsp20"
    assert policy.config.layers == 1


def test_both_readings_are_what_the_methods_give():
    import deepsteiner as ds
    from deepsteiner.policy import checkpoint
    from deepsteiner.policy.device import resolve
    from deepsteiner.policy.rollout import Player

    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.reproduction.measure import both_readings
    finally:
        sys.path.remove(str(ROOT))
    policy, meta = checkpoint.load("grid-d1")
    spec = checkpoint.candidate_spec(meta)
    points = np.asarray(ds.datasets.load("D1", count=20, seed=9).points)
    player = Player(policy, spec, criterion="first_increment")
    stopped, kept = both_readings(player, points, resolve("cpu"))
    plain = ds.solve_many(points, "policy", model="grid-d1").lengths
    np.testing.assert_allclose(stopped, plain, rtol=1e-12)
    assert (kept >= stopped * (1 - 1e-12)).all()
    assert (kept > stopped * 1.001).any()


def test_every_run_of_a_plan_has_a_configuration():
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.reproduction.plans import PLANS
    finally:
        sys.path.remove(str(ROOT))
    from deepsteiner.policy.training import config

    for runs in PLANS.values():
        assert len({run.name for run in runs}) == len(runs)
        for run in runs:
            chosen = config.load(list(run.configs), list(run.settings))
            assert chosen.data.name.lower() == run.data
    for run in PLANS["printed"]:
        chosen = config.load(list(run.configs), list(run.settings))
        assert (chosen.train.batch, chosen.train.learning_rate) == (32, 5e-5)
        assert (chosen.train.start, chosen.reinforce.instances) == ("tsp20", 10_000)
        assert not chosen.reinforce.expectation
        assert chosen.network == config.load(["paper"]).network
