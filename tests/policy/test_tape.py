"""Steps that can be recorded: the same training as the plain loop's, step by step."""
# ruff: noqa: E402 - the modules under test need torch, which is an extra

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from deepsteiner.core.errors import DeepSteinerError
from deepsteiner.policy.training import training
from small_runs import assert_same, small, trainer_of


def state_after(chosen, folder):
    outcome = training.train(chosen, folder, device="cpu", quiet=True)
    assert outcome.status == "finished"
    from safetensors.torch import load_file

    return load_file(folder / "training.safetensors")


@pytest.mark.parametrize(
    ("criterion", "tolerance"),
    # Where games end early the statistics of a batch are sums under a mask: another rounding.
    [("first_selection", 0.0), ("all_selection", 0.0), ("first_increment", 1e-7)],
)
@pytest.mark.parametrize("kind", ["mst", "knn", "grid"])
def test_steps_from_the_tape_are_the_plain_steps(tmp_path, criterion, tolerance, kind):
    changes = [f"train.criterion={criterion}", f"candidates.kind={kind}", "network.norm=batch"]
    plain = state_after(small("algorithm-2", *changes), tmp_path / "plain")
    taped = state_after(small("algorithm-2", *changes, "train.graphs=true"), tmp_path / "taped")
    assert_same(taped, plain, tolerance)


def test_a_taped_run_that_is_cut_goes_on_bit_for_bit(tmp_path, monkeypatch):
    chosen = small("algorithm-2", "train.graphs=true")
    whole = state_after(chosen, tmp_path / "whole")

    from deepsteiner.policy.training.trainer import Trainer

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_should_stop", lambda self, minutes: self.step == 5)
        cut = training.train(chosen, tmp_path / "cut", device="cpu", quiet=True)
    assert (cut.status, cut.step) == ("stopped", 5)
    training.train(chosen, tmp_path / "cut", device="cpu", resume=True, quiet=True)

    from safetensors.torch import load_file

    assert_same(load_file(tmp_path / "cut" / "training.safetensors"), whole, 0.0)


def test_only_steps_of_one_shape_can_be_recorded(tmp_path):
    with pytest.raises(DeepSteinerError, match=r"train\.graphs needs train\.objective"):
        trainer_of(small("distill", "train.graphs=true"), tmp_path)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="records on CUDA alone")
@pytest.mark.parametrize("criterion", ["first_selection", "all_selection", "first_increment"])
def test_recorded_steps_are_the_plain_steps_on_cuda(tmp_path, criterion):
    # Enough steps an epoch for both stages, warm-up and rollout, to be recorded.
    changes = [f"train.criterion={criterion}", "train.epochs=3", "data.instances=64"]
    states = []
    for name, graphs in (("plain", "false"), ("recorded", "true")):
        chosen = small("algorithm-2", *changes, f"train.graphs={graphs}")
        training.train(chosen, tmp_path / name, device="cuda", quiet=True)
        from safetensors.torch import load_file

        states.append(load_file(tmp_path / name / "training.safetensors"))
    assert_same(*states, 1e-6)


def test_games_that_have_all_ended_do_no_harm(tmp_path):
    """Two games often end together before the last step: nothing is left to make statistics of."""
    changes = ["train.criterion=first_increment", "train.graphs=true", "train.batch=2"]
    changes += ["network.layers=5", "train.precision=float32", "data.n=7"]
    trainer = trainer_of(small("algorithm-2", *changes), tmp_path)
    trainer.objective.begin_epoch(0)
    for place in range(6):
        trainer.update(0, place)
        assert torch.isfinite(trainer.objective.stats["loss"])
        assert torch.isfinite(trainer.objective.stats["gradient"])
    for name, value in trainer.objective.policy.state_dict().items():
        assert torch.isfinite(value).all(), name
