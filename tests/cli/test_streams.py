"""`solve` on streams: JSON lines and Parquet in and out, resumed, on engines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.cli import run
from deepsteiner.fleet import estimates as estimates_module
from deepsteiner.io.streaming import stream_instances
from worker_items import PYTHON, wait_for

RNG = np.random.default_rng(31)
COUNT = 40


@pytest.fixture
def lines(tmp_path):
    """Return a file of instances, which become several chunks."""
    file = tmp_path / "nets.jsonl"
    batch = [RNG.random((int(n), 2)).round(6) for n in RNG.integers(2, 25, COUNT)]
    file.write_text("".join(json.dumps(one.tolist()) + "\n" for one in batch))
    return file


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(estimates_module, "MOST_INSTANCES", 7)


def read(file):
    """Return the trees of a file without their running times."""
    found = [json.loads(line) for line in file.read_text().splitlines()]
    return [{**one, "runtime": None} for one in found]


def test_lines_in_lines_out(lines, tmp_path, capsys):
    out = tmp_path / "trees.jsonl"
    assert run(["solve", str(lines), "-m", "greedy", "--stream", "-O", str(out)]) == 0
    assert f"{out}: 40 instances, mean length" in capsys.readouterr().out
    whole = tmp_path / "whole.jsonl"
    assert run(["solve", str(lines), "-m", "greedy", "-O", str(whole), "-q"]) == 0
    assert read(out) == read(whole)


@pytest.mark.parametrize(
    ("engine", "stream"),
    [
        ("processes:2", []),
        ("processes:2", ["--stream"]),
        # What Dask does by itself is tested in tests/fleet.
        pytest.param("dask:2", [], marks=pytest.mark.heavy),
        pytest.param("dask:2", ["--stream"], marks=pytest.mark.heavy),
    ],
)
def test_engines(lines, tmp_path, capsys, engine, stream):
    if engine.startswith("dask"):
        pytest.importorskip("distributed", reason="the [dask] extra")
    out, plain = tmp_path / "out.jsonl", tmp_path / "plain.jsonl"
    asked = ["solve", str(lines), "-m", "greedy", *stream]
    assert run([*asked, "-O", str(out), "--engine", engine]) == 0
    shown = capsys.readouterr().err
    assert "engine: " + {"p": "2 processes", "d": "dask, 2 workers"}[engine[0]] in shown
    assert run([*asked, "-O", str(plain), "-q"]) == 0
    assert read(out) == read(plain)


def test_standard_streams(lines):
    done = subprocess.run(
        [sys.executable, "-m", "deepsteiner", "solve", "-", "-m", "mst", "--stream", "-O", "-"],
        input=lines.read_text(),
        capture_output=True,
        text=True,
        check=True,
    )
    found = [json.loads(line)["length"] for line in done.stdout.splitlines()]
    assert found == ds.solve_many(ds.load_instances(lines), "mst").lengths.tolist()


def test_parquet_in_and_out(lines, tmp_path, capsys):
    pytest.importorskip("pyarrow", reason="the [parquet] extra")
    out, again = tmp_path / "trees.parquet", tmp_path / "again.parquet"
    assert run(["solve", str(lines), "-m", "mst", "-O", str(out)]) == 0
    assert out.is_dir()
    assert run(["solve", str(out), "-m", "mst", "-O", str(again)]) == 0
    batch = ds.load_instances(lines)
    for folder in (out, again):
        found = list(stream_instances(folder))
        assert all((one == two).all() for one, two in zip(found, batch, strict=True))
    import pyarrow.parquet as parquet

    table = parquet.read_table(again).to_pylist()
    assert [row["length"] for row in table] == ds.solve_many(batch, "mst").lengths.tolist()
    row = {**table[3], "info": json.loads(table[3]["info"])}
    assert ds.Solution.from_dict(row).length == row["length"]


@pytest.mark.parametrize("name", ["trees.jsonl", "trees.parquet"])
def test_resuming_gives_the_whole(lines, tmp_path, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="the [parquet] extra")
    first = tmp_path / "first.jsonl"
    first.write_text("".join(lines.read_text().splitlines(keepends=True)[:17]))
    out, whole = tmp_path / name, tmp_path / "whole.jsonl"
    arguments = ["-m", "greedy", "-q", "--resume"]
    assert run(["solve", str(first), "-O", str(out), *arguments]) == 0
    if name.endswith("jsonl"):
        out.write_text(out.read_text() + '{"format":"deepstei')
    assert run(["solve", str(lines), "-O", str(out), *arguments]) == 0
    assert run(["solve", str(lines), "-O", str(out), *arguments]) == 0  # nothing is left to do
    assert run(["solve", str(lines), "-O", str(whole), *arguments]) == 0
    if name.endswith("jsonl"):
        found, expected = read(out), read(whole)
        for one in found[:17]:
            one["info"]["instance"] = one["info"]["instance"].replace("first", "nets")
        assert found == expected
    else:
        found = [len(one) for one in stream_instances(out)]
        assert found == [len(one) for one in stream_instances(whole)]


MANY = 2000


@pytest.fixture(scope="module")
def in_one_go(tmp_path_factory):
    """Return a file of many instances, and one of their trees."""
    folder = tmp_path_factory.mktemp("resumed")
    lines, whole = folder / "nets.jsonl", folder / "whole.jsonl"
    batch = np.random.default_rng(32).random((MANY, 20, 2)).round(6)
    lines.write_text("".join(json.dumps(one.tolist()) + "\n" for one in batch))
    assert run(["solve", str(lines), "-m", "bereta", "-q", "--resume", "-O", str(whole)]) == 0
    return lines, whole


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_interrupted_and_resumed(in_one_go, tmp_path, end):
    (lines, whole), out = in_one_go, tmp_path / "out.jsonl"
    words = ["solve", str(lines), "-m", "bereta", "-q", "--resume", "-O", str(out)]
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen([*PYTHON, "-m", "deepsteiner", *words], env=environment) as process:
        wait_for(lambda: out.exists() and out.stat().st_size > 0)
        process.send_signal(end)
        code = process.wait(60)
    assert code == (130 if end == signal.SIGINT else -9)
    if end == signal.SIGINT:
        assert out.read_text().endswith("\n")
    there = out.read_text().count("\n")
    assert 0 < there < MANY
    assert run(words) == 0
    assert read(out) == read(whole)
    assert len(read(out)) == MANY


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nets.jsonl", "--resume"], "a stream needs -O FILE.jsonl"),
        (["nets.jsonl", "--resume", "-O", "-"], "--resume needs a file"),
        (["nets.jsonl", "--stream", "-O", "a.json"], "streams are written as .jsonl or .parquet"),
        (["nets.jsonl", "nets.jsonl", "--stream", "-O", "a.jsonl"], "a stream reads one file"),
        (["nets.jsonl", "--stream", "--trace", "-O", "a.jsonl"], "a stream goes without --trace"),
        (
            ["nets.jsonl", "--stream", "--obstacles", "lakes.geojson", "-O", "a.jsonl"],
            "a stream goes without --obstacles",
        ),
        (["nets.jsonl", "--engine", "spark"], "engine must be processes"),
        (["nets.jsonl", "--engine", "ray", "--workers", "2"], "either --workers or --engine"),
        (["other.jsonl", "--resume", "-O", "trees.jsonl"], "does not continue other.jsonl"),
        (["short.jsonl", "--resume", "-O", "trees.jsonl"], "more than short.jsonl"),
        (["nets.jsonl", "--resume", "-O", "short.jsonl"], "not a solution"),
    ],
)
def test_bad_requests(lines, tmp_path, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.jsonl").write_text("[[0,0],[1,1]]\n" * 50)
    (tmp_path / "short.jsonl").write_text("[[0,0],[1,1]]\n")
    assert run(["solve", "nets.jsonl", "-m", "mst", "--stream", "-O", "trees.jsonl", "-q"]) == 0
    assert run(["solve", "-m", "mst", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_dataset_as_a_stream(tmp_path):
    out = tmp_path / "trees.jsonl"
    asked = ["solve", "--dataset", "uniform", "--n", "6", "--count", "30", "-m", "mst", "-q"]
    assert run([*asked, "--stream", "-O", str(out)]) == 0
    assert len(read(out)) == 30
    assert read(out)[3]["info"]["instance"] == "uniform[3]"


def test_bench_labels_and_tables_take_an_engine(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("DEEPSTEINER_CACHE", str(tmp_path / "cache"))
    rows = tmp_path / "rows.jsonl"
    asked = ["bench", "-d", "D1", "-m", "mst", "--count", "20", "-q", "-O", str(rows)]
    assert run([*asked, "--engine", "processes:1"]) == 0
    assert json.loads(rows.read_text())["engine"] == "processes:1"
    labels = tmp_path / "labels.npz"
    asked = ["generate", "uniform", "--n", "8", "--count", "20", "--labels", "-q"]
    assert run([*asked, "-O", str(labels), "--engine", "processes:1"]) == 0
    with np.load(labels) as found:
        assert len(found["sizes"]) == 20
    assert run(["generate", "uniform", "--n", "8", "--engine", "ray"]) == 2
    assert "--engine is for --labels" in capsys.readouterr().err
    assert run(["tables", "--engine", "ray"]) == 2
    assert "--engine is for --quick" in capsys.readouterr().err
