"""Training: what it starts from, exact resume, overfitting, bad input."""
# ruff: noqa: E402 - the modules under test need torch, which is an extra

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from deepsteiner import datasets
from deepsteiner.core.errors import DeepSteinerError
from deepsteiner.policy import checkpoint
from deepsteiner.policy.network import Policy
from deepsteiner.policy.sampling import choose
from deepsteiner.policy.settings import NetworkConfig
from deepsteiner.policy.tours.network import TourModel, tour_lengths
from deepsteiner.policy.training import config, training
from deepsteiner.policy.training.distill import divergence
from deepsteiner.policy.training.instances import random_draws
from deepsteiner.policy.training.transfer import transfer
from small_runs import SMALL, assert_same, small, small_tours, trainer_of


def test_a_clock_that_ends_inside_an_epoch_still_lets_the_policy_challenge(tmp_path, monkeypatch):
    from deepsteiner.policy.training.trainer import Trainer

    clock = iter([0.0, 0.3, 0.6, 0.9, 1.2])
    monkeypatch.setattr(Trainer, "_progress", lambda self: next(clock))
    outcome = training.train(small("algorithm-2"), tmp_path / "run", device="cpu", quiet=True)
    assert (outcome.status, outcome.step) == ("finished", 4)
    text = (tmp_path / "run" / "log.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["step"] for line in lines if "trial_p" in line] == [3, 4]
    assert [line["step"] for line in lines if "policy_length" in line] == [3, 4]


# --- choices and targets ----------------------------------------------------------------------


def test_choices_follow_probabilities_and_skip_the_impossible():
    log_probs = torch.tensor([[0.0, 0.5, 0.0, 0.5, 0.0]]).log().expand(1000, -1)
    draws = torch.linspace(0.0, 1.0 - 2**-53, 1000, dtype=torch.float64)
    counts = torch.bincount(choose(log_probs, draws), minlength=5)
    assert counts.tolist() == [0, 500, 0, 500, 0]


def test_divergence_equals_its_definition():
    saving = torch.tensor([[0.2, 0.1, -0.3, -torch.inf]], dtype=torch.float64)
    log_probs = torch.tensor([[0.5, 0.25, 0.25, 0.0]], dtype=torch.float64).log()
    weights = np.exp(np.array([0.2, 0.1, -0.3]) / (0.5 * 0.2))
    target = weights / weights.sum()
    expected = (target * np.log(target / np.array([0.5, 0.25, 0.25]))).sum()
    found = divergence(log_probs, saving, saving.amax(dim=1), 0.5)
    assert float(found) == pytest.approx(expected, rel=1e-12)


# --- tours ------------------------------------------------------------------------------------


def test_tours_visit_every_city_and_are_scored_as_they_were_sampled():
    torch.manual_seed(1)
    model = TourModel(NetworkConfig(layers=1, dim=16, heads=4, ff=16)).double().eval()
    points = torch.rand((6, 7, 2), dtype=torch.float64)
    fixed = model.encode(points)
    tours = model.tours(fixed, random_draws((6, 7), "tour"))
    assert torch.equal(tours.sort(dim=1).values, torch.arange(7).expand(6, -1))
    step_by_step = torch.zeros(6, dtype=torch.float64)
    open_cities = torch.ones((6, 1, 7), dtype=torch.bool)
    rows = torch.arange(6)
    for step in range(7):
        ends = model.decoder.nowhere.expand(6, 1, -1)
        if step:
            ends = (fixed.first[rows, tours[:, 0]] + fixed.last[rows, tours[:, step - 1]])[:, None]
        step_by_step += model.decoder(fixed, ends, open_cities)[rows, 0, tours[:, step]]
        open_cities = open_cities.scatter(2, tours[:, step, None, None], False)
    torch.testing.assert_close(model.likelihood(fixed, tours), step_by_step)


def test_the_length_of_a_tour_around_a_square():
    square = torch.tensor([[[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]])
    assert float(tour_lengths(square, torch.tensor([[0, 2, 1, 3]]))) == 4.0


@pytest.mark.parametrize("decoder", ["paper", "released"])
def test_a_policy_takes_over_what_fits(tmp_path, decoder):
    from safetensors.torch import load_file

    outcome = training.train(small_tours("train.epochs=1"), tmp_path / "tour", device="cpu")
    assert outcome.results["tour_length"] > 0
    source = load_file(tmp_path / "tour" / "model" / "weights.safetensors")
    policy = Policy(NetworkConfig(layers=3, dim=16, heads=4, ff=16, decoder=decoder))
    report = transfer(source, policy)
    assert torch.equal(policy.embed.weight, source["embed.weight"].float())
    name = "encoder.layers.1.norm_ff.running_var"
    assert torch.equal(policy.state_dict()[name], source[name].float())
    assert all("layers.2" in name or "decoder" in name for name in report.random)
    assert ("decoder.project_nodes.weight" in report.loaded) == (decoder == "released")
    assert "random: encoder.layers.2" in str(report)


def test_training_starts_from_a_tour_model(tmp_path, capfd):
    training.train(small_tours("train.epochs=1"), tmp_path / "tour", device="cpu", quiet=True)
    start = f"train.start={tmp_path}/tour/model"
    chosen = small("algorithm-2", "train.epochs=1", "network.layers=3", start)
    training.train(chosen, tmp_path / "run", device="cpu")
    assert "loaded" in capfd.readouterr().err


def test_distillation_starts_from_a_policy_and_the_card_says_so(tmp_path, monkeypatch):
    first = small("distill", "train.epochs=1")
    before = training.train(first, tmp_path / "first", device="cpu", quiet=True).step
    monkeypatch.setenv("DEEPSTEINER_COMMIT", "0123abc")
    chosen = small("distill", f"train.start={tmp_path}/first/model", "candidates.kind=knn")
    trainer = trainer_of(chosen, tmp_path)
    from safetensors.torch import load_file

    start = load_file(tmp_path / "first" / "model" / "weights.safetensors")
    assert_same(trainer.objective.policy.state_dict(), start, 1e-6)
    outcome = training.train(chosen, tmp_path / "second", device="cpu", minutes=0.0, quiet=True)
    assert outcome.step == 0
    card = (tmp_path / "second" / "model" / "card.md").read_text()
    assert f"start from {tmp_path}/first/model: loaded all {len(start)} tensors" in card
    assert "commit 0123abc" in card
    described = json.loads((tmp_path / "second" / "model" / "config.json").read_text())
    assert described["instances_before"] == before * first.train.batch > 0


# --- resume, Ctrl-C ---------------------------------------------------------------------------


def runs():
    return {
        "reinforce": lambda: small("algorithm-2", "train.criterion=first_increment"),
        "distill": lambda: small("distill", "train.schedule=cosine"),
        "tours": small_tours,
    }


@pytest.mark.parametrize("name", ["reinforce", "distill", "tours"])
def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(tmp_path, monkeypatch, name):
    run, make = training.train, runs()[name]
    whole = run(make(), tmp_path / "whole", device="cpu", quiet=True)
    assert (whole.status, whole.step) == ("finished", 9)

    from deepsteiner.policy.training.trainer import Trainer

    plain = Trainer.update

    def update_and_interrupt(self, epoch, place):
        plain(self, epoch, place)
        if (epoch, place) == (1, 1):
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "update", update_and_interrupt)
        cut = run(make(), tmp_path / "cut", device="cpu", quiet=True)
    assert (cut.status, cut.step) == ("interrupted", 5)
    rest = run(make(), tmp_path / "cut", device="cpu", resume=True, quiet=True)
    assert (rest.status, rest.step) == ("finished", 9)

    from safetensors.torch import load_file

    expected = load_file(tmp_path / "whole" / "training.safetensors")
    found = load_file(tmp_path / "cut" / "training.safetensors")
    assert expected.keys() == found.keys()
    # Not even a NaN in the warm-up's mean may differ: compare the bytes.
    for key, value in expected.items():
        assert value.numpy().tobytes() == found[key].numpy().tobytes(), key


def test_a_budget_of_minutes_ends_cleanly_and_the_model_loads(tmp_path):
    stopped = training.train(small("distill"), tmp_path / "run", device="cpu", minutes=0.0)
    assert (stopped.status, stopped.step) == ("stopped", 0)
    policy, meta = checkpoint.load(tmp_path / "run" / "model")
    assert isinstance(policy, Policy)
    assert meta["seed"] == 0
    assert (tmp_path / "run" / "model" / "card.md").read_text().startswith("# run")
    finished = training.train(small("distill"), tmp_path / "run", device="cpu", resume=True)
    assert finished.status == "finished"
    lines = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    assert any("loss" in json.loads(line) for line in lines)


def test_a_clock_can_rule_the_schedule(tmp_path):
    chosen = small("distill", "train.minutes=0.01", "train.schedule=cosine")
    outcome = training.train(chosen, tmp_path / "run", device="cpu", quiet=True)
    assert outcome.status == "finished"
    assert outcome.step > 0


# --- learning ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_overfitting_eight_instances_reaches_the_lookahead_trees(tmp_path):
    from deepsteiner import solve_many

    points = datasets.generate("uniform", 5, count=8, split="train", seed=3).points
    teacher = solve_many(points, "greedy", relax=False).lengths
    np.savez(tmp_path / "eight.npz", points=points, optimal_length=teacher)
    chosen = config.load(
        ["distill"],
        [
            f"data.path={tmp_path}/eight.npz",
            f"validation.path={tmp_path}/eight.npz",
            "data.instances=8",
            "train.batch=8",
            "train.epochs=250",
            "train.warmup=10",
            "train.learning_rate=0.004",
            "train.clip=0",
            "train.precision=float32",
            "validation.every=250",
            "network.layers=2",
            "network.dim=32",
            "network.heads=4",
            "network.ff=64",
            "distill.explore=0",
            "distill.temperature=0.03",
        ],
    )
    outcome = training.train(chosen, tmp_path / "run", device="cpu", quiet=True)
    assert abs(outcome.results["gap"]) < 0.01


# --- bad input --------------------------------------------------------------------------------


def test_each_mistake_is_one_sentence_and_leaves_nothing_behind(tmp_path):
    few = tmp_path / "few.npz"
    np.savez(few, points=np.random.default_rng(0).random((3, 5, 2)))
    pairs = tmp_path / "pairs.npz"
    np.savez(pairs, points=np.random.default_rng(0).random((30, 2, 2)))
    out = tmp_path / "run"
    cases = [
        ([f"data.path={few}"], "holds 3 instances, fewer than one batch (train.batch = 8)"),
        ([f"data.path={pairs}"], "instance 0 has 2 points, at least 3 are needed"),
        ([f"data.path={tmp_path}/gone.npz"], "gone.npz"),
        ([f"validation.path={tmp_path}/gone.npz"], "gone.npz"),
        ([f"validation.path={pairs}"], "instance 0 has 2 points"),
        (["data.name=D9", "data.n=5"], "unknown dataset 'D9'"),
        ([f"train.start={tmp_path}/gone"], "no model"),
    ]
    for changes, sentence in cases:
        with pytest.raises(DeepSteinerError) as caught:
            training.train(small("algorithm-2", *changes), out, device="cpu")
        assert sentence in str(caught.value)
        assert "\n" not in str(caught.value)
        assert not out.exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_asked_for_and_absent(tmp_path):
    with pytest.raises(DeepSteinerError, match="no CUDA device"):
        training.train(small("algorithm-2"), tmp_path / "run", device="cuda")
    assert not (tmp_path / "run").exists()


def test_nothing_is_overwritten(tmp_path):
    out = tmp_path / "run"
    training.train(small("distill"), out, device="cpu", minutes=0.0, quiet=True)
    before = (out / "training.safetensors").read_bytes()
    with pytest.raises(DeepSteinerError, match="already holds a training run"):
        training.train(small("distill"), out, device="cpu")
    with pytest.raises(DeepSteinerError, match="written by another configuration"):
        training.train(small("distill", "network.dim=32"), out, device="cpu", resume=True)
    (out / "training.safetensors").write_bytes(before[:1000])
    with pytest.raises(DeepSteinerError, match="is damaged"):
        training.train(small("distill"), out, device="cpu", resume=True)
    other = tmp_path / "notes"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    with pytest.raises(DeepSteinerError, match="is not an empty folder"):
        training.train(small("distill"), other, device="cpu")
    with pytest.raises(DeepSteinerError, match="there is nothing to resume"):
        training.train(small("distill"), tmp_path / "new", device="cpu", resume=True)


# --- the command line -------------------------------------------------------------------------


def run_command(*words: str) -> tuple[int, str]:
    import typer
    from typer.testing import CliRunner

    from deepsteiner.cli.commands import models, pretrain, train

    app = typer.Typer()
    app.command("train")(train.train)
    app.command("pretrain")(pretrain.pretrain)
    app.add_typer(models.models, name="models")
    found = CliRunner().invoke(app, list(words))
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.output


def settings(*texts: str) -> list[str]:
    return [word for text in texts for word in ("--set", text)]


def test_train_resumes_and_reports_the_gap(tmp_path):
    out = str(tmp_path / "run")
    changes = settings(*SMALL, "train.precision=float32", "train.epochs=1")
    words = ["train", "-c", "distill", *changes, "--out", out, "--device", "cpu", "-q"]
    code, text = run_command(*words, "--minutes", "0")
    assert code == 0
    assert "stopped at step 0" in text
    assert f"go on with --resume --out {out}" in text
    code, text = run_command("train", "--resume", "--out", out, "--device", "cpu", "-q", "--json")
    assert json.loads(text)["status"] == "finished"
    assert json.loads(text)["gap"] > 0
    code, text = run_command("models", "show", f"{out}/model")
    assert "lookahead distillation" in text


def test_pretrain_reports_the_tour_length(tmp_path):
    known = [text for text in SMALL if not text.startswith("candidates")]
    changes = settings(*known, "tour.n=5", "train.epochs=1")
    out = str(tmp_path / "tour")
    code, text = run_command("pretrain", *changes, "--out", out, "--device", "cpu", "-q")
    assert code == 0
    assert "finished at step 3, tour length" in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["train", "--config", "nothing"], "unknown configuration 'nothing'"),
        (["train", "--set", "train.bach=1"], "unknown key train.bach"),
        (["train", "--resume"], "there is nothing to resume"),
        (["train", "--resume", "--config", "paper"], "drop --config"),
        (
            ["pretrain", "--config", "paper", "--set", "distill.depth=1"],
            r"unknown table \[distill\]",
        ),
    ],
)
def test_each_mistake_on_the_command_line_is_one_sentence(tmp_path, words, sentence):
    with pytest.raises(DeepSteinerError, match=sentence):
        run_command(*words, "--out", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_an_unknown_model_is_named():
    with pytest.raises(DeepSteinerError, match="no model 'nothing'"):
        run_command("models", "show", "nothing")
    assert run_command("models")[0] == 0


# --- elsewhere --------------------------------------------------------------------------------


def test_a_policy_for_the_hub_has_front_matter_and_solves_from_a_download(tmp_path):
    import deepsteiner as ds

    folder = tmp_path / "mine"
    code, text = run_command("models", "export", "mst-d1", str(folder))
    assert code == 0
    assert text.strip() == str(folder)
    readme = (folder / "README.md").read_text()
    front = readme.split("---\n")[1]
    assert "license: apache-2.0\n" in front
    assert "library_name: deepsteiner\n" in front
    assert "value: 0.1" in front
    # As the hub's own library lays a download out.
    cache = tmp_path / "models--yours--mine"
    (cache / "snapshots").mkdir(parents=True)
    folder.rename(cache / "snapshots" / "0123abc")
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("0123abc")
    points = np.random.default_rng(1).random((8, 2))
    expected = ds.solve(points, "policy").length
    for place in (cache, cache / "snapshots" / "0123abc"):
        assert ds.solve(points, "policy", model=str(place)).length == expected
    with pytest.raises(DeepSteinerError, match="is not an empty folder"):
        run_command("models", "export", "mst-d1", str(cache))
    with pytest.raises(DeepSteinerError, match="no model 'nothing'"):
        run_command("models", "export", "nothing", str(tmp_path / "new"))


def test_seeds_and_sweeps_end_in_a_table_and_go_on(tmp_path):
    out = str(tmp_path / "study")
    changes = settings(*SMALL, "train.precision=float32", "train.epochs=1")
    words = ["train", "-c", "distill", *changes, "--out", out, "--device", "cpu", "-q"]
    more = ["--seeds", "2", "--sweep", "train.batch=8,12"]
    code, text = run_command(*words, *more, "--json")
    assert code == 0
    found = json.loads(text)
    assert [row["variant"] for row in found] == [["train.batch=8"], ["train.batch=12"]]
    assert [row["steps"] for row in found] == [[3, 3], [2, 2]]
    values = found[0]["values"]
    assert values[0] != values[1]
    assert found[0]["gap"] == pytest.approx(np.mean(values))
    assert found[0]["gap_error"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(2))
    assert (tmp_path / "study" / "train.batch=12" / "seed-1" / "model").is_dir()
    again = ["train", "--resume", "--out", out, "--device", "cpu", "-q", *more]
    code, text = run_command(*again, "--set", "train.epochs=2")
    assert code == 0
    assert "±" in text
    assert "train.batch=12" in text
    for wrong in ("train.batch", "batch=3,4", "train.batch=3,,4"):
        with pytest.raises(DeepSteinerError, match=r"a sweep has the form table\.key=one,other"):
            run_command(*words, "--sweep", wrong)
    with pytest.raises(DeepSteinerError, match=r"train\.batch must be at least 1, got 0"):
        run_command(*words[:-5], "--out", str(tmp_path / "new"), "--sweep", "train.batch=8,0")
    assert not (tmp_path / "new").exists()
