"""`deepsteiner kernels`, `deepsteiner warmup`, and what a solve says while it compiles."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deepsteiner import cli, warmup
from deepsteiner.cli.watch import Watch
from deepsteiner.core.compiled import progress
from deepsteiner.core.compiled.entries import entry_kernels
from deepsteiner.core.compiled.sources import PACKAGE

STATES = {"prebuilt", "cached", "to be compiled"}


def deepsteiner(*arguments: str, cache: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "deepsteiner", *arguments],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_every_kernel_has_a_state_and_the_table_fits(tmp_path: Path) -> None:
    text = deepsteiner("kernels", cache=tmp_path)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    for kernel in entry_kernels():
        assert kernel.rpartition(".")[2] in text
    found = json.loads(deepsteiner("kernels", "--json", cache=tmp_path))
    assert len(found["kernels"]) == len(entry_kernels())
    assert {row["state"] for row in found["kernels"]} <= STATES
    assert found["cache"] == str(tmp_path / "deepsteiner")


@pytest.mark.heavy
def test_what_was_warmed_up_is_cached(tmp_path: Path) -> None:
    if next((PACKAGE / "prebuilt").glob("*"), None) is not None:
        pytest.skip("this checkout has prebuilt kernels")
    first = deepsteiner("warmup", "mst", "--workers", "2", cache=tmp_path)
    again = deepsteiner("warmup", "mst", cache=tmp_path)
    assert first.split()[1] == again.split()[1] == "kernels"
    assert int(first.split()[0]) >= 3
    assert again.split()[0] == "0"
    rows = json.loads(deepsteiner("kernels", "--json", cache=tmp_path))["kernels"]
    states = {row["kernel"]: row["state"] for row in rows}
    assert states["prim"] in ("prebuilt", "cached")
    assert deepsteiner("warmup", "mst", "--quiet", cache=tmp_path) == ""
    assert not list(tmp_path.rglob("*.lock"))


def test_bad_arguments_get_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["warmup", "nonsense"]) == 2
    assert "unknown method 'nonsense'" in capsys.readouterr().err
    assert cli.run(["warmup", "mst", "--workers", "0"]) == 2
    assert "--workers must be at least 1, got 0" in capsys.readouterr().err


def test_every_choice_of_an_option_is_warmed_up() -> None:
    named = [name for name, _ in warmup.calls("local")]
    for choice in ("effort=fast", "effort=best", "enumerate=grown", "score=network"):
        assert any(choice in name for name in named), choice
    assert not any("effort=default" in name for name in named)


@pytest.mark.parametrize("quiet", [False, True])
def test_a_compilation_is_announced(capsys: pytest.CaptureFixture[str], quiet: bool) -> None:
    with Watch(quiet=quiet):
        compiling = progress.Compiling("deepsteiner.some_kernels.thing", 100)
        progress.tell(compiling)
        compiling.done = 1
        progress.tell(compiling)
    progress.tell(progress.Compiling("deepsteiner.some_kernels.late", 100))  # nobody listens
    said = capsys.readouterr().err
    assert said == ("" if quiet else "compiling thing, once: 100 functions, about 16 s\n")


def test_a_short_compilation_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with Watch():
        progress.tell(progress.Compiling("deepsteiner.some_kernels.thing", 2))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("is_terminal", [False, True])
def test_python_is_told_where_somebody_watches(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(stderr, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    compiling = progress.Compiling("deepsteiner.some_kernels.thing", 100)
    for done in (0, 99, 100):
        compiling.done, compiling.finished = done, done == 100
        progress.tell(compiling)
    said = stderr.getvalue().split("\r")
    if not is_terminal:
        assert said == [""]
        return
    assert said[1] == "compiling thing, once: 0 of 100 functions, about 16 s left"
    assert said[2].startswith("compiling thing, once: 99 of 100 functions, about ")
    assert said[3].isspace()  # the line is taken away
    assert len(said[3]) >= len(said[2].rstrip())
    with Watch(quiet=True):
        progress.tell(progress.Compiling("deepsteiner.some_kernels.late", 100))
    progress.tell(progress.Compiling("deepsteiner.some_kernels.short", 2))
    assert stderr.getvalue().count("\r") == len(said) - 1


def test_the_time_left_is_learnt_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: clock[0])
    compiling = progress.Compiling("module.kernel", 10)
    expected = compiling.left
    assert expected == pytest.approx(10 * progress.USUAL_SECONDS * (1 + progress.AT_ONCE))
    clock[0], compiling.done = 50.0, 9  # a slow machine
    assert compiling.left == pytest.approx(50 * (1 + progress.AT_ONCE) - 50)
    compiling.finished = True
    assert compiling.left == 0.0


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[object, ...]] = []
    watch = Watch()
    watch._draws = True
    monkeypatch.setattr(watch, "_show", lambda *words: shown.append(words))
    with watch:
        compiling = progress.Compiling("deepsteiner.some_kernels.thing", 100)
        progress.tell(compiling)
        compiling.done, compiling.finished = 100, True
        progress.tell(compiling)
    assert shown[0] == ("compiling thing, once", 0, 100, "functions", "about 16 s left")
    assert shown[1][1] == 100
