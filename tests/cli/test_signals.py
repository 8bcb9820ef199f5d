"""The real command stopped by signals: what is finished is written, in order, in whole lines."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.cli import run, signals
from deepsteiner.core.solution import Solution
from worker_items import PATIENCE, PYTHON, is_alive, wait_for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
COUNT, LONG = 30, 10


@pytest.fixture(scope="module")
def instances(tmp_path_factory):
    """Return a file of small instances that go one by one, and a long one among them."""
    sizes = [20_000 if row == LONG else 65 for row in range(COUNT)]
    return write_instances(tmp_path_factory.mktemp("signals") / "instances.jsonl", sizes)


def write_instances(file, sizes):
    rng = np.random.default_rng(5)
    lines = [json.dumps(rng.random((size, 2)).round(6).tolist()) for size in sizes]
    file.write_text("\n".join(lines) + "\n")
    return file


class Command:
    """`deepsteiner solve` as a process group of its own, and what it tells on stderr."""

    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen(
            [*PYTHON, "-m", "deepsteiner", "solve", *map(str, arguments), "--verbose"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self.errors = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def wait_for_line(self, pattern):
        """Return what the pattern found in the first line on stderr that it fits."""
        for line in self.process.stderr:
            self.errors += line
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"ended before {pattern!r} was told: {self.errors}")

    def children(self):
        """Return the worker processes."""
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        return [int(word) for word in listed.stdout.split()]

    def end(self):
        """Wait until it has ended and return its exit code and output."""
        out, errors = self.process.communicate(timeout=PATIENCE)
        self.errors += errors
        assert "Traceback" not in self.errors
        return self.process.returncode, out


def rows_of(text):
    """Return which instances the lines solve; each line must be whole, and a valid tree."""
    assert text.endswith("\n")
    rows = []
    for line in text.splitlines():
        data = json.loads(line)
        assert data["status"] != "interrupted"
        Solution.from_dict(data)
        rows.append(int(re.fullmatch(r".*\[(\d+)\]", data["info"]["instance"])[1]))
    assert rows == sorted(set(rows))
    return rows


@pytest.mark.parametrize(
    ("number", "to"),
    [
        pytest.param(signal.SIGINT, "parent", marks=pytest.mark.heavy),
        (signal.SIGINT, "group"),
        (signal.SIGTERM, "parent"),
        pytest.param(signal.SIGTERM, "group", marks=pytest.mark.heavy),
        (signal.SIGHUP, "parent"),
    ],
)
def test_every_finished_instance_is_written(instances, tmp_path, number, to):
    """One worker is at an instance that takes minutes; the other has solved all others."""
    arguments = (instances, "-m", "greedy", "--workers", "2", "-O", "out.jsonl")
    with Command(tmp_path, *arguments) as command:
        command.wait_for_line(f"instances  {COUNT - 1}/{COUNT}")
        children = command.children()
        (os.killpg if to == "group" else os.kill)(command.process.pid, number)
        code, out = command.end()
    assert code == CODES[number]
    assert rows_of((tmp_path / "out.jsonl").read_text()) == [
        row for row in range(COUNT) if row != LONG
    ]
    assert f"{COUNT - 1} of {COUNT} instances finished, written to out.jsonl" in command.errors
    assert ("written to out.jsonl" in out) == (number != signal.SIGHUP)
    assert len(children) == 2
    assert not any(map(is_alive, children))
    assert [file.name for file in tmp_path.iterdir()] == ["out.jsonl"]


def test_a_stop_in_the_middle_keeps_what_was_done_until_then(tmp_path):
    """Here both workers are at instances like all others, as one in a thousand."""
    instances = write_instances(tmp_path / "thousand.jsonl", [65] * 1000)
    options = ("-m", "greedy", "--workers", "2", "-O", "out.jsonl")
    with Command(tmp_path, instances, *options) as command:
        told = int(command.wait_for_line(r"instances  ([1-9]\d*)/")[1])
        command.process.send_signal(signal.SIGTERM)
        code, _ = command.end()
    assert code == 143
    rows = rows_of((tmp_path / "out.jsonl").read_text())
    assert told <= len(rows) < 1000
    assert f"{len(rows)} of 1,000 instances finished" in command.errors


def test_signals_in_a_hurry_lose_nothing(instances, tmp_path):
    """The second one gives up the instance at hand, and the third does not disturb the writing."""
    arguments = (instances, "-m", "greedy", "--workers", "2", "-O", "out.jsonl")
    with Command(tmp_path, *arguments) as command:
        command.wait_for_line(f"instances  {COUNT - 1}/")
        command.process.send_signal(signal.SIGINT)
        command.wait_for_line("stopping")
        command.process.send_signal(signal.SIGINT)
        command.process.send_signal(signal.SIGTERM)
        code, _ = command.end()
    assert code in (130, 143)
    assert len(rows_of((tmp_path / "out.jsonl").read_text())) == COUNT - 1


def test_standard_output_gets_what_is_finished(instances, tmp_path):
    with Command(tmp_path, instances, "-m", "greedy", "--workers", "2", "--json") as command:
        command.wait_for_line(f"instances  {COUNT - 1}/")
        command.process.send_signal(signal.SIGTERM)
        code, out = command.end()
    assert code == 143
    assert len(rows_of(out)) == COUNT - 1


def test_one_worker_writes_what_is_finished(instances, tmp_path):
    with Command(tmp_path, instances, "-m", "greedy", "-O", "out.jsonl") as command:
        command.wait_for_line(f"instances  {LONG}/")  # the long one, which comes in its turn
        command.process.send_signal(signal.SIGTERM)
        assert command.end()[0] == 143
    assert rows_of((tmp_path / "out.jsonl").read_text()) == list(range(LONG))


def test_a_killed_worker_is_one_sentence_and_the_finished_are_written(instances, tmp_path):
    arguments = (instances, "-m", "greedy", "--workers", "2", "-O", "out.jsonl")
    with Command(tmp_path, *arguments) as command:
        command.wait_for_line(f"instances  {COUNT - 1}/")
        # One of them has nothing to do any more, and is not missed; the other is replaced once.
        while command.process.poll() is None:
            for child in command.children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            time.sleep(2.0)
        code, _ = command.end()
    assert code == 70
    last = command.errors.splitlines()[-1]
    assert last.startswith(f"error: a worker process died at instance {LONG}: it was killed by")
    assert last.endswith(f"; {COUNT - 1} of {COUNT} instances are finished")
    assert len(rows_of((tmp_path / "out.jsonl").read_text())) == COUNT - 1


def test_workers_end_with_a_command_that_is_killed(instances, tmp_path):
    with Command(tmp_path, instances, "-m", "greedy", "--workers", "2") as command:
        command.wait_for_line(f"instances  {COUNT - 1}/")
        children = command.children()
        assert len(children) == 2
        command.process.kill()
        command.process.wait()
        wait_for(lambda: not any(map(is_alive, children)))


def test_nothing_is_written_where_nothing_is_finished(instances, tmp_path):
    (tmp_path / "long.jsonl").write_text(
        "\n".join([instances.read_text().splitlines()[LONG]] * 2) + "\n"
    )
    (tmp_path / "out.jsonl").write_text("as it was\n")
    arguments = ("long.jsonl", "-m", "greedy", "--workers", "2", "-O", "out.jsonl")
    with Command(tmp_path, *arguments) as command:
        command.wait_for_line("instances")
        command.process.send_signal(signal.SIGTERM)
        assert command.end()[0] == 143
    assert "nothing is finished, so nothing is written" in command.errors
    assert (tmp_path / "out.jsonl").read_text() == "as it was\n"


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.heavy)]
)
def test_a_single_instance_keeps_its_best_tree(instances, tmp_path, number):
    (tmp_path / "big.json").write_text(instances.read_text().splitlines()[LONG])
    with Command(tmp_path, "big.json", "-m", "greedy", "-O", "tree.json") as command:
        # The first report comes once the kernels are loaded and the search has begun.
        command.wait_for_line("greedy")
        command.process.send_signal(number)
        code, out = command.end()
    assert code == CODES[number]
    assert "status   interrupted" in out
    assert Solution.load(tmp_path / "tree.json").status == "interrupted"


def test_a_terminal_that_closes_loses_nothing(instances, tmp_path):
    """All of it is tried: the progress bar, the message and the report have nowhere to go."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    words = ["solve", str(instances), "-m", "greedy", "--workers", "2", "-O", "out.jsonl"]
    with subprocess.Popen(
        [*PYTHON, "-m", "deepsteiner", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as process:
        os.close(theirs)
        shown = b""
        while f"{COUNT - 1}/{COUNT}".encode() not in shown:
            shown += os.read(ours, 4096)
        os.close(ours)
        assert process.wait(PATIENCE) == 129
    # Those that were shown as finished are there; the long one may have ended in the meantime.
    assert len(rows_of((tmp_path / "out.jsonl").read_text())) >= COUNT - 1


def test_an_ignored_hangup_stays_ignored(tmp_path):
    """`nohup deepsteiner ...` goes on when its terminal closes."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals.as_interrupts():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_every_command_treats_them_as_an_interrupt(tmp_path, monkeypatch, number):
    """Nothing half-written stays behind, whichever command it is."""
    monkeypatch.chdir(tmp_path)

    def be_hit(*_, **__):
        os.kill(os.getpid(), number)
        return np.zeros((1, 3, 2))

    monkeypatch.setattr(ds.datasets, "load", be_hit)
    before = signal.signal(number, signal.SIG_DFL)
    try:
        assert run(["generate", "uniform", "--n", "3", "-O", "points.csv"]) == CODES[number]
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert list(Path().iterdir()) == []
