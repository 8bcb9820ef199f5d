"""Several processes training together: the gradients of one, and an orderly end."""
# ruff: noqa: E402 - the modules under test need torch, which is an extra

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from deepsteiner.policy.training import config, training
from small_runs import SMALL

SECOND = """
import os, sys, torch
torch.set_num_threads(1)
from deepsteiner.policy.training import config, training
flavour, folder, epoch = sys.argv[1], sys.argv[2], int(sys.argv[3])
chosen = config.load([flavour], sys.argv[4:])
trainer = training.new_trainer(chosen, training.open_place(folder + "/run", "cpu"))
trainer.objective.begin_epoch(epoch)
trainer.backward(epoch, 0)
found = {n: p.grad for n, p in trainer.objective.named_parameters() if p.requires_grad}
if trainer.group.leads:
    from safetensors.torch import save_file
    save_file(found, folder + "/gradients.safetensors")
# Leave together, and without torch's static destructors: gloo's threads sometimes abort there,
# after all work is done. An exception above still ends with a non-zero code.
torch.distributed.barrier()
del trainer
torch.distributed.destroy_process_group()
os._exit(0)
"""


def run_two(command: list[str]) -> list[str]:
    """Run two processes of a group as `torchrun` would; both must succeed. Return what they say."""
    environment = {
        **os.environ,
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "OMP_WAIT_POLICY": "passive",
        "OMP_NUM_THREADS": "1",
    }
    processes = [
        subprocess.Popen(
            command,
            env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    return [output for output, _ in said]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("flavour", "changes"),
    [
        pytest.param("distill", ["network.norm=layer"], marks=pytest.mark.heavy),
        ("distill", ["network.norm=batch", "distill.depth=2"]),
        ("algorithm-2", ["network.norm=batch", "train.criterion=first_increment"]),
    ],
)
def test_two_processes_have_the_gradients_of_one(tmp_path, flavour, changes):
    chosen = config.load([flavour], [*SMALL, *changes])
    trainer = training.new_trainer(chosen, training.open_place(tmp_path / "run", "cpu"))
    trainer.objective.begin_epoch(1)
    trainer.backward(1, 0)
    command = [sys.executable, "-W", "error::FutureWarning", "-c", SECOND, flavour, str(tmp_path)]
    run_two([*command, "1", *SMALL, *changes])

    from safetensors.torch import load_file

    found = load_file(tmp_path / "gradients.safetensors")
    named = trainer.objective.named_parameters()
    expected = {name: value.grad for name, value in named if value.requires_grad}
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-9, atol=1e-9)


def test_a_whole_run_of_two_processes_ends_in_good_order(tmp_path):
    out = tmp_path / "run"
    words = [word for text in SMALL for word in ("--set", text)]
    command = [sys.executable, "-m", "deepsteiner", "train", "--config", "algorithm-2", *words]
    outputs = run_two([*command, "--out", str(out), "--device", "cpu", "--quiet"])
    assert "finished at step 9" in outputs[0]
    assert outputs[1] == ""
    assert (out / "model" / "weights.safetensors").is_file()
