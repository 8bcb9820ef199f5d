"""Records: which runs are kept, the page they make, and the trees beside it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.cli import run
from deepsteiner.io.terminal_hash import places_of

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from records import __main__ as records  # noqa: E402
from records.instances import Instance, chosen, family  # noqa: E402
from records.page import news_of, page  # noqa: E402
from records.rows import (  # noqa: E402
    LARGEST_TREE,
    STORED,
    Record,
    RecordsError,
    Standing,
    Store,
    improves,
    in_folder,
)


def record(**changes) -> Record:
    base = Record(
        name="p654",
        n=654,
        sha256="a" * 64,
        published=[90.0, 100.0],
        length=101.0,
        bound=95.0,
        status="time_limit",
        seconds=10.0,
        limit=10.0,
        threads=1,
        method="exact",
        options={},
        peak_gib=0.5,
        calibration=0.6,
        commit="abc1234",
        machine="2 cores",
        versions={"python": "3.11"},
        date="2026-01-01",
    )
    return replace(base, **changes)


def proof(length: float = 99.0, **changes) -> Record:
    return record(status="optimal", length=length, bound=length, **changes)


class TestKept:
    @pytest.mark.parametrize(
        ("new", "old"),
        [
            (proof(101.0), record(bound=100.9)),
            (record(length=100.0, bound=None), record()),
            (record(bound=96.0), record()),
            (record(), record(bound=None)),
            (proof(seconds=3.0), proof(seconds=4.0)),
            (proof(99.0 * (1 + 1e-12), seconds=3.0), proof(99.0, seconds=4.0)),
        ],
    )
    def test_what_is_better(self, new, old):
        assert improves(new, old)
        assert not improves(old, new)

    def test_what_is_not(self):
        assert not improves(record(seconds=1.0), record())  # a limit reached sooner is no merit
        assert not improves(record(), record())
        assert not improves(proof(), proof())

    def test_the_best_bound_outlives_a_shorter_tree(self):
        both = Standing.of([record(bound=98.0), record(length=99.5, bound=None, method="local")])
        assert (both.tree.length, both.bound) == (99.5, 98.0)
        assert len(both.runs) == 2
        assert both.gap == pytest.approx(1.5 / 98.0)
        assert not both.proven
        # A third run proves what the second found: one run is all that is left.
        assert Standing.of([*both.runs, proof(99.5)]).runs == (proof(99.5),)
        # A bound that meets the tree of another run is a proof too.
        assert Standing.of([*both.runs, record(bound=99.5 * (1 - 1e-10))]).proven

    def test_contradictions_are_refused(self, tmp_path):
        store = in_folder(tmp_path)
        store.put(proof(99.0), lambda path: path.write_text("first"))
        for wrong in (record(length=98.0, bound=None), record(length=102.0, bound=99.5)):
            with pytest.raises(RecordsError, match="one of them is wrong"):
                store.put(wrong, lambda path: path.write_text("second"))
        with pytest.raises(RecordsError, match="about different points"):
            store.put(proof(98.0, sha256="b" * 64), lambda path: path.write_text("third"))
        assert store.tree("p654").read_text() == "first"
        assert store.standings()["p654"].tree == proof(99.0)


class TestStore:
    def test_rows_and_trees_are_replaced_together(self, tmp_path):
        store = Store(tmp_path / "deep" / "rows.jsonl", tmp_path / "trees")

        def put(one: Record, text: str) -> str:
            return store.put(one, lambda path: path.write_text(text))

        assert put(record(), "first") == "first"
        assert put(record(length=102.0), "longer") == ""
        assert store.tree("p654").read_text() == "first"
        assert put(record(length=103.0, bound=96.0), "longer, a better bound") == "bound"
        assert store.tree("p654").read_text() == "first"
        assert put(record(length=100.5), "shorter") == "shorter"
        assert store.tree("p654").read_text() == "shorter"
        rows = [json.loads(line) for line in store.rows.read_text().splitlines()]
        assert rows == [asdict(record(length=100.5)), asdict(record(length=103.0, bound=96.0))]
        assert put(proof(100.0), "proven") == "proof"
        assert put(proof(100.0, seconds=1.0), "faster") == "faster"
        assert store.tree("p654").read_text() == "faster"
        assert len(store.rows.read_text().splitlines()) == 1

    def test_trees_of_known_optima_and_huge_sets_are_not_kept(self, tmp_path):
        store = in_folder(tmp_path)
        for one in (
            proof(name="known", published=[99.0, 99.0]),
            record(name="huge", n=LARGEST_TREE + 1, published=None),
        ):
            assert store.put(one, lambda path: path.write_text("tree")) == "first"
        assert [path.name for path in tmp_path.iterdir()] == ["records.jsonl"]

    def test_another_store_is_taken_over(self, tmp_path):
        ours, theirs = in_folder(tmp_path / "ours"), in_folder(tmp_path / "theirs")
        ours.put(record(), lambda path: path.write_text("ours"))
        ours.put(record(name="same"), lambda path: path.write_text("ours"))
        theirs.put(proof(), lambda path: path.write_text("theirs"))
        theirs.put(record(name="same", length=102.0), lambda path: path.write_text("theirs"))
        theirs.put(record(name="new"), lambda path: path.write_text("theirs"))
        assert ours.add(theirs) == {"p654": "proof", "new": "first"}
        assert ours.tree("p654").read_text() == "theirs"
        assert ours.tree("same").read_text() == "ours"
        theirs.put(proof(name="same"), lambda path: path.write_text("theirs"))
        theirs.tree("same").unlink()
        with pytest.raises(RecordsError, match="is missing"):
            ours.add(theirs)


class TestRun:
    @pytest.fixture(autouse=True)
    def _calibrated(self, monkeypatch):
        monkeypatch.setattr("common.calibration", lambda: 0.5)  # which takes seconds

    def test_instances_are_run_kept_and_verified(self, tmp_path, capsys, monkeypatch):
        """The whole way: run, a tree on the disk, and the command that checks it."""
        points = np.random.default_rng(7).random((30, 2))
        monkeypatch.setattr(records, "chosen", lambda names: [Instance(*names, points)])
        arguments = ["run", "mine", "--limit", "20", "--out", str(tmp_path)]
        assert records.main(arguments) == 0
        found = in_folder(tmp_path).standings()["mine"].tree
        assert found.proven
        assert found.length == pytest.approx(ds.solve(points, "exact").length, rel=1e-12)
        assert (found.n, found.threads, found.published) == (30, 1, None)
        assert found.commit
        ds.save_points(points[::-1], tmp_path / "points.csv")
        tree = str(tmp_path / "mine.json")
        assert run(["verify", tree, "--points", str(tmp_path / "points.csv"), "--strict"]) == 0
        capsys.readouterr()
        # Proven, so there is nothing left to do for --open.
        assert records.main([*arguments, "--open"]) == 0
        assert "mine" not in capsys.readouterr().out

    def test_a_contradiction_does_not_stop_the_others(self, tmp_path, capsys):
        wrong = record(name="uniform9-1", length=99.0, bound=98.0, published=None)
        points = np.random.default_rng(1).random((9, 2))
        same = replace(wrong, sha256=places_of(points).stamp["sha256"])
        in_folder(tmp_path).put(same, lambda path: None)
        names = ["uniform9-1", "uniform10-1"]
        assert records.main(["run", *names, "--out", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert "error: uniform9-1: the bound 98.0" in error
        assert "error: 1 of 2 runs were not kept; see above" in error
        standings = in_folder(tmp_path).standings()
        assert standings["uniform9-1"].tree == same
        assert standings["uniform10-1"].proven

    def test_other_methods_and_bad_names(self, tmp_path, capsys):
        out = ["--out", str(tmp_path)]
        arguments = ["run", "uniform40-1", "--method", "local", "--option", "effort=fast", *out]
        assert records.main(arguments) == 0
        found = in_folder(tmp_path).standings()["uniform40-1"]
        assert (found.tree.method, found.tree.options) == ("local", {"effort": "fast"})
        assert not list(tmp_path.glob("uniform*"))  # anyone can draw these points again
        assert records.main(["run", "uniform40-1", "--method", "magic", *out]) == 2
        assert "unknown method 'magic'" in capsys.readouterr().err
        assert records.main(["add", str(tmp_path / "nowhere")]) == 2
        with pytest.raises(SystemExit, match="no instance is called 'nonsense'"):
            chosen(["nonsense"])

    def test_public_instances(self, shared_data):
        names = {one.name: one for one in chosen(["*"])}
        assert len(names) == 62 + 17 + 13 * 15 + 1
        assert len(names["estein10000-1"].points) == 10_000
        assert names["estein10000-1"].published is None
        low, high = names["rl11849"].published
        assert low < high
        assert [one.name for one in chosen(["estein250-1*"])] == [
            f"estein250-{k}" for k in (1, 10, 11, 12, 13, 14, 15)
        ]
        assert {family(name) for name in names} == {"tsplib", "estein"}
        assert family("uniform100000-3") == "uniform"


class TestPage:
    @pytest.mark.parametrize(
        ("runs", "words"),
        [
            ([proof()], "proven"),
            ([proof(published=None)], "proven, none published"),
            ([record(published=None)], "none published"),
            ([record(bound=80.0)], ""),
            ([record()], "higher bound, bracket narrowed"),
            ([record(length=98.0, bound=80.0)], "shorter tree, bracket narrowed"),
            ([record(length=98.0)], "shorter tree, higher bound, bracket narrowed"),
            ([proof(100.0, published=[100.0, 100.0])], ""),
            ([proof(89.0)], "**contradicts what is published**"),
            ([record(length=102.0, bound=101.0)], "**contradicts what is published**"),
        ],
    )
    def test_what_is_new_is_said(self, runs, words):
        assert news_of(Standing.of(runs)) == words

    def test_lines(self):
        two = [record(length=99.5, bound=None, method="local", seconds=3.0), record(bound=98.0)]
        text = page(
            [
                Standing.of(two),
                Standing.of([proof(100.0, name="pr76", published=[100.0, 100.0])]),
                Standing.of([proof(2.0, name="estein10-1", n=10, published=[2.0, 2.0])]),
                Standing.of([record(name="estein10-2", n=10, published=[100.0, 100.0])]),
                Standing.of([proof(name="uniform654-1", published=None, threads=2)]),
            ],
            {"p654"},
        )
        assert (
            "| p654 | 654 | 90 to 100 | 99.5 | 98 | 1.5 % | shorter tree, higher bound, bracket "
            "narrowed | `local` / `exact` | 3 / 10 | 1 | abc1234 | [p654](best-known/p654.json) |"
        ) in text
        assert "| pr76 | 654 | 100 | 100 | 0 | proven | `exact` | 10 | 1 | abc1234 |" in text
        assert "| 10 | 2 | 1 | 1 % | 10 | 10 | 1 | abc1234 |" in text
        assert "| uniform654-1 | 654 | none | 99 | 99 | 0 | proven, none published |" in text
        assert "1 of 1 are proven; their lengths agree with the published optima to 0e+00." in text
        assert "2 cores; python 3.11; commit abc1234; 2026-01-01" in text

    def test_the_page_is_what_the_rows_make(self):
        assert records.PAGE.read_text(encoding="utf-8") == records.made()


class TestStored:
    def test_rows_are_sound(self):
        standings = STORED.standings()
        assert len(standings) > 100
        for name, one in standings.items():
            assert one.tree.commit, name
            assert 0 < one.tree.length < np.inf, name
            assert "contradicts" not in news_of(one), name
            if one.proven and one.tree.settled:
                assert one.tree.length == pytest.approx(one.tree.published[0], rel=1e-9), name

    def test_trees_belong_to_their_rows(self):
        standings = STORED.standings()
        wanted = {name for name, one in standings.items() if one.tree.wants_tree}
        files = list(STORED.trees.iterdir())
        assert {path.name for path in files} == {f"{name}.json" for name in wanted}
        assert sum(path.stat().st_size for path in files) < 2_000_000
        for name in wanted:
            tree, row = json.loads(STORED.tree(name).read_text()), standings[name].tree
            assert tree["terminals"] == {"count": row.n, "sha256": row.sha256}
            assert (tree["length"], tree["lower_bound"]) == (row.length, row.bound)
            assert tree["status"] == row.status

    def test_trees_are_trees_of_the_points(self, shared_data):
        names = [name for name, one in STORED.standings().items() if one.tree.wants_tree]
        for one in chosen(names):
            tree = ds.Solution.load(STORED.tree(one.name), points=one.points)
            assert len(tree.terminals) == len(one.points)
