"""The command line and its files: claims that verify refuses, and streams that are not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepsteiner.cli import run
from deepsteiner.io import save_points

TRIANGLE: dict[str, Any] = {
    "terminals": [[0, 0], [1, 0], [0.5, 3**0.5 / 2]],
    "steiner_points": [[0.5, 3**0.5 / 6]],
    "edges": [[0, 3], [1, 3], [2, 3]],
}
LENGTH = 3**0.5


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "square.csv").write_text("0,0\n0,1\n1,1\n1,0\n")
    return tmp_path


# --- verify ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"edges": {}}, "tree"),
        ({"status": "proven"}, "status"),
        ({"status": "Optimal"}, "status"),
        ({"status": ""}, "status"),
        ({"status": 1}, "status"),
        ({"status": ["optimal"]}, "status"),
        ({"status": "optimal", "lower_bound": 1.7}, "status"),
        ({"lower_bound": LENGTH * 1.001}, "bound"),
        ({"lower_bound": -1}, "bound"),
        ({"lower_bound": "high"}, "bound"),
        ({"lower_bound": float("nan")}, "bound"),
        ({"lower_bound": 10**400}, "bound"),
        ({"length": 10**400}, "length"),
        ({"length": float("inf")}, "length"),
        ({"length": True}, "length"),
        ({"edges": [[0, 2**63], [1, 3], [2, 3]]}, "tree"),
        ({"edges": {"0": 3}}, "tree"),
        ({"info": {"relays": 10**30}}, "tree"),
        ({"info": {"relays": 2}}, "tree"),
        ({"crs": "nonsense"}, "tree"),
        ({"terminals": []}, "terminals"),
        ({"steiner_points": 5}, "Steiner"),
    ],
)
def test_verify_refuses_false_claims(
    folder: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], check: str
) -> None:
    (folder / "tree.json").write_text(json.dumps({**TRIANGLE, **change}))
    assert run(["verify", "tree.json", "--strict"]) == 2
    out, error = capsys.readouterr()
    assert f"FAIL  {check}" in out
    assert error.startswith(f"error: tree.json fails the {check} check: ")
    assert error.count("\n") == 1
    assert len(error) < 300


@pytest.mark.parametrize(
    "change",
    [
        {"status": "feasible"},
        {"status": "time_limit", "lower_bound": 1.0},
        {"status": "interrupted", "lower_bound": 0},
        {"status": "optimal"},
        {"status": "optimal", "lower_bound": LENGTH},
        # What joining nearly equal points may cost lies between bound and length.
        {"status": "optimal", "lower_bound": LENGTH * (1 - 1e-8)},
    ],
)
def test_verify_takes_claims_that_fit(
    folder: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any]
) -> None:
    (folder / "tree.json").write_text(json.dumps({**TRIANGLE, **change}))
    assert run(["verify", "tree.json", "--strict"]) == 0
    assert f"ok    status     {change['status']!r} (not proven here)" in capsys.readouterr().out


def test_verify_puts_a_tree_without_terminals_on_the_points(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In another order and with a repeated point, from a .tsp or a member of an npz."""
    assert run(["solve", "square.csv", "-q", "--without-terminals", "-O", "tree.json"]) == 0
    assert set(json.loads((folder / "tree.json").read_text())["terminals"]) == {"count", "sha256"}
    points = np.array([[1, 1], [0, 0], [1, 0], [0, 1], [0, 0.0]])
    save_points(points, folder / "other.tsp")
    np.savez(folder / "sets.npz", square=points, two=points[None] + [[[0]], [[5]]])
    for given in (["square.csv"], ["other.tsp"], ["sets.npz", "--key", "square"]):
        assert run(["verify", "tree.json", "--strict", "--points", *given]) == 0, given
        out, error = capsys.readouterr()
        assert out.startswith("ok    points     the terminals, by their hash, are the points given")
        assert (out.count("\n"), out.count("ok "), error) == (8, 8, "")
    assert run(["verify", "tree.json", "--points", "square.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["checks"][0]["name"] == "points"


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, [], "tree.json has only the hash of its 4 terminals; give the points"),
        ({}, ["--key", "a"], "--key chooses among the points of --points FILE"),
        ({}, ["--points", "wrong.csv"], "tree.json fails the points check: the points are not"),
        ({"terminals": {}}, [], "tree.json: 'terminals' must be a list of points, or their"),
        ({"edges": [[0, 1]]}, ["--points", "square.csv"], "tree.json fails the tree check"),
        ({"edges": {}}, ["--points", "square.csv"], "tree.json fails the tree check"),
        ({"length": 2.8}, ["--points", "square.csv"], "tree.json fails the length check"),
        ({"lower_bound": 2.8}, ["--points", "square.csv"], "tree.json fails the bound check"),
    ],
)
def test_verify_refuses_what_is_false_of_a_tree_without_terminals(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, Any],
    arguments: list[str],
    message: str,
) -> None:
    assert run(["solve", "square.csv", "-q", "--without-terminals", "-O", "tree.json"]) == 0
    tree = json.loads((folder / "tree.json").read_text())
    (folder / "tree.json").write_text(json.dumps({**tree, **change}))
    (folder / "wrong.csv").write_text("0,0\n0,1\n1,1\n1,0.5\n")
    assert run(["verify", "tree.json", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {message}")
    assert error.count("\n") == 1
    assert len(error) < 300


@pytest.mark.parametrize("output", [[], ["-O", "tree.csv"], ["square.csv", "-O", "-"]])
def test_only_one_json_can_do_without_terminals(
    folder: Path, capsys: pytest.CaptureFixture[str], output: list[str]
) -> None:
    assert run(["solve", "square.csv", "--without-terminals", *output]) == 2
    assert "--without-terminals is for one instance, written as json" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["square.csv"]


# --- standard streams -----------------------------------------------------------------------------


def run_shell(
    redirected: str, folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `deepsteiner` with its streams redirected by a shell."""
    return subprocess.run(
        ["bash", "-c", f"exec {sys.executable} -m deepsteiner {redirected}"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env={**os.environ, **environment},
        check=False,
    )


CLOSED = "error: standard output is closed\n"
FULL = "No space left on device\n"


@pytest.mark.parametrize(
    ("redirected", "code", "error"),
    [
        ("convert square.csv - >&-", 2, CLOSED),
        ("convert square.csv - --format npy >&-", 2, CLOSED),
        ("convert square.csv out.json >&-", 2, CLOSED),
        ("convert square.csv out.json --quiet >&-", 0, ""),
        ("--version >&-", 2, CLOSED),
        ("methods --json > /dev/full", 2, FULL),
        ("convert square.csv - > /dev/full", 2, FULL),
        ("convert square.csv - --format npz > /dev/full", 2, FULL),
        ("convert - out.json <&-", 2, "error: standard input is closed\n"),
        ("convert missing.csv out.json 2> /dev/full", 2, ""),
        ("convert missing.csv out.json 2>&-", 2, ""),
        ("convert missing.csv out.json >&- 2>&- <&-", 2, ""),
    ],
)
def test_streams_that_are_not_there(folder: Path, redirected: str, code: int, error: str) -> None:
    # Unbuffered, what cannot be written fails at once; else only when the process ends.
    for unbuffered in ("", "1") if "/dev/full" in redirected else ("",):
        result = run_shell(redirected, folder, PYTHONUNBUFFERED=unbuffered)
        check_shell(result, code, error)


def check_shell(result: subprocess.CompletedProcess[str], code: int, error: str) -> None:
    assert result.returncode == code
    assert result.stdout == ""
    assert result.stderr.endswith(error)
    assert result.stderr.count("\n") == (error != "")


def test_a_file_opened_in_place_of_a_closed_stream_gets_no_prints(folder: Path) -> None:
    """The first file opened takes the lowest free number, and 1 is where prints go."""
    program = (
        "import os; from deepsteiner.cli.streams import prepare_streams; prepare_streams()\n"
        "with open('data.txt', 'w') as stream: os.write(1, b'a print'); stream.write('data')"
    )
    command = f'exec {sys.executable} -c "$PROGRAM" >&- 2>&- <&-'
    subprocess.run(
        ["bash", "-c", command], cwd=folder, env={**os.environ, "PROGRAM": program}, check=True
    )
    assert (folder / "data.txt").read_text() == "data"


@pytest.mark.parametrize(
    ("arguments", "reader", "read"),
    [
        ("generate D1 --count 5000", "head -c 10", '{"points":'),  # gone in the middle
        ("convert square.csv -", "true", ""),  # gone before the first byte
    ],
)
def test_a_reader_that_leaves_is_no_error(
    folder: Path, arguments: str, reader: str, read: str
) -> None:
    command = f"{sys.executable} -m deepsteiner {arguments} | {reader}; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    )
    assert done.stdout == f"{read}1\n"
    assert done.stderr == ""


def test_a_result_survives_a_lost_stderr(folder: Path) -> None:
    """A word about phases or compiling that nobody can read is not worth a tree."""
    result = run_shell("solve square.csv -m mst --verbose -O tree.json 2> /dev/full", folder)
    assert result.returncode == 0
    assert "length   3" in result.stdout
    assert json.loads((folder / "tree.json").read_text())["length"] == 3.0
