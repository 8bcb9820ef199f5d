"""The README's tables are what the stored rows say, and rows of time are read as written."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from deepsteiner.benchmark import readme, timings
from deepsteiner.benchmark.rows import read_records
from deepsteiner.benchmark.tables.paper import TABLE1
from deepsteiner.core.errors import FormatError

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


def timing(**changes) -> timings.Timing:
    base = timings.make_timing(
        dataset="uniform",
        n=10,
        count=100,
        method="exact",
        options={},
        call="solve",
        threads=1,
        seconds=0.001,
        calibration=1.06,
        seed=0,
    )
    return replace(base, **changes)


def large(method: str, **changes) -> timings.Timing:
    values = {"n": 1000, "method": method, "threads": 2, "saving": 3.3, "peak_gib": 1.0}
    return timing(**{"options": {"effort": "fast"}, **values, **changes})


class TestReadme:
    def test_the_readme_is_what_the_command_makes(self):
        text = README.read_text(encoding="utf-8")
        assert readme.rewritten(text, readme.blocks()) == text
        assert readme.main(["--check", str(README)]) == 0

    def test_every_table_of_results_is_made(self):
        """No table with figures stands outside the blocks."""
        results = README.read_text(encoding="utf-8").partition("## Results")[2]
        results = results.partition("\n## ")[0]
        assert "|" not in readme.BLOCK.sub("", results)

    def test_a_changed_number_is_noticed_and_mended(self, tmp_path):
        path = tmp_path / "README.md"
        text = README.read_text(encoding="utf-8")
        path.write_text(text.replace("| `mst` | 3.20", "| `mst` | 3.10"), encoding="utf-8")
        assert readme.main(["--check", str(path)]) == 1
        assert readme.main([str(path)]) == 0
        assert path.read_text(encoding="utf-8") == text

    def test_a_missing_block_is_said(self, tmp_path, capsys):
        path = tmp_path / "README.md"
        path.write_text("<!-- table: other -->\n<!-- end -->\n")
        assert readme.main([str(path)]) == 2
        assert "must have the tables results" in capsys.readouterr().err
        assert readme.main([str(tmp_path / "absent.md")]) == 2

    def test_it_is_short(self):
        assert len(README.read_text(encoding="utf-8").split()) <= 700

    def test_the_tables_of_the_site_are_made(self):
        made = readme.site_blocks()
        assert set(made) == {"exact", "gaps", "kinds", "scale"}
        assert all(text.startswith("| ") for text in made.values())

    def test_every_command_it_names_is_there(self):
        text = README.read_text(encoding="utf-8")
        for script in re.findall(r"python (benchmarks/\w+\.py)", text):
            assert (ROOT / script).is_file(), script
        for module in re.findall(r"python -m (benchmarks[.\w]+)", text):
            assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), module
        for page in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (ROOT / page).exists(), page


class TestBlocks:
    def test_times_alone_and_in_a_batch_stand_apart(self):
        rows = [timing(), timing(call="solve_many", seconds=0.0006)]
        text = readme.exact_block(rows)
        assert "| `exact`, one call each | 0.5 |" in text
        assert "| `exact`, in a batch | 0.3 |" in text
        assert "OR-Library" not in text

    def test_the_largest_instance_is_said_where_it_was_solved(self):
        row = timing(
            dataset="OR-Library", n=10_000, count=1, seconds=13.2, length=62.9, peak_gib=0.5
        )
        said = readme.exact_block([row])
        assert "solved to proof: 62.900000, on one core in 13 seconds and 0.5 GiB" in said
        said = readme.exact_block([replace(row, threads=4)])
        assert "solved to proof: 62.900000, on 4 cores in 13 seconds and 0.5 GiB" in said

    def test_the_papers_best_is_the_lowest_printed(self):
        printed = [cells[1] for name, cells in TABLE1.items() if "-first" in name]
        assert float(readme._papers_best()[1]) == min(v for v in printed if v)

    def test_other_draws_are_said(self):
        same = readme.scale_block([large("local"), large("neural")])
        assert "different draws" not in same
        assert "different draws" in readme.scale_block([large("local", seed=5), large("neural")])

    def test_rates_are_said(self):
        row = timing(n=20, method="neural", call="solve_many", threads=16, seconds=3.14e-5)
        text = readme.scale_block([replace(row, options={"effort": "fast"}), large("local")])
        assert "on 16 cores `neural`, fast, solves 31,847 instances of 20 points a second." in text


class TestTimings:
    def test_stored_rows_have_their_provenance(self):
        rows = timings.stored_timings()
        assert len(rows) > 10
        for row in rows:
            assert row.commit
            assert row.machine.endswith("cores")
            assert {"python", "numpy", "numba"} <= set(row.versions)
            assert 0.2 < row.calibration < 5.0
        assert len({row.key for row in rows}) == len(rows)

    def test_a_later_row_replaces_the_earlier(self, tmp_path):
        path = tmp_path / "deep" / "rows.jsonl"
        for row in (timing(), timing(n=20), timing(seconds=0.002)):
            timings.write_timing(path, row)
        found = read_records(timings.Timing, path)
        assert [(row.n, row.seconds) for row in found] == [(10, 0.002), (20, 0.001)]

    def test_times_are_scaled_to_the_reference(self):
        assert timing().scaled_ms == pytest.approx(0.5)

    @pytest.mark.parametrize(
        ("text", "message"),
        [("nonsense", "one JSON object"), ("[1]", "one JSON object"), ("{}", "has no")],
    )
    def test_bad_rows_are_named(self, tmp_path, text, message):
        path = tmp_path / "rows.jsonl"
        path.write_text(text + "\n")
        with pytest.raises(FormatError, match=f"line 1.*{message}"):
            read_records(timings.Timing, path)

    def test_a_later_version_may_have_written_more(self, tmp_path):
        path = tmp_path / "rows.jsonl"
        timings.write_timing(path, timing())
        record = json.loads(path.read_text()) | {"colour": "red"}
        path.write_text(json.dumps(record) + "\n")
        assert read_records(timings.Timing, path) == [timing()]
