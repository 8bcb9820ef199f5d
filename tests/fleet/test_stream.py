"""`solve_stream`: order, bounded memory, files in and out, failures in their place."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from concurrent.futures import BrokenExecutor, Executor, Future
from itertools import islice

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import FormatError, OptionError, PointsError, WorkerError
from deepsteiner.fleet import estimates as estimates_module
from deepsteiner.fleet import stream as stream_module
from deepsteiner.io.streaming import open_writer, stream_instances
from deepsteiner.run.executor import ProcessExecutor
from worker_items import is_alive, wait_for

RNG = np.random.default_rng(23)


def take_all(stream, kept):
    """Append what a stream gives to a list, which has it also if the stream then fails."""
    for one in stream:
        kept.append(one)


def ragged(count, largest=30):
    return [RNG.random((int(n), 2)) for n in RNG.integers(1, largest, count)]


class Backwards(Executor):
    """Keeps calls until there are three, then answers the youngest first; may fail."""

    width = 3

    def __init__(self, fails=lambda chunk: None):
        self.kept, self.fails = [], fails

    def submit(self, function, chunk, call):
        future = Future()
        self.kept.append((future, function, chunk, call))
        if len(self.kept) == 3 or chunk.rows[-1] >= 59:
            while self.kept:
                future_, function, chunk, call = self.kept.pop()
                try:
                    self.fails(chunk)
                    future_.set_result(function(chunk, call))
                except Exception as error:
                    future_.set_exception(error)
        return future


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(estimates_module, "MOST_INSTANCES", 6)


@pytest.mark.parametrize("given", [{}, {"workers": 2}, {"executor": Backwards()}])
def test_trees_come_in_order(given):
    batch = ragged(60)
    expected = ds.solve_many(batch, "greedy")
    solved = list(ds.solve_stream(iter(batch), "greedy", **given))
    assert [one.length for one in solved] == expected.lengths.tolist()
    for one, points in zip(solved, batch, strict=True):
        assert (one.terminals == points).all()
        one.validate()


def test_a_dataset_and_nothing_at_all():
    data = ds.datasets.generate("uniform", 8, count=25)
    solved = list(ds.solve_stream(data, "mst"))
    assert [one.length for one in solved] == ds.solve_many(data, "mst").lengths.tolist()
    assert list(ds.solve_stream([])) == []


def test_only_a_window_is_read_ahead():
    read = []

    def endless():
        while True:
            read.append(1)
            yield RNG.random((5, 2))

    solved = list(islice(ds.solve_stream(endless(), "mst"), 20))
    assert len(solved) == 20
    assert len(read) <= 20 + 6 * 6


def test_memory_does_not_grow_with_the_stream(monkeypatch):
    monkeypatch.setattr(estimates_module, "MOST_INSTANCES", 50)
    peaks = []
    for count in (300, 3000):
        stream = (np.random.default_rng(i).random((6, 2)) for i in range(count))
        tracemalloc.start()
        assert sum(1 for _ in ds.solve_stream(stream, "mst")) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 3 * peaks[0]


def test_a_stop_ends_the_stream_without_a_gap():
    batch = ragged(200)
    stream = ds.solve_stream(iter(batch), "greedy", on_progress=lambda one: one.done < 20)
    solved = list(stream)
    assert 20 <= len(solved) < 200
    expected = ds.solve_many(batch[: len(solved)], "greedy").lengths
    assert [one.length for one in solved] == expected.tolist()


def test_a_stream_that_is_left_ends_its_processes(monkeypatch):
    made = []

    class Seen(ProcessExecutor):
        def __init__(self, processes):
            super().__init__(processes)
            made.append(self)

    monkeypatch.setattr(stream_module, "ProcessExecutor", Seen)
    stream = ds.solve_stream((RNG.random((9, 2)) for _ in range(10**6)), "mst", workers=2)
    next(stream)
    pids = made[0].pids
    assert all(map(is_alive, pids))
    del stream
    wait_for(lambda: not any(map(is_alive, pids)))


# --- what goes wrong ----------------------------------------------------------------------------


def test_instances_that_fail_keep_their_place():
    victims = {0, 17, 59}

    def fails(chunk):
        if victims & set(chunk.rows.tolist()):
            raise OSError("the worker died")

    batch = ragged(60)
    solved = []
    stream = ds.solve_stream(iter(batch), "greedy", executor=Direct(fails))
    with pytest.raises(WorkerError, match="instances 0, 17, 59 failed on every try") as caught:
        take_all(stream, solved)
    assert set(caught.value.failed) == victims
    assert len(solved) == 60
    for row, one in enumerate(solved):
        assert (one.status == "interrupted") == (row in victims)
        assert ("failed" in one.info) == (row in victims)
        assert (one.terminals == batch[row]).all()


class Direct(Executor):
    width = 1

    def __init__(self, fails):
        self.fails = fails

    def submit(self, function, chunk, call):
        future = Future()
        try:
            self.fails(chunk)
            future.set_result(function(chunk, call))
        except Exception as error:
            future.set_exception(error)
        return future


def test_a_broken_executor_ends_the_stream_after_what_is_solved():
    calls = []

    def breaks(chunk):
        calls.append(chunk)
        if len(calls) > 3:
            raise BrokenExecutor("gone")

    solved = []
    with pytest.raises(WorkerError, match="the executor broke") as caught:
        take_all(ds.solve_stream(ragged(60), "greedy", executor=Direct(breaks)), solved)
    assert len(solved) == sum(len(chunk.rows) for chunk in calls[:3])
    assert min(caught.value.failed) == len(solved)


@pytest.mark.parametrize("place", [0, 13, 39])
def test_a_bad_instance_is_named_when_its_turn_has_come(place):
    batch = ragged(40)
    batch[place] = np.array([[0.0, np.nan]])
    solved = []
    with pytest.raises(PointsError, match=f"instance {place}: point 0 is"):
        take_all(ds.solve_stream(iter(batch), "mst"), solved)
    assert len(solved) == place


def test_a_bad_instance_of_a_worker_is_named():
    batch = ragged(40)
    batch[13] = np.zeros((3, 2))
    with pytest.raises(PointsError, match="instance 13: points: rows 0 and 1 are equal"):
        list(ds.solve_stream(iter(batch), "greedy", duplicates="raise"))


@pytest.mark.parametrize(
    ("arguments", "given", "kind", "words"),
    [
        ((3,), {}, PointsError, "instances must be an iterable"),
        (([], "nonsense"), {}, ds.errors.UnknownMethodError, "nonsense"),
        (([], "mst"), {"workers": 0}, OptionError, "workers must be"),
        (([], "mst"), {"workers": 2, "executor": Direct(print)}, OptionError, "either workers"),
        (([], "mst"), {"time_limit": -1}, OptionError, "time_limit must be"),
        (([], "mst"), {"executor": 5}, OptionError, "executor must be"),
    ],
)
def test_bad_arguments(arguments, given, kind, words):
    with pytest.raises(kind, match=words):
        list(ds.solve_stream(*arguments, **given))


# --- files --------------------------------------------------------------------------------------


def write_lines(path, batch):
    text = "".join(json.dumps({"points": one.tolist()}) + "\n" for one in batch)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)


@pytest.mark.parametrize("name", ["in.jsonl", "in.ndjson", "in.jsonl.gz"])
def test_lines_in(tmp_path, name):
    batch = ragged(20)
    write_lines(tmp_path / name, batch)
    solved = list(ds.solve_stream(tmp_path / name, "mst"))
    assert [one.length for one in solved] == ds.solve_many(batch, "mst").lengths.tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("[[0,0],[1,1]]\n[[0,0],[1\n", "line 2: not valid JSON"),
        ('{"a": 1}\n', "line 1: expected"),
        ("[[0,0]]\n\n[[0,0],[1,null]]\n", "line 3"),
    ],
)
def test_bad_lines_are_named(tmp_path, text, words):
    (tmp_path / "in.jsonl").write_text(text)
    with pytest.raises((FormatError, PointsError), match=words):
        list(ds.solve_stream(tmp_path / "in.jsonl", "mst"))


def test_missing_files(tmp_path):
    for name in ("none.jsonl", "none.parquet"):
        with pytest.raises(FormatError, match="does not exist"):
            list(ds.solve_stream(tmp_path / name, "mst"))


def test_parquet_in_row_groups(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="the [parquet] extra")
    import pyarrow.parquet as parquet

    batch = ragged(50)
    kinds = [
        arrow.list_(arrow.list_(arrow.float64())),
        arrow.list_(arrow.list_(arrow.float64(), 2)),
        arrow.large_list(arrow.list_(arrow.float64())),
    ]
    for kind in kinds:
        column = arrow.array([one.tolist() for one in batch], kind)
        table = arrow.table({"name": list(range(50)), "points": column})
        parquet.write_table(table, tmp_path / "in.parquet", row_group_size=7)
        found = list(stream_instances(tmp_path / "in.parquet"))
        assert all((one == two).all() for one, two in zip(found, batch, strict=True))


def test_bad_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="the [parquet] extra")
    import pyarrow.parquet as parquet

    path = tmp_path / "in.parquet"
    path.write_text("no parquet")
    with pytest.raises(FormatError, match="is not a Parquet file"):
        list(stream_instances(path))
    tables = {
        "expected a column 'points'": {"x": [1.0], "y": [2.0]},
        "expected a list of": {"points": [1.0]},
        "a row has no points": {"points": [[[0.0, 1.0]], None]},
        "expected .x, y. pairs": {"points": [[[0.0, 1.0, 2.0]]]},
    }
    for words, table in tables.items():
        parquet.write_table(arrow.table(table), path)
        with pytest.raises((FormatError, PointsError), match=words):
            list(stream_instances(path))


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_writers_go_on_after_what_is_there(tmp_path, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="the [parquet] extra")
    path = str(tmp_path / name)
    solved = list(ds.solve_many(ragged(10), "greedy"))
    for first, last in ((0, 4), (4, 4), (4, 10)):
        writer = open_writer(path, resume=first > 0)
        assert writer.count == first
        writer.write(solved[first:last])
        writer.close()
    if name.endswith("jsonl"):
        with open(path, "a") as stream:
            stream.write('{"format": "deep')  # an interrupted line
    writer = open_writer(path, resume=True)
    assert writer.count == 10
    assert writer.last == solved[-1].terminals.tolist()
    writer.close()
    found = list(stream_instances(path))  # solutions are instances, too
    assert all((one == two.terminals).all() for one, two in zip(found, solved, strict=True))
    fresh = open_writer(path)
    assert fresh.count == 0
    fresh.close()
