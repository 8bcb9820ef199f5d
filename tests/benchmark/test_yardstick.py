"""The yardstick: its instances, its stored rows, what it calls worse, and a run of it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from yardstick import rows  # noqa: E402
from yardstick.cases import Case, cases, chosen, instances  # noqa: E402
from yardstick.lengths import lattice_length  # noqa: E402
from yardstick.run import Clock, Sample  # noqa: E402


def row(**changes) -> rows.Row:
    base = rows.Row(
        case="exact single uniform 10",
        count=2,
        wall=Clock(0.5, 0.02),
        cpu=Clock(0.5, 0.01),
        wall_calibration=Clock(1.0, 0.0),
        cpu_calibration=Clock(1.0, 0.0),
        gap_mean=0.0,
        gap_worst=0.0,
        lengths=[1.0, 2.0],
        proven=2,
        points="abc",
        rounds=5,
        seed=1,
        commit="abc1234",
        machine="2 cores",
        versions={},
        date="2026-01-01",
    )
    return replace(base, **changes)


def faults(now: rows.Row, then: rows.Row, *, same_run: bool = True) -> str:
    return "; ".join(rows.compare(now, then, same_run=same_run, tolerance=0.1).faults)


class TestInstances:
    def test_every_method_way_and_kind_is_there(self):
        names = " ".join(case.name for case in cases()).split()
        for word in ("exact", "local", "neural", "policy", "single", "batch", "first"):
            assert word in names
        for word in ("uniform", "clustered", "board", "lattice", "jittered"):
            assert word in names
        assert len({case.name for case in cases()}) == len(cases())

    def test_the_stored_lengths_are_of_the_points_that_are_made_now(self):
        best = rows.read_best()
        for case in cases():
            assert len(rows.lengths_of(best, case)) == case.count

    def test_more_instances_begin_as_fewer_do(self):
        np.testing.assert_array_equal(instances("board", 30, 3)[:2], instances("board", 30, 2))

    def test_no_hole_of_a_board_is_drilled_twice(self):
        for points in instances("board", 150, 2):
            assert len(np.unique(points, axis=0)) == 150
            assert np.array_equal(points, points.round())

    @pytest.mark.parametrize("n", [4, 16])
    def test_lattices_have_the_length_of_the_formula(self, n):
        from deepsteiner import solve

        solved = solve(instances("lattice", n, 1)[0], "exact")
        assert solved.length == pytest.approx(lattice_length(n), rel=1e-12)
        assert lattice_length(9) is None

    def test_words_choose_cases(self):
        assert [case.name for case in chosen(["batch exact 10"])] == ["exact batch uniform 10"]
        assert chosen(["nothing"]) == []


class TestTimes:
    def test_the_shortest_time_of_every_call_counts(self):
        sample = Sample(
            [[[1.0, 0.9], [5.0, 2.0]], [[3.0, 1.0], [2.0, 2.0]], [[2.0, 1.0], [4.0, 9.0]]]
        )
        assert sample.wall == Clock(3.0, pytest.approx((2.0 + 4.0) / 3.0 - 1.0))
        assert sample.cpu == Clock(2.9, pytest.approx(3.0 / 2.9 - 1.0))

    def test_trees_that_change_from_round_to_round_are_a_fault(self):
        sample = Sample()
        for length in (1.0, 1.5):
            sample.add({"times": [[1.0, 1.0]], "lengths": [length], "statuses": ["feasible"]})
        assert "other lengths" in sample.error


class TestComparison:
    def test_within_tolerance_and_noise_nothing_is_worse(self):
        assert faults(row(wall=Clock(0.56, 0.02)), row()) == ""
        assert faults(row(wall=Clock(0.70, 0.30)), row()) == ""

    def test_beyond_them_it_is(self):
        assert "1.20 times as long by the clock" in faults(row(wall=Clock(0.6, 0.02)), row())
        assert "1.20 times as long of the processor" in faults(row(cpu=Clock(0.6, 0.02)), row())

    def test_between_runs_the_calibration_stands_for_the_machine(self):
        slow = {"wall_calibration": Clock(2.0, 0.0), "cpu_calibration": Clock(2.0, 0.0)}
        twice = row(wall=Clock(1.0, 0.02), cpu=Clock(1.0, 0.01), **slow)
        assert faults(twice, row(), same_run=False) == ""
        assert "2.00 times" in faults(twice, row())
        noisy = row(wall=Clock(0.6, 0.02), wall_calibration=Clock(1.0, 0.3))
        assert faults(noisy, row(), same_run=False) == ""

    def test_a_longer_tree_is_always_worse_and_rounding_is_none(self):
        found = faults(row(lengths=[1.0, 2.0001], gap_mean=0.0025), row())
        assert found.startswith("longer trees in 1 of 2, by at most 0.005 %")
        assert faults(row(lengths=[1.0, 2.0 * (1 + 1e-12)]), row()) == ""
        assert faults(row(lengths=[0.9, 2.0]), row()) == ""

    def test_a_lost_proof_is_worse(self):
        assert faults(row(proven=1), row()) == "1 of 2 proven, 2 before"

    def test_other_points_are_not_compared(self):
        found = rows.compare(row(points="x"), row(), same_run=True, tolerance=0.1)
        assert (found.wall, found.faults) == (None, ())

    def test_a_tree_below_a_proven_optimum_is_wrong(self):
        case = Case("exact", "single", "uniform", 10, 2)
        best = {"uniform 10": {"how": "proven by exact", "lengths": [1.0, 2.0]}}
        assert rows.impossible(row(), case, best) is None
        assert "shorter than the proven" in rows.impossible(row(lengths=[0.999, 2.0]), case, best)


class TestStored:
    def test_the_rows_of_the_first_version_are_there_with_their_provenance(self):
        found = rows.stored()
        assert "64cf159" in found
        for name, kept in found.items():
            for one in kept.values():
                assert one.commit, name
                assert one.machine.endswith("cores")
                assert {"python", "numpy", "numba"} <= set(one.versions)
                assert one.wall_calibration.seconds > 0
        assert {case.name for case in cases()} <= set(found["64cf159"])

    def test_rows_come_back_as_they_were_written(self, tmp_path, monkeypatch):
        monkeypatch.setattr(rows, "STORED", tmp_path / "deep")
        path = rows.write_rows("0.2.0", [row()])
        assert rows.read_rows(path) == {row().case: row()}
        assert list(rows.stored()) == ["0.2.0"]

    @pytest.mark.parametrize("name", ["", "../x", "a b", ".hidden"])
    def test_bad_names_are_refused(self, name):
        with pytest.raises(rows.RowsError, match="letters, digits"):
            rows.check_name(name)

    def test_a_file_of_something_else_is_named(self, tmp_path):
        (tmp_path / "x.jsonl").write_text('{"case": 1}\n')
        with pytest.raises(rows.RowsError, match="no rows of the yardstick"):
            rows.read_rows(tmp_path / "x.jsonl")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / "quick.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


class TestRun:
    def test_a_checkout_against_itself_gives_the_same_trees(self):
        done = run("--only", "exact uniform 10 single", "--rounds", "2", "--against", str(ROOT))
        assert done.returncode == 0, done.stderr
        assert "| exact single uniform 10 | 100 " in done.stdout
        assert "longer" not in done.stdout.replace("slower or longer", "")
        assert "geometric mean of 1" in done.stdout

    @pytest.mark.heavy
    def test_strict_fails_on_longer_trees(self, tmp_path):
        """A package whose `solve` returns spanning trees stands in for a bad version."""
        package = tmp_path / "src" / "deepsteiner"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(
            "from types import SimpleNamespace\n"
            "from scipy.sparse.csgraph import minimum_spanning_tree\n"
            "from scipy.spatial import distance_matrix\n"
            "def solve(points, method, **options):\n"
            "    tree = minimum_spanning_tree(distance_matrix(points, points))\n"
            "    return SimpleNamespace(length=tree.sum(), status='feasible')\n"
        )
        call = ("--only", "exact uniform 10 single", "--rounds", "2", "--checkout", str(tmp_path))
        done = run(*call, "--strict")
        assert done.returncode == 1, done.stderr
        assert "exact single uniform 10: longer trees in 100 of 100" in done.stdout
        assert "0 of 100 proven" in done.stdout
        assert run(*call).returncode == 0

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--only", "exact uniform 33"], "no case has the words"),
            (["--against", "/nowhere"], "is no checkout"),
            (["--store", "../x"], "letters, digits"),
            (["--store-against", "x"], "--store-against needs --against"),
            (["--store", "x", "--only", "exact"], "--store goes without --only"),
            (["--rounds", "1"], "at least 2"),
        ],
    )
    def test_bad_input_is_one_sentence_and_exit_code_2(self, arguments, message):
        done = run(*arguments)
        assert done.returncode == 2
        assert message in done.stderr
