"""Result rows, datasets and methods as texts, optima, and the runner."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deepsteiner import __version__, datasets
from deepsteiner.benchmark import optima, rows
from deepsteiner.benchmark.job import Job, tasks_of
from deepsteiner.benchmark.models import describe_model, policies_in, shipped_policies
from deepsteiner.benchmark.runner import Bench, Task, run_tasks
from deepsteiner.benchmark.specs import Instances, parse_dataset, parse_method
from deepsteiner.benchmark.tables.plans import only, paper_plan, policy_spec
from deepsteiner.core.errors import DeepSteinerError, FormatError, OptionError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPSTEINER_CACHE", str(tmp_path / "cache"))


def row(**changes) -> rows.Row:
    base = rows.Row(
        dataset="D1",
        n=10,
        count=20,
        method="mst",
        options={},
        device="cpu",
        version=__version__,
        points="abc",
        seed=0,
        gap_mean=3.1,
        gap_std=1.5,
        gap_stderr=0.3,
        gap_min=0.0,
        gap_max=9.0,
        length_mean=2.1,
        batch_ms=0.01,
        throughput=1e5,
    )
    return replace(base, **changes)


def task(dataset: str, method: str, count: int | None = 20) -> Task:
    return Task(parse_dataset(dataset), parse_method(method), count)


def test_rows_come_back_as_they_were_written(tmp_path):
    path = tmp_path / "deep" / "bench.jsonl"
    written = [row(), row(method="greedy", options={"relax": False}, single_ms=1.5)]
    for one in written:
        rows.append_row(path, one)
    assert rows.read_rows(path) == written


def test_half_a_line_at_the_end_is_no_row_and_is_mended(tmp_path):
    path = tmp_path / "bench.jsonl"
    rows.append_row(path, row())
    with path.open("a") as stream:
        stream.write('{"dataset": "D1", "n"')
    assert rows.read_rows(path) == [row()]
    rows.append_row(path, row(count=30))
    assert [one.count for one in rows.read_rows(path)] == [20, 30]


def test_a_whole_last_line_without_its_end_is_kept(tmp_path):
    path = tmp_path / "bench.jsonl"
    path.write_text(row().to_line())
    rows.append_row(path, row(count=30))
    assert [one.count for one in rows.read_rows(path)] == [20, 30]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense\n", "line 1: expected one JSON object per line"),
        ("[1]\n", "line 1: expected one JSON object per line"),
        ('{"dataset": "D1"}\n', "line 1: the row has no 'batch_ms'"),
        (row().to_line().replace("3.1", '"x"') + "\n", "gap_mean must be a number"),
        (row().to_line().replace('"options": {}', '"options": 3') + "\n", "options must be"),
    ],
)
def test_bad_rows_are_named(tmp_path, text, message):
    path = tmp_path / "bench.jsonl"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        rows.read_rows(path)


def test_a_later_row_of_the_same_key_replaces_the_earlier():
    found = rows.newest([row(gap_mean=1.0), row(count=30), row(gap_mean=2.0)])
    assert [(one.count, one.gap_mean) for one in found] == [(30, 3.1), (20, 2.0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("D9", "unknown dataset 'D9'"),
        ("DEG", "DEG is read from a file of yours"),
        ("DEG:", "is written name:path"),
        (":x.npz", "is written name:path"),
        ("squares-30", "the kinds with a size are"),
    ],
)
def test_bad_datasets(text, message):
    with pytest.raises(OptionError, match=message):
        parse_dataset(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope", "unknown method 'nope'"),
        ("greedy:relax", "options are written name=value"),
        ("greedy:relax=false,relax=true", "each once"),
        ("greedy:colour=red", "has no option 'colour'"),
        ("greedy:k_star=many", "must be int"),
        ("greedy:k_star=0", "must be at least 1"),
    ],
)
def test_bad_methods(text, message):
    with pytest.raises(DeepSteinerError, match=message):
        parse_method(text)


def test_options_at_their_defaults_are_left_out_and_the_model_stays():
    assert parse_method("greedy:k_star=9,relax=false").text == "greedy:relax=False"
    assert parse_method("policy").options == {"model": "relative"}


def test_a_file_with_a_taken_name_is_labelled(tmp_path):
    path = tmp_path / "d1.npz"
    np.savez(path, points=datasets.load("D1", count=3).points)
    spec = parse_dataset(f"D1:{path}")
    assert spec.label == "D1 (file)"
    assert len(spec.load(None, 0).points) == 3


def test_files_of_different_sizes_are_refused(tmp_path):
    path = tmp_path / "mixed.jsonl"
    path.write_text("[[0, 0], [1, 1]]\n[[0, 0], [1, 1], [2, 0]]\n")
    with pytest.raises(OptionError, match="all of one size"):
        parse_dataset(f"DEG:{path}").load(None, 0)


class TestOptima:
    def points(self):
        return Instances("D1", np.asarray(datasets.load("D1", count=5).points), None)

    def test_cached_by_content(self, monkeypatch):
        first = optima.optimal_lengths(self.points())
        monkeypatch.setattr(optima, "_solve", None)
        assert optima.optimal_lengths(self.points()).tolist() == first.tolist()

    @pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"garbage"])
    def test_a_damaged_cache_is_made_anew(self, content):
        first = optima.optimal_lengths(self.points())
        (path,) = optima.cache_folder().glob("*.npz")
        path.write_bytes(content)
        assert optima.optimal_lengths(self.points()).tolist() == first.tolist()
        assert list(optima.read_optima(path)) == [path.stem]

    def test_a_cache_of_the_wrong_size_is_made_anew(self):
        first = optima.optimal_lengths(self.points())
        (path,) = optima.cache_folder().glob("*.npz")
        optima.write_optima(path, {path.stem: first[:2]})
        assert optima.optimal_lengths(self.points()).tolist() == first.tolist()

    def test_a_cache_that_cannot_be_written_costs_only_time(self, tmp_path, monkeypatch):
        blocked = tmp_path / "file"
        blocked.write_text("")
        monkeypatch.setenv("DEEPSTEINER_CACHE", str(blocked))
        assert len(optima.optimal_lengths(self.points())) == 5

    def test_optima_of_the_file_come_first(self):
        given = replace(self.points(), optima=np.ones(5))
        assert optima.optimal_lengths(given).tolist() == [1.0] * 5

    def test_known_optima_come_before_the_cache(self):
        name = optima.content_hash(self.points().points)
        found = optima.optimal_lengths(self.points(), {name: np.full(5, 2.0)})
        assert found.tolist() == [2.0] * 5

    def test_wrong_optima_are_refused(self, tmp_path):
        path = tmp_path / "wrong.npz"
        points = datasets.load("D1", count=5).points
        np.savez(path, points=points, optimal_length=np.full(5, 100.0))
        with pytest.raises(OptionError, match="below the stated optimum 100"):
            Bench().measure(task(f"DEG:{path}", "mst", None))

    def test_a_file_that_is_none_is_named(self, tmp_path):
        path = tmp_path / "x.npz"
        path.write_text("no")
        with pytest.raises(FormatError, match="is not an npz archive"):
            optima.read_optima(path)
        np.savez(path, names=np.array(["no", "numbers"]))
        with pytest.raises(FormatError, match=r"not an \.npz file of optimal lengths"):
            optima.read_optima(path)
        with pytest.raises(FormatError, match="does not exist"):
            optima.read_optima(tmp_path / "absent.npz")


class TestRunner:
    def test_a_row_says_what_was_measured(self):
        made = Bench(single=2).measure(task("D1", "greedy:relax=false"))
        assert (made.dataset, made.n, made.count, made.device) == ("D1", 10, 20, "cpu")
        assert made.options == {"relax": False}
        assert 0.0 <= made.gap_min <= made.gap_mean <= made.gap_max < 3.0
        assert made.gap_stderr == pytest.approx(made.gap_std / np.sqrt(20))
        assert made.single_count == 2
        assert made.single_ms > 0
        assert made.batch_ms > 0
        assert made.memory_mib > 10
        assert set(made.examples) == {"best", "median", "worst"}
        assert {"python", "numpy", "numba"} <= set(made.versions)
        assert "core" in made.machine
        json.loads(made.to_line())

    def test_gaps_match_a_plain_calculation(self):
        from deepsteiner import solve

        made = Bench().measure(task("D3", "smith", 6))
        points = datasets.load("D3", count=6).points
        best = np.array([solve(one, "exact").length for one in points])
        found = np.array([solve(one, "smith").length for one in points])
        gaps = 100 * (found - best) / best
        assert made.gap_mean == pytest.approx(gaps.mean())
        assert made.gap_std == pytest.approx(gaps.std(ddof=1))
        assert made.gap_max == pytest.approx(gaps[made.examples["worst"]])

    def test_exact_has_no_gap(self):
        made = Bench().measure(task("uniform-5", "exact"))
        assert (made.gap_mean, made.gap_std, made.dataset) == (0.0, 0.0, "uniform-5")

    def test_rows_that_are_there_are_skipped_unless_forced(self, tmp_path):
        path = tmp_path / "bench.jsonl"
        tasks = [task("D1", "mst"), task("D1", "mst", 10)]
        assert len(run_tasks(tasks, Bench(), path)) == 2
        skipped = []
        again = run_tasks(tasks, Bench(), path, on_row=lambda _, made: skipped.append(made))
        assert (again, skipped) == ([], [None, None])
        assert len(run_tasks([task("D1", "smith")], Bench(), path)) == 1
        assert len(run_tasks(tasks[:1], Bench(seed=1), path)) == 1
        assert len(run_tasks(tasks[:1], Bench(), path, force=True)) == 1
        assert len(rows.read_rows(path)) == 5

    def test_progress_can_stop_a_run(self, tmp_path):
        path = tmp_path / "bench.jsonl"
        run_tasks([task("D1", "mst")], Bench(), path)
        with pytest.raises(KeyboardInterrupt):
            run_tasks([task("D1", "bereta")], Bench(report=lambda *_: False), path)
        assert len(rows.read_rows(path)) == 1

    @pytest.mark.parametrize(
        "settings", [{"workers": 0}, {"single": -1}, {"seed": -1}, {"device": "tpu"}]
    )
    def test_bad_settings(self, settings):
        (name,) = settings
        with pytest.raises(OptionError, match=f"{name} must be"):
            Bench(**settings)

    def test_a_count_below_one(self):
        with pytest.raises(OptionError, match="count must be at least 1"):
            Bench().measure(task("D1", "mst", 0))


class TestPlan:
    def test_every_task_is_one_row(self):
        tasks = paper_plan(files={"DEG": "deg.npz"})
        texts = [(one.dataset.label, one.method.text, one.count) for one in tasks]
        assert len(texts) == len(set(texts))
        for dataset in ("D1", "D2", "D3", "DEG", "uniform-30", "uniform-100"):
            assert (dataset, "mst") in {pair[:2] for pair in texts}

    def test_an_accelerator_gets_learned_rows_only(self):
        tasks = paper_plan(device="cuda")
        assert tasks
        assert all(one.method.name == "policy" for one in tasks)

    def test_filters(self):
        tasks = paper_plan()
        chosen = only(tasks, ["classical D1 rand2", "sizes smith"])
        assert {one.method.name for one in chosen} == {"rand2", "smith"}
        assert {one.dataset.label for one in chosen if one.method.name == "rand2"} == {"D1"}
        with pytest.raises(OptionError, match="no row of the plan matches 'nothing'"):
            only(tasks, ["nothing"])

    @pytest.mark.parametrize(
        ("job", "message"),
        [
            (Job(), "give --dataset and --method"),
            (Job(dataset=["D1"]), "give --dataset and --method"),
            (Job(plan="other"), "unknown plan 'other'"),
            (Job(plan="paper", dataset=["D1"]), "use --only"),
            (Job(dataset=["D1"], method=["mst"], only=["x"]), "--only belongs to --plan"),
            (Job(dataset=["D1"], method=["mst"], count=0), "--count must be at least 1"),
            (Job(plan="paper", models="nowhere"), "not a folder of trained models"),
        ],
    )
    def test_bad_jobs(self, job, message):
        with pytest.raises(DeepSteinerError, match=message):
            tasks_of(job)


class TestModels:
    def test_the_shipped_policies_are_known(self):
        names = [model.name for model in shipped_policies()]
        assert "mst-d1" in names
        assert "tsp20" not in names

    def test_facts_of_a_training(self):
        facts = describe_model("mst-d1").facts
        assert (facts["data"], facts["objective"]) == ("D1", "distill")
        assert facts["instances_seen"] == facts["steps"] * facts["batch"]

    @staticmethod
    def write_run(root, name, before=0, **train):
        folder = root / name / "model"
        folder.mkdir(parents=True)
        train = {"objective": "reinforce", "criterion": "first_selection", "batch": 32, **train}
        config = {
            "candidates": {"kind": "mst"},
            "step": 640,
            "instances_before": before or None,
            "config": {"train": train, "data": {"name": "D1", "instances": 10240}},
        }
        for place in (folder, folder.parent):  # a run keeps its own configuration beside
            (place / "config.json").write_text(json.dumps(config))
        return folder

    def test_what_a_run_began_with_is_counted_and_not_measured(self, tmp_path):
        begun, name = "mst-first-selection-d1-begun", "mst-first-selection-d1"
        self.write_run(tmp_path, begun, start="tsp20")
        self.write_run(tmp_path, name, before=512, start=begun)
        (model,) = policies_in(tmp_path)
        assert (model.name, model.facts["start"]) == (name, begun)
        assert (model.facts["instances_seen"], model.facts["instances_before"]) == (20480, 512)

    def test_models_of_runs_are_called_by_the_run(self, tmp_path):
        folder = self.write_run(tmp_path, "mst-first-selection-d1")
        (model,) = policies_in(tmp_path)
        assert model.name == "mst-first-selection-d1"
        assert model.argument == str(folder)
        assert (model.facts["epochs"], model.facts["instances_seen"]) == (2.0, 20480)
        assert describe_model(str(folder)).name == model.name

    def test_a_folder_may_have_a_name_that_no_method_text_can_hold(self, tmp_path):
        folder = self.write_run(tmp_path / "a,b=c", "mst-first-selection-d1")
        (model,) = policies_in(folder.parents[1])
        spec = policy_spec(model, "refined")
        assert spec.options == {"model": str(folder), "normalize": False, "refine": True}

    def test_an_empty_folder_is_refused(self, tmp_path):
        with pytest.raises(FormatError, match="holds no trained models"):
            policies_in(tmp_path)


def test_the_plain_runner_needs_neither_typer_nor_rich_nor_highspy(tmp_path):
    code = (
        "import sys\n"
        "for name in ('typer', 'rich', 'highspy'): sys.modules[name] = None\n"
        "from deepsteiner.benchmark.__main__ import main\n"
        f"sys.exit(main(['--dataset', 'D1', '--method', 'mst', '--count', '5', '-O', "
        f"{str(tmp_path / 'rows.jsonl')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "D1 mst: gap" in done.stdout
    assert len(rows.read_rows(tmp_path / "rows.jsonl")) == 1
    bad = [sys.executable, "-m", "deepsteiner.benchmark", "--dataset", "D7", "--method", "mst"]
    done = subprocess.run(bad, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: unknown dataset 'D7'")


def test_every_stored_row_is_of_a_commit_and_not_of_a_tree_with_changes():
    folders = (
        ROOT / "src" / "deepsteiner" / "benchmark" / "stored",
        ROOT / "benchmarks" / "stored",
    )
    lines = [
        line
        for folder in folders
        for path in folder.rglob("*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    rows = [row for row in map(json.loads, lines) if "commit" in row]
    assert len(rows) > 500
    assert [row for row in rows if not re.fullmatch("[0-9a-f]{7,40}", row["commit"])] == []
