"""Worker processes: who works, how they stop, how they die, and what they hand over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

import worker_items
from deepsteiner.run import processes
from deepsteiner.run.processes import LostError, Processes
from worker_items import is_alive, wait_for


def serve(count, function, given, items, go_on=lambda: True):
    """Return what worker processes answered, by item."""
    kept = {}
    with Processes(count, function, given) as workers:
        workers.run(items, kept.__setitem__, go_on)
    return kept


def test_every_item_is_served_once():
    kept = []
    with Processes(2, worker_items.double, None) as workers:
        workers.run(range(500), lambda *pair: kept.append(pair), lambda: True)
    assert sorted(kept) == [(item, 2 * item) for item in range(500)]


def test_all_processes_work(tmp_path):
    kept = serve(3, worker_items.process_id_in_company, (tmp_path, 3), range(30))
    assert len(set(kept.values())) == 3
    assert os.getpid() not in kept.values()


def test_a_stop_reaches_calls_that_run_and_keeps_what_they_give(tmp_path):
    def go_on():
        return len(list(tmp_path.iterdir())) < 2  # until both are at an odd item

    kept = serve(2, worker_items.until_told, tmp_path, range(100), go_on)
    stopped = [item for item, answer in kept.items() if answer == "stopped"]
    assert len(stopped) == 2
    assert all(item % 2 for item in stopped)
    assert kept[0] == "done"
    assert len(kept) < 10


def test_the_last_items_wait_for_whoever_is_free(tmp_path):
    """Nothing is queued behind a long call while another process has nothing to do."""
    kept = {}
    with Processes(2, worker_items.until_told, tmp_path) as workers:
        workers.run([1, 0, 0, 0], kept.__setitem__, lambda: len(kept) < 3)
    assert kept == {0: "stopped", 1: "done", 2: "done", 3: "done"}


def test_processes_that_do_not_listen_are_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "STOP_SECONDS", 0.1)
    began = time.monotonic()
    kept = serve(
        2, worker_items.never_listens, tmp_path, [0, 1], lambda: not any(tmp_path.iterdir())
    )
    assert kept == {}
    assert time.monotonic() - began < worker_items.PATIENCE / 2
    assert not any(is_alive(int(file.name)) for file in tmp_path.iterdir())


def test_a_process_that_dies_names_its_item_and_the_rest_is_kept():
    kept = {}
    with (
        Processes(2, worker_items.dies_at, 40) as workers,
        pytest.raises(LostError, match="was killed by SIGKILL, as happens when memory") as caught,
    ):
        workers.run(range(1000), kept.__setitem__, lambda: True)
    assert caught.value.item == 40
    assert kept == {item: item for item in kept}
    assert set(range(40)) <= set(kept)
    assert 40 not in kept


def test_a_process_that_dies_idle_is_not_missed(tmp_path):
    kept = serve(2, worker_items.dies_afterwards, tmp_path, [0, 1])
    assert set(kept) == {0, 1}


def test_want_of_memory_names_its_item():
    with pytest.raises(LostError, match="ran out of memory") as caught:
        serve(2, worker_items.no_memory_at, 3, range(10))
    assert caught.value.item == 3


def test_a_process_that_cannot_start_is_no_riddle(monkeypatch, capfd):
    monkeypatch.setattr(processes, "COMMAND", ("-c", "raise SystemExit(5)"))
    with pytest.raises(LostError, match="ended with exit code 5") as caught:
        serve(2, worker_items.double, None, range(10))
    assert caught.value.item is None


@pytest.mark.parametrize(
    ("item", "kind", "words"),
    [(0, KeyError, "a plain one"), (1, RuntimeError, "UnsendableError: an odd one")],
)
def test_faults_are_the_callers_with_their_trace(item, kind, words):
    with pytest.raises(kind, match=words) as caught:
        serve(1, worker_items.fails, None, [item])
    assert "in fails" in "".join(caught.value.__notes__)


def test_signals_are_left_to_the_parent():
    assert serve(1, worker_items.is_hit_by_signals, None, [0]) == {0: "unmoved"}


def test_signals_while_a_process_starts_are_left_to_the_parent():
    def go_on():
        for child in workers._children:
            child._process.send_signal(signal.SIGINT)
        return True

    kept = {}
    with Processes(2, worker_items.double, None) as workers:
        workers.run(range(4), kept.__setitem__, go_on)
    assert len(kept) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9")
def test_processes_end_with_a_parent_that_is_killed(tmp_path):
    code = (
        "import pathlib, worker_items\n"
        "from deepsteiner.run.processes import Processes\n"
        f"with Processes(2, worker_items.never_listens, pathlib.Path({str(tmp_path)!r})) as some:\n"
        "    some.run([0, 1], print, lambda: True)\n"
    )
    path = os.pathsep.join(filter(None, sys.path))
    with subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}
    ) as parent:
        wait_for(lambda: len(list(tmp_path.iterdir())) == 2 or parent.poll() is not None)
        children = [int(file.name) for file in tmp_path.iterdir()]
        assert all(map(is_alive, children))
        parent.kill()
    wait_for(lambda: not any(map(is_alive, children)))
