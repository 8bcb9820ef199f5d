"""Tables, their renderings, the recomputation and the report, from made-up and stored rows."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from deepsteiner import __version__, datasets
from deepsteiner.benchmark import recompute
from deepsteiner.benchmark.models import shipped_policies
from deepsteiner.benchmark.printed_recipe import cell as printed_cell
from deepsteiner.benchmark.printed_recipe import stored_trainings
from deepsteiner.benchmark.report import charts, curves, pictures
from deepsteiner.benchmark.report.page import html
from deepsteiner.benchmark.rows import Row, read_rows, stored_rows
from deepsteiner.benchmark.runner import Bench
from deepsteiner.benchmark.tables import entries, paper, render_text
from deepsteiner.benchmark.tables.catalogue import make_tables
from deepsteiner.benchmark.tables.plans import only, paper_plan
from deepsteiner.benchmark.tables.preface import preface
from deepsteiner.benchmark.tables.results import Results
from deepsteiner.benchmark.tables.table import Cell
from deepsteiner.core.errors import FormatError, OptionError


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPSTEINER_CACHE", str(tmp_path / "cache"))


def row(**changes) -> Row:
    base = Row(
        dataset="D1",
        n=10,
        count=10_000,
        method="mst",
        options={},
        device="cpu",
        version=__version__,
        points="abc",
        seed=0,
        gap_mean=3.1976,
        gap_std=1.61,
        gap_stderr=0.0161,
        gap_min=0.0,
        gap_max=9.0,
        length_mean=2.1,
        batch_ms=0.0066273,
        throughput=1e5,
        single_ms=0.48,
        single_count=100,
        memory_mib=171.0,
        machine="a processor, 2 cores",
        commit="abc1234",
        versions={"python": "3.11"},
        date="2026-01-01",
    )
    return replace(base, **changes)


def policy(name: str, dataset: str = "D1", **changes) -> Row:
    options = {"model": name, "normalize": False, **changes.pop("options", {})}
    return row(method="policy", dataset=dataset, options=options, **changes)


def cell(results: Results, number: str, label: str, column: str) -> Cell:
    """Return the first cell of a line and a column."""
    for table in make_tables(results, [number]):
        for _, line, name, found in table.cells():
            if line.label.strip() == label and name == column:
                return found
    raise AssertionError(f"no cell {label!r}, {column!r}")


class TestPaperCells:
    def test_the_printed_numbers_of_the_first_selection_rows(self):
        kinds = ("mst", "knn", "grid")
        printed = [paper.TABLE1[f"{kind}-first-selection"] for kind in kinds]
        assert printed == [(1.39, 2.46, 1.77), (2.41, 2.13, 2.62), (2.98, 3.16, 2.88)]

    def test_tables_1_and_3_agree_where_they_overlap(self):
        for place, home in enumerate(("D1", "D2", "D3")):
            assert paper.TABLE3[home][place] == paper.TABLE1["mst-first-selection"][place]
        assert paper.TABLE3["mst"][:3] == paper.TABLE1["mst"]

    def test_blanks_are_the_four_that_the_paper_leaves(self):
        blanks = [key for key, cells in paper.TABLE1.items() if None in cells]
        assert sorted(blanks) == [
            "grid-all-selection",
            "knn-all-selection",
            "knn-first-increment",
            "mst-all-selection",
        ]


class TestCells:
    def test_ours_stands_beside_the_papers(self):
        results = Results([row()])
        ours = cell(results, "1", "minimum spanning tree", "D1")
        assert (ours.value, ours.standard_error, ours.source) == (3.1976, 0.0161, "stored")
        assert cell(results, "1", "minimum spanning tree", "paper").value == 3.15

    def test_what_is_not_there_is_said_to_be_missing(self):
        assert cell(Results([]), "1", "MST+First-increment", "D2").state == "missing"
        text = render_text.markdown(make_tables(Results([])), [], marked=False)
        assert "not yet measured" in text

    def test_more_instances_win_and_recomputed_ones_win_over_all(self):
        few, many = row(count=100, gap_mean=1.0), row(gap_mean=2.0)
        assert cell(Results([many, few]), "1", "minimum spanning tree", "D1").value == 2.0
        fresh = Results([many], [row(count=50, gap_mean=3.0)])
        found = cell(fresh, "1", "minimum spanning tree", "D1")
        assert (found.value, found.source) == (3.0, "recomputed")

    def test_models_find_their_cells_by_name(self):
        facts = {"instances_seen": 1_024_000, "epochs": 100.0, "data": "D2"}
        facts["instances_before"] = 409_600
        results = Results(
            [
                policy("knn-first-increment-d2", "D2", gap_mean=2.5, model=facts),
                policy("mst-d3", "D3", gap_mean=0.19),
                policy("mst-d3", "D3", gap_mean=0.04, options={"augment": True, "refine": True}),
                policy("mst-d3", "DEG", gap_mean=0.2),
            ]
        )
        assert cell(results, "1", "KNN+First-increment", "D2").value == 2.5
        assert cell(results, "1", "MST, Algorithm 1", "D3").value == 0.19
        assert cell(results, "1", "MST, ×8 refined", "D3").value == 0.04
        assert cell(results, "1", "epochs, seen", "D2").text == "100, 1.02M"
        assert cell(results, "1", "seen before", "D2").text == "410k"
        lines = [line for _, line, _, c in make_tables(results, ["3"])[0].cells() if c.value == 0.2]
        assert [line.label for line in lines] == ["distilled"]

    def test_every_set_has_the_model_that_was_trained_on_it_and_others_have_that_of_d1(self):
        results = Results(
            [
                policy("mst-d3", "D3", gap_mean=0.19),
                policy("mst-d1", "D3", gap_mean=0.3),
                policy("mst-d1", "DEG", gap_mean=0.4),
                policy("mst-d3", "DEG", gap_mean=0.5),
            ]
        )
        method = entries.policy("mst-{home}")
        assert results.gap("D3", method).gap_mean == 0.19
        assert results.gap("DEG", method).gap_mean == 0.4
        assert results.gap("D2", method) is None

    def test_results_of_other_weights_are_outdated(self):
        old = policy("mst-d1", gap_mean=9.0, model={"weights": "0" * 12})
        assert cell(Results([old]), "1", "MST, Algorithm 1", "D1").state == "missing"
        foreign = policy("mst-first-selection-d1", model={"weights": "0" * 12})
        assert cell(Results([foreign]), "1", "MST+First-selection", "D1").state == "value"

    def test_devices_are_never_mixed(self):
        gpu = policy("mst-d1", device="NVIDIA H200", batch_ms=0.05, device_memory_mib=900.0)
        results = Results([policy("mst-d1", batch_ms=40.0, count=500), gpu])
        line = "MST, distilled"
        assert cell(results, "2", line, "CPU all").value == 40.0
        assert cell(results, "2", line, "GPU all").value == 0.05
        assert cell(results, "2", line, "GPU MiB").value == 900.0
        assert cell(results, "2", "smith", "GPU all").state == "empty"

    def test_studies_find_models_by_their_candidates(self):
        spec = {"kind": "knn", "k_star": 5, "k_neighbors": 2, "grid": 10}
        facts = {"candidates": spec, "objective": "distill", "data": "D1"}
        results = Results([policy("some-name", gap_mean=0.3, model=facts)])
        values = {c.value for _, _, _, c in make_tables(results, ["4"])[0].cells()}
        assert values == {None, 0.3}

    def test_counts_that_differ_are_noted(self):
        table = make_tables(Results([row(), row(method="smith", count=50)]), ["6"])[0]
        assert "except 50: smith (n = 10)" in table.notes[-1] + table.notes[-2]

    @pytest.mark.parametrize(
        ("start", "shown"),
        [
            ("tsp20", "tsp20"),
            ("mst-d1-begun", "mst-d1-begun"),
            ("runs/knn-first-selection-d2-begun/model", "…-begun"),
            ("runs/knn-first-selection-d1-begun/model", "…-d1-begun"),
            ("runs/mst-first-selection-d2/model", "…-selection-d2"),
        ],
    )
    def test_a_start_is_shown_by_what_its_name_adds(self, start, shown):
        facts = {"start": start, "epochs": 12.4, "kept_epoch": 9, "steps": 1240, "batch": 64}
        results = Results([policy("knn-first-selection-d2", "D2", model=facts)])
        assert cell(results, "7", "knn-first-selection-d2", "start").text == shown
        assert cell(results, "7", "knn-first-selection-d2", "epochs").text == "12 (9)"

    def test_the_recipe_as_printed_has_rows_of_its_own(self):
        found = {
            (section.heading, line.label, column): one
            for section, line, column, one in make_tables(Results([]), ["1"])[0].cells()
        }
        heading = "MST candidates, the recipe as printed"
        stopped = found[heading, "MST+First-selection", "D1"]
        gaps = [one.gaps["d1_stopped"] for one in printed_cell(stored_trainings(), "mst", "d1")]
        assert len(gaps) == 3
        assert stopped.value == pytest.approx(np.mean([mean for mean, _, _ in gaps]))
        spread = np.std([mean for mean, _, _ in gaps], ddof=1)
        assert stopped.standard_error == pytest.approx(spread / 3**0.5)
        kept = found[heading, "MST+First-selection, kept", "D1"]
        assert kept.value > stopped.value
        assert found[heading, "  seeds: epochs", "D1"].text == "3: 100"
        knn = found["KNN candidates, the recipe as printed", "  seeds: epochs", "D1"]
        assert knn.text.startswith("1: ")

    def test_unknown_tables_are_refused(self):
        with pytest.raises(OptionError, match="unknown table '10'"):
            make_tables(Results([]), ["10"])


class TestRenderings:
    def test_terminal_tables_fit_80_columns(self):
        homes = ("d1", "d2", "d3")
        models = [f"{kind}-{name}" for kind in ("mst", "knn", "grid") for name in homes]
        models += [f"grid-first-increment-{name}" for name in homes]
        facts = {"instances_seen": 12_345_678, "epochs": 123.4, "data": "D1", "batch": 512}
        facts |= {"objective": "reinforce", "minutes": 14.5, "steps": 24_113, "kept_epoch": 120}
        facts |= {"start": "runs/grid-first-increment-d1-continued-2/model"}
        facts |= {"instances_before": 12_345_678}
        wide = {"gap_mean": 9.718, "gap_stderr": 0.00021, "batch_ms": 0.012345}
        rows = [
            replace(r, dataset=d, **wide)
            for d in ("D1", "D2", "D3", "DEG", "uniform-30", "uniform-50", "uniform-100")
            for r in (row(), row(method="smith"), *(policy(m, model=facts) for m in models))
        ]
        text = render_text.terminal(make_tables(Results(rows)), ["word " * 60], marked=True)
        assert max(map(len, text.splitlines())) <= 80

    def test_marks_tell_recomputed_from_stored(self):
        results = Results([row(dataset="D2"), row()], [row(count=200)])
        text = render_text.terminal(make_tables(results, ["1"]), [], marked=True)
        line = re.findall("minimum spanning tree.*", text)[0]
        assert line.split()[3:] == ["3.198(16)r", "3.15", "3.198(16)s", "3.19", "–", "3.06"]
        marked = render_text.markdown(make_tables(results, ["1"]), [], marked=True)
        assert "3.198 ± 0.016 (1.61) recomputed" in marked
        assert "3.198 ± 0.016 (1.61) stored" in marked

    def test_markdown_rows_have_as_many_cells_as_their_header(self):
        text = render_text.markdown(make_tables(Results([row()])), ["One."], marked=False)
        blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
        assert len(blocks) >= len(make_tables(Results([row()])))
        for block in blocks:
            assert len({line.count("|") for line in block.splitlines()}) == 1

    def test_csv_carries_numbers_and_provenance(self):
        text = render_text.comma_separated(make_tables(Results([row()]), ["1"]))
        found = list(csv.DictReader(io.StringIO(text)))
        ours = next(r for r in found if r["source"] == "stored")
        assert float(ours["value"]) == 3.1976
        assert float(ours["standard_deviation"]) == 1.61
        assert (ours["commit"], ours["count"]) == ("abc1234", "10000")
        theirs = next(r for r in found if r["source"] == "paper" and r["value"] == "3.15")
        assert theirs["standard_deviation"] == ""

    def test_the_preface_says_where_numbers_come_from(self):
        text = " ".join(preface(Results([row()])))
        for part in ("a processor, 2 cores", "abc1234", __version__, "seed 0", "python 3.11"):
            assert part in text


class _Outside(HTMLParser):
    """Collects everything a page would load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "href", "data") and value and not value.startswith("#"):
                self.found.append(value)


class TestReport:
    def test_one_page_with_everything_inside(self):
        made = Bench().measure(recompute.quick_tasks(count=20)[0])
        results = Results([], [made])
        page = html(make_tables(results), preface(results), results, marked=True)
        outside = _Outside()
        outside.feed(page)
        assert not outside.found
        assert "url(" not in page
        assert page.count("<table>") == len(make_tables(results))
        for words in ("Figure 1", "prefers-color-scheme: dark", "best: gap", "worst: gap"):
            assert words in page
        assert page.count('class="sheet"') == 3 + 3

    def test_figure_1_shows_the_papers_candidates(self):
        panels = dict(pictures.figure1())
        counts = [svg.count('class="candidate"') for svg in panels.values()]
        edges = len(pictures.FIGURE_POINTS) - 1
        assert counts == [100, 2 * 9 * 3, 2 * 9 * edges]

    def test_learning_curves_of_runs(self, tmp_path):
        log = tmp_path / "runs" / "mst-d1" / "log.jsonl"
        log.parent.mkdir(parents=True)
        log.write_text(
            '{"step": 10, "loss": 3}\n{"step": 10, "gap": 2.0}\n{"step": 20, "gap": 1.0}\n'
        )
        (kept,) = curves.keep(tmp_path / "runs", tmp_path / "kept")
        assert len(kept.read_text().splitlines()) == 2
        for folder in ("runs", "kept"):
            found = curves.learning_curves(tmp_path / folder)
            assert found == {"mst-d1": [(10.0, 2.0), (20.0, 1.0)]}
        svg = charts.lines([charts.Curve("a", found["mst-d1"], 0)], "steps", "gap", (400, 300))
        assert svg.count("<polyline") == 1

    def test_the_parts_of_a_training_make_one_curve(self, tmp_path):
        gaps = {"-begun": 3.0, "-continued": 2.0, "-continued-2": 1.0, "": 0.5}
        for part, gap in gaps.items():
            log = tmp_path / f"mst-first-selection-d2{part}.jsonl"
            log.write_text(json.dumps({"step": 10, "gap": gap}) + "\n")
        whole = [(10.0, 3.0), (20.0, 2.0), (30.0, 1.0), (40.0, 0.5)]
        assert curves.learning_curves(tmp_path) == {"mst-first-selection-d2": whole}

    def test_stored_curves_of_one_criterion_share_a_chart(self):
        page = html([], [], Results([]), marked=False)
        (section,) = re.findall('<section id="curves">.*?</section>', page, re.DOTALL)
        charts_of = dict(re.findall("<h3>([^<,]+).*?</h3>(<svg.*?</svg>)", section, re.DOTALL))
        words = ["All-selection", "First-increment", "First-selection", "distilled"]
        assert sorted(charts_of) == words
        for heading, chart in charts_of.items():
            labels = re.findall(r'class="label c\d+">([^<]+)<', chart)
            assert len(labels) == chart.count("<polyline") > 0
            assert all((heading.lower() in label) == (heading != "distilled") for label in labels)

    def test_a_broken_log_is_named(self, tmp_path):
        (tmp_path / "x.jsonl").write_text("{\n")
        with pytest.raises(FormatError, match="line 1"):
            curves.learning_curves(tmp_path)


class TestRecompute:
    def test_what_is_recomputed(self):
        tasks = recompute.quick_tasks(count=50)
        assert {task.count for task in tasks} == {50}
        texts = {task.method.text for task in tasks}
        assert {"mst", "exact", "bereta", "policy:model=mst-d1,normalize=False"} <= texts
        distilled = [m.name for m in shipped_policies() if m.facts["objective"] == "distill"]
        assert {t.method.options["model"] for t in tasks if t.method.name == "policy"} == set(
            distilled
        )

    def test_only_the_rows_of_the_tables_asked_for(self):
        tasks = recompute.quick_tasks(count=5, tables=["6"])
        assert {t.dataset.label for t in tasks} == {"uniform-30", "uniform-50", "uniform-100"}
        assert recompute.quick_tasks(count=5, tables=["8"]) == []

    def test_agreement_is_within_three_standard_errors(self):
        stored = row(gap_mean=3.0, gap_std=1.0, gap_stderr=0.01)
        near = row(count=100, gap_mean=3.29, gap_std=0.9, gap_stderr=0.09)
        far = row(count=100, gap_mean=3.31, gap_std=0.9, gap_stderr=0.09)
        assert [one.agrees for one in recompute.compare(Results([stored], [near]))] == [True]
        (off,) = recompute.compare(Results([stored], [far]))
        assert not off.agrees
        lines = recompute.verdict([off])
        assert lines[0].startswith("0 of 1 recomputed results agree")
        assert "recomputed 3.31 % on 100" in lines[1]

    def test_time_that_is_up_leaves_stored_results(self):
        tasks = recompute.quick_tasks(count=5)[:3]
        assert recompute.recompute(tasks, Bench(), minutes=0.0) == []

    def test_recomputed_results_agree_with_the_stored_ones(self):
        """What `tables --quick` does, on fewer instances and methods."""
        stored = stored_rows()
        wanted = only(recompute.quick_tasks(count=60), ["table1 D1", "table1 D3"])
        tasks = [task for task in wanted if task.method.name != "policy"]
        results = Results(stored, recompute.recompute(tasks, Bench(), minutes=8.0))
        agreements = recompute.compare(results)
        assert len(agreements) >= 30
        assert [recompute.verdict([one])[1] for one in agreements if not one.agrees] == []

    def test_a_distilled_model_agrees_with_its_stored_result(self):
        pytest.importorskip("torch")
        wanted = [
            t for t in recompute.quick_tasks(count=20) if t.method.options.get("model") == "mst-d1"
        ]
        results = Results(stored_rows(), recompute.recompute(wanted[:1], Bench(), minutes=2.0))
        (found,) = recompute.compare(results)
        assert found.agrees


class TestStored:
    def test_stored_rows_are_whole_and_have_their_provenance(self):
        rows = stored_rows()
        assert rows
        for one in rows:
            assert one.machine, one
            assert one.commit, one
            assert one.versions, one
            assert one.date, one

    def test_stored_rows_of_generated_sets_were_measured_on_what_is_generated_now(self):
        from deepsteiner.benchmark.optima import content_hash

        hashes = {
            (r.dataset, r.count): r.points
            for r in stored_rows()
            if r.dataset in datasets.PAPER and r.seed == 0
        }
        assert {name for name, _ in hashes} == set(datasets.PAPER)
        for (name, count), known in hashes.items():
            assert content_hash(np.asarray(datasets.load(name, count=count).points)) == known


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "deepsteiner", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


class TestCommandLine:
    def test_bench_writes_rows_and_tables_reads_them(self, tmp_path):
        rows = tmp_path / "rows.jsonl"
        call = ("bench", "-d", "D1", "-m", "smith", "--count", "7", "-O", str(rows))
        done = run_cli(*call)
        assert done.returncode == 0, done.stderr
        assert "1 new, 0 already there" in done.stdout
        assert "0 new, 1 already there" in run_cli(*call).stdout
        (made,) = read_rows(rows)
        assert (made.method, made.count) == ("smith", 7)
        shown = run_cli("tables", "-t", "1", "--results", str(rows), "--format", "csv")
        assert "table1,without training,smith,D1,value" in shown.stdout

    def test_optima_travel_in_a_file(self, tmp_path):
        file, rows = tmp_path / "optima.npz", tmp_path / "rows.jsonl"
        written = run_cli("bench", "-d", "D1", "--count", "6", "--write-optima", str(file))
        assert written.returncode == 0, written.stderr
        call = ["bench", "-d", "D1", "-m", "mst", "--count", "6", "-O", str(rows), "-q"]
        assert run_cli(*call, "--optima", str(file)).returncode == 0
        assert read_rows(rows)[0].gap_mean > 0

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["bench"], "give --dataset and --method"),
            (["bench", "-d", "D1", "-m", "mst", "-O", "x.csv"], "must be a .jsonl file"),
            (["bench", "-d", "D1", "-m", "mst", "--optima", "no.npz"], "no.npz does not exist"),
            (["bench", "-d", "D1", "-m", "mst", "--device", "tpu"], "device must be"),
            (["bench", "--plan", "paper", "--only", "zzz"], "no row of the plan matches"),
            (["tables", "-t", "12"], "unknown table '12'"),
            (["tables", "--format", "pdf"], "--format must be one of"),
            (["tables", "-O", "x.doc"], "expected a suffix among"),
            (["tables", "--results", "no.jsonl"], "no.jsonl cannot be read"),
            (["tables", "--count", "0"], "--count must be at least 1"),
        ],
    )
    def test_bad_input_is_one_sentence_and_exit_code_2(self, arguments, message):
        from deepsteiner.cli import run

        error = io.StringIO()
        from contextlib import redirect_stderr

        with redirect_stderr(error):
            code = run(arguments)
        assert code == 2
        assert message in error.getvalue()
        assert error.getvalue().count("\n") == 1


def test_the_plan_covers_every_cell_without_training():
    """Every classical cell of the tables has a task that fills it."""
    tasks = [t for t in paper_plan(files={"DEG": "x", "D1": "y"}) if t.method.name != "policy"]
    rows = [
        row(
            dataset=t.dataset.label,
            method=t.method.name,
            options=dict(t.method.options),
            count=t.count or 1000,
        )
        for t in tasks
    ]
    for table in make_tables(Results(rows)):
        for section, line, column, found in table.cells():
            learned = (
                "distilled" in section.heading + line.label + column or "trained" in line.label
            )
            learned |= "+" in line.label and "Rand" not in line.label
            learned |= "recipe" in line.label or column.startswith("GPU")
            learned |= table.key == "table9"
            learned |= ", " in line.label and line.label.split(",")[0] in ("MST", "KNN", "Grid")
            if found.state == "missing":
                assert learned, (table.key, line.label, column)
