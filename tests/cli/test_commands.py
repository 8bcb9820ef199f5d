"""The command line: in this process where that is enough, as a real process where it matters."""

import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from deepsteiner.cli import run
from deepsteiner.cli.watch import Watch
from deepsteiner.core.solution import Solution
from deepsteiner.run.monitor import Progress

SQUARE = "0,0\n0,1\n1,1\n1,0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty current folder with one small points file in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "square.csv").write_text(SQUARE)
    return tmp_path


def run_process(*arguments, stdin="", cwd=None):
    """Run the real command and return the finished process."""
    return subprocess.run(
        [sys.executable, "-m", "deepsteiner", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "80"},
    )


def give_stdin(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def expect_error(capsys, arguments):
    """Run, expect exit code 2 and one sentence, and return it."""
    assert run(arguments) == 2
    out, error = capsys.readouterr()
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert out == ""
    return error


# --- the real process ---------------------------------------------------------------------------


def test_pipe_from_generate_to_solve_to_verify(folder):
    points = run_process("generate", "uniform", "--n", "8", cwd=folder)
    assert points.returncode == 0
    solved = run_process("solve", "-", "-m", "mst", "-O", "-", stdin=points.stdout, cwd=folder)
    assert (solved.returncode, solved.stderr) == (0, "")
    assert len(json.loads(solved.stdout)["edges"]) == 7
    checked = run_process("verify", "-", stdin=solved.stdout, cwd=folder)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_process_reports_bad_input_in_one_line(folder):
    result = run_process("solve", "missing.csv", cwd=folder)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == "error: missing.csv does not exist\n"


def test_help_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from deepsteiner.cli import run\n"
        "assert run(['solve', '--help']) == 0\n"
        "heavy = {'numba', 'scipy', 'matplotlib', 'highspy', 'torch'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_reader_that_leaves_is_no_error(folder):
    command = f"{sys.executable} -m deepsteiner generate D1 --count 2000 | head -n 1"
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) == 1


# --- solve --------------------------------------------------------------------------------------


def test_solve_prints_a_report(folder, capsys):
    assert run(["solve", "square.csv", "-m", "mst"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("square.csv: 4 terminals, 0 Steiner points\n  length   3\n")
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("suffix", ["json", "geojson", "csv", "svg", "png", "pdf", "jsonl"])
def test_solve_writes_by_suffix(folder, capsys, suffix):
    assert run(["solve", "square.csv", "-m", "mst", "-O", f"tree.{suffix}", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert (folder / f"tree.{suffix}").stat().st_size > 100
    if suffix in ("json", "geojson", "csv"):
        assert Solution.load(folder / f"tree.{suffix}").length == pytest.approx(3.0)


def test_many_files_keep_their_order(folder, capsys):
    (folder / "line.csv").write_text("0 0\n5 0\n")
    (folder / "pair.jsonl").write_text("[[0, 0], [1, 0]]\n[[0, 0], [2, 0], [4, 0]]\n")
    files = ["line.csv", "square.csv", "pair.jsonl", "line.csv"]
    assert run(["solve", *files, "-m", "mst", "-O", "all.jsonl"]) == 0
    lines = [json.loads(line) for line in (folder / "all.jsonl").read_text().splitlines()]
    assert [line["length"] for line in lines] == [5.0, 3.0, 1.0, 4.0, 5.0]
    assert [line["info"]["instance"] for line in lines] == [
        "line.csv",
        "square.csv",
        "pair.jsonl[0]",
        "pair.jsonl[1]",
        "line.csv",
    ]
    assert Solution.from_dict(lines[1]).method == "mst"
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "5 instances, mean length 3.6" in out


def test_dataset_as_json_lines(folder, capsys):
    arguments = ["solve", "--dataset", "D1", "--count", "3", "-m", "mst", "--json"]
    assert run(arguments) == 0
    first = capsys.readouterr().out
    assert [len(json.loads(line)["terminals"]) for line in first.splitlines()] == [10] * 3
    assert run([*arguments, "--seed", "1"]) == 0
    assert capsys.readouterr().out != first


def test_dataset_file_gives_the_gap_to_its_optima(folder, capsys):
    points = np.array([[[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]] * 2)
    np.savez(folder / "deg.npz", points=points, optimal_length=np.full(2, 1 + 3**0.5))
    assert run(["solve", "--dataset", "DEG", "--dataset-file", "deg.npz", "-m", "mst"]) == 0
    assert "mean gap to the optimum 9.8076 %" in capsys.readouterr().out


def test_many_results_on_stdout_are_json_lines(folder, capsys):
    assert run(["solve", "square.csv", "square.csv", "-m", "mst", "-O", "-"]) == 0
    assert len([json.loads(line) for line in capsys.readouterr().out.splitlines()]) == 2


def test_method_options_and_seed_are_passed_on(folder, capsys):
    for seed in ("0", "1"):
        arguments = ["solve", "square.csv", "-m", "rand2", "-o", "keep_worsening=yes"]
        assert run([*arguments, "--seed", seed, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0]["method"] == "rand2"
    assert lines[0]["steiner_points"] != lines[1]["steiner_points"]


def test_relays_and_trace(folder, capsys):
    assert run(["solve", "square.csv", "-m", "mst", "--max-edge", "0.3", "--trace", "--json"]) == 0
    info = json.loads(capsys.readouterr().out)["info"]
    assert info["relays"] == 9
    assert info["trace"]


def test_prove_exits_with_3_without_a_proof(folder, capsys):
    assert run(["solve", "square.csv", "-m", "mst", "--prove"]) == 3
    assert "not proven optimal: 1 of 1" in capsys.readouterr().err
    (folder / "two.csv").write_text("0,0\n3,4\n")
    assert run(["solve", "two.csv", "-m", "mst", "--prove"]) == 0


def test_verbose_names_the_phases(folder, capsys):
    assert run(["solve", "square.csv", "-m", "mst", "--verbose"]) == 0
    assert "spanning tree" in capsys.readouterr().err


def test_geographic_points_are_solved_in_metres(folder, capsys):
    pytest.importorskip("pyproj")
    (folder / "cities.csv").write_text("lon,lat\n13.4,52.5\n11.6,48.1\n10.0,53.6\n")
    assert run(["solve", "cities.csv", "-m", "mst", "-O", "tree.geojson"]) == 0
    assert "km" in capsys.readouterr().out
    assert run(["solve", "square.csv", "--crs", "EPSG:4326", "-m", "mst", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["length"] > 300_000


# --- Ctrl-C -------------------------------------------------------------------------------------


def test_first_interrupt_asks_to_stop_and_the_second_aborts(capsys):
    before = signal.getsignal(signal.SIGINT)  # ignored where the tests run in the background
    with Watch() as watch:
        assert watch(Progress(0.1, "search"))
        os.kill(os.getpid(), signal.SIGINT)
        assert not watch(Progress(0.2, "search"))
        assert "Ctrl-C again" in capsys.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupted_solver_still_gives_its_tree(folder, capsys, monkeypatch):
    monkeypatch.setattr(Watch, "__call__", lambda watch, progress: False)
    assert run(["solve", "square.csv", "-m", "mst", "-O", "tree.json"]) == 0
    assert Solution.load(folder / "tree.json").status == "interrupted"


def test_an_aborted_solver_exits_with_130_and_writes_nothing(folder, monkeypatch):
    def abort(watch, progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(Watch, "__call__", abort)
    assert run(["solve", "square.csv", "-m", "mst", "-O", "tree.json"]) == 130
    assert not (folder / "tree.json").exists()


# --- bad input ----------------------------------------------------------------------------------

BAD_FILES = {
    "empty.csv": (b"", "is empty"),
    "one_column.csv": (b"1\n2\n", "line 1"),
    "text.csv": (b"0,0\n1,one\n", "line 2"),
    "nan.csv": (b"0,0\nnan,1\n", "line 2"),
    "inf.csv": (b"0,0\n1,inf\n", "line 2"),
    "three_columns.csv": (b"0,0,0\n1,1,1\n", "line 1"),
    "ragged.csv": (b"0,0\n1,1,1\n", "line 2"),
    "points.xyz": (b"0,0\n1,1\n", ".xyz"),
    "truncated.npz": (b"PK\x03\x04nothing", "truncated.npz"),
    "no_points.json": (b'{"name": "x"}', "no_points.json"),
    "not.json": (b'{"points": [[0, 0]', "not.json"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_one_sentence_and_leave_nothing(folder, capsys, name):
    content, expected = BAD_FILES[name]
    (folder / name).write_bytes(content)
    assert expected in expect_error(capsys, ["solve", name, "-O", "tree.json"])
    assert sorted(path.name for path in folder.iterdir()) == sorted([name, "square.csv"])


BAD_ARRAYS = {
    "no points": (np.empty((0, 2)), "no points"),
    "strings": (np.array([["a", "b"]]), "real numbers"),
    "complex numbers": (np.array([[1j, 2.0]]), "complex"),
    "three columns": (np.zeros((4, 3)), "(4, 3)"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_bad_arrays_are_one_sentence(folder, capsys, name):
    array, expected = BAD_ARRAYS[name]
    np.save(folder / "points.npy", array)
    assert expected in expect_error(capsys, ["solve", "points.npy"])


BAD_ARGUMENTS = [
    (["solve", "."], "folder"),
    (["solve", "missing.csv"], "does not exist"),
    (["solve"], "either point files"),
    (["solve", "square.csv", "--dataset", "D1"], "either point files"),
    (["solve", "-", "-"], "only once"),
    (["solve", "square.csv", "-m", "magic"], "unknown method 'magic'"),
    (["solve", "square.csv", "-m", "mst", "-o", "size=3"], "has no option 'size'"),
    (["solve", "square.csv", "-o", "size"], "name=value"),
    (["solve", "square.csv", "--time-limit", "-1"], "at least 0 seconds"),
    (["solve", "square.csv", "--time-limit", "soon"], "--time-limit"),
    (["solve", "square.csv", "--seed", "-1"], "seed"),
    (["solve", "square.csv", "--workers", "0"], "workers"),
    (["solve", "square.csv", "--duplicates", "keep"], "merge"),
    (["solve", "square.csv", "--max-edge", "0"], "greater than 0"),
    (["solve", "square.csv", "-O", "tree.xyz"], "'.xyz'"),
    (["solve", "square.csv", "-O", "tree"], "no suffix"),
    (["solve", "square.csv", "-O", "nowhere/tree.json"], "does not exist"),
    (["solve", "square.csv", "-O", "-", "--json"], "standard output"),
    (["solve", "square.csv", "square.csv", "-O", "tree.json"], ".jsonl"),
    (["solve", "square.csv", "--colour"], "--colour"),
    (["solve", "--dataset", "D9"], "D9"),
    (["solve", "--dataset", "D1", "--count", "0"], "at least 1"),
    (["solve", "--dataset", "DEG"], "--dataset-file"),
    (["solve", "--dataset-file", "missing.npz"], "does not exist"),
    (["methods", "magic"], "unknown method 'magic'"),
    (["generate", "spiral", "--n", "5"], "spiral"),
    (["generate", "uniform", "--n", "0"], "from 1"),
    (["generate", "D1", "--count", "0"], "at least 1"),
    (["generate", "D1", "--count", "2", "-O", "two.csv"], "csv"),
    (["convert", "square.csv", "out.xyz"], "'.xyz'"),
    (["convert", "square.csv", "out.png"], "png"),
    (["plot", "square.csv"], "--output"),
    (["plot", "square.csv", "-O", "out.json"], "png, pdf, svg"),
    (["verify", "square.csv"], "terminals"),
    (["demo", "--n", "2"], "at least 3"),
    (["demo", "--output", "square.csv"], "is a file"),
    (["dance"], "dance"),
]


@pytest.mark.parametrize(("arguments", "expected"), BAD_ARGUMENTS, ids=lambda value: str(value))
def test_bad_arguments_are_one_sentence_and_leave_nothing(folder, capsys, arguments, expected):
    assert expected in expect_error(capsys, arguments)
    assert [path.name for path in folder.iterdir()] == ["square.csv"]


def test_geojson_without_pyproj_is_refused(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyproj", None)
    point = '{"type": "MultiPoint", "coordinates": [[0, 0], [1, 1], [2, 0]]}'
    (folder / "cities.geojson").write_text(point)
    assert "deepsteiner[geo]" in expect_error(capsys, ["solve", "cities.geojson", "-m", "mst"])


# --- the other commands -------------------------------------------------------------------------


def test_version_and_bare_command(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("deepsteiner 0.")
    assert run([]) == 0
    assert "Usage" in capsys.readouterr().out


def test_methods_table_and_one_method(folder, capsys):
    assert run(["methods"]) == 0
    table = capsys.readouterr().out
    assert "greedy" in table
    assert max(map(len, table.splitlines())) <= 80
    assert run(["methods", "greedy"]) == 0
    assert "relax" in capsys.readouterr().out
    assert run(["methods", "--json"]) == 0
    assert {info["name"] for info in json.loads(capsys.readouterr().out)} >= {"mst", "greedy"}


def test_generate_is_repeatable_and_converts(folder, capsys):
    arguments = ["generate", "clustered", "--n", "20", "--seed", "4"]
    assert run([*arguments, "-O", "a.csv"]) == 0
    assert run(["convert", "a.csv", "b.tsp"]) == 0
    assert run(["convert", "b.tsp", "c.npy"]) == 0
    capsys.readouterr()
    assert run(arguments) == 0
    assert capsys.readouterr().out == (folder / "a.csv").read_text()
    assert np.load(folder / "c.npy").shape == (20, 2)


def test_generate_many(folder, capsys):
    assert run(["generate", "D2", "--count", "3", "-O", "d2.npz"]) == 0
    assert "3 instances of 20 points" in capsys.readouterr().out
    assert run(["convert", "d2.npz", "-", "--format", "jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_convert_keeps_a_tree_whose_only_edge_crosses_the_antimeridian(folder, capsys):
    pytest.importorskip("pyproj")
    (folder / "islands.csv").write_text("lon,lat\n179,-17\n-179,-17\n")
    assert run(["solve", "islands.csv", "-m", "mst", "-O", "tree.geojson"]) == 0
    assert run(["convert", "tree.geojson", "tree.json"]) == 0
    assert len(Solution.load(folder / "tree.json").edges) == 1


def test_convert_and_plot_solutions(folder, capsys, monkeypatch):
    assert run(["solve", "square.csv", "-m", "mst", "-O", "tree.json"]) == 0
    for name in ("tree.geojson", "tree.csv", "tree.svg"):
        assert run(["convert", "tree.json", name]) == 0
    assert run(["convert", "tree.csv", "points.txt", "--points"]) == 0
    assert len((folder / "points.txt").read_text().splitlines()) == 4
    assert run(["plot", "tree.geojson", "-O", "tree.png"]) == 0
    assert run(["plot", "square.csv", "-O", "points.pdf"]) == 0
    give_stdin(monkeypatch, (folder / "tree.json").read_text())
    assert run(["plot", "-", "-O", "piped.png"]) == 0
    assert (folder / "piped.png").read_bytes() == (folder / "tree.png").read_bytes()


def test_demo_shows_every_method(folder, capsys):
    assert run(["demo", "--n", "12", "--output", "pictures"]) == 0
    out = capsys.readouterr().out
    for method in ("mst", "rand1", "rand2", "greedy"):
        assert method in out
    assert max(map(len, out.splitlines())) <= 80
    assert sorted(path.name for path in (folder / "pictures").iterdir()) == ["demo.png", "demo.svg"]


# --- verify -------------------------------------------------------------------------------------

TRIANGLE = {
    "terminals": [[0, 0], [1, 0], [0.5, 3**0.5 / 2]],
    "steiner_points": [[0.5, 3**0.5 / 6]],
    "edges": [[0, 3], [1, 3], [2, 3]],
}


def test_verify_accepts_a_bare_tree(folder, capsys):
    (folder / "tree.json").write_text(json.dumps(TRIANGLE))
    (folder / "points.json").write_text(json.dumps(TRIANGLE["terminals"][::-1]))
    assert run(["verify", "tree.json", "--strict", "--points", "points.json"]) == 0
    out = capsys.readouterr().out
    assert out.count("ok") == 5
    assert "FAIL" not in out
    assert run(["verify", "tree.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["valid"] is True


BAD_TREES = [
    ({"edges": [[0, 3], [1, 3]]}, [], "tree"),
    ({"edges": [[0, 3], [1, 3], [0, 1]]}, [], "tree"),
    ({"edges": [[0, 3], [1, 3], [2, 7]]}, [], "tree"),
    ({"edges": "none"}, [], "tree"),
    ({"edges": [[0.5, 1], [1, 2], [2, 3]]}, [], "tree"),
    ({"terminals": [[0, 0], [1, None]]}, [], "terminals"),
    ({"steiner_points": [[0.5]]}, [], "Steiner"),
    ({"length": 1.0}, [], "length"),
    ({"length": "long"}, [], "length"),
    ({"lower_bound": 2.0}, [], "bound"),
    ({"steiner_points": [[0.5, 0.3]]}, ["--strict"], "angles"),
    ({}, ["--points", "square.csv"], "points"),
]


@pytest.mark.parametrize(("change", "arguments", "check"), BAD_TREES)
def test_verify_names_the_check_that_fails(folder, capsys, change, arguments, check):
    (folder / "tree.json").write_text(json.dumps({**TRIANGLE, **change}))
    assert run(["verify", "tree.json", *arguments]) == 2
    out, error = capsys.readouterr()
    assert f"FAIL  {check}" in out
    assert error.startswith(f"error: tree.json fails the {check} check: ")
    assert error.count("\n") == 1


def test_verify_tolerance(folder):
    (folder / "tree.json").write_text(json.dumps({**TRIANGLE, "length": 1.732}))
    assert run(["verify", "tree.json", "--quiet"]) == 2
    assert run(["verify", "tree.json", "--quiet", "--tolerance", "1e-3"]) == 0


def test_every_command_is_there_under_its_name():
    from typer.main import get_command

    from deepsteiner.cli.app import app

    assert set(get_command(app).commands) == {
        "solve", "methods", "generate", "convert", "plot", "verify", "demo", "serve", "train",
        "pretrain", "bench", "tables", "models", "kernels", "warmup", "relays",
    }  # fmt: skip


def test_plugins_run_before_the_models_that_need_them(folder, capsys):
    pytest.importorskip("torch")
    (folder / "mine.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    asked = ["bench", "-d", "D1", "-m", "mst", "--count", "2", "-q", "-O", "rows.jsonl"]
    assert run([*asked, "--plugin", "mine.py"]) == 0
    (folder / "ran").unlink()
    (folder / "other.py").write_text((folder / "mine.py").read_text())
    assert run(["solve", "square.csv", "-m", "mst", "-q", "--plugin", "other.py"]) == 0
    assert (folder / "ran").exists()
    capsys.readouterr()
    assert "gone.py does not exist" in expect_error(capsys, [*asked, "--plugin", "gone.py"])
