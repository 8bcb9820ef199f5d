"""The examples and the README's snippets run as printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import deepsteiner as ds

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_there_are_examples_and_snippets():
    """So that what follows runs something."""
    assert len(list((ROOT / "examples").glob("*.py"))) > 1
    assert blocks("python")
    assert blocks("console")
    assert any("print(" in block for block in blocks("python"))


RESEARCH = sorted((ROOT / "examples" / "research").glob("*.py"))


def test_examples_for_researchers_are_short():
    assert len(RESEARCH) == 4
    for script in RESEARCH:
        assert len(script.read_text().splitlines()) < 60, script.name


def known_scripts():
    """Yield every example; of those that train for researchers some only for `make test-all`."""
    for script in [*sorted((ROOT / "examples").glob("*.py")), *RESEARCH]:
        marks = [pytest.mark.heavy] if script in RESEARCH[1:] else []
        yield pytest.param(script, id=script.stem, marks=marks)


@pytest.mark.parametrize("script", list(known_scripts()))
def test_example_runs(script, tmp_path):
    if script in RESEARCH:
        pytest.importorskip("torch")
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            str(script),
            *(["--seconds", "1"] if script in RESEARCH else []),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("block", blocks("python"), ids=range(len(blocks("python"))))
def test_readme_python(block, tmp_path, monkeypatch, capsys):
    """The comment behind each `print` is what it prints."""
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
    shown = re.findall(r"^print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == shown


def test_readme_commands(tmp_path):
    """The command-line block works line by line in an empty folder."""
    commands = [line for block in blocks("console") for line in block.splitlines()]
    assert commands
    for line in commands:
        assert line.startswith("$ deepsteiner ")
        for part in line.removeprefix("$ ").split(" | "):
            assert shlex.split(part)[0] == "deepsteiner"
        run = line.removeprefix("$ ").replace("deepsteiner", f"{sys.executable} -m deepsteiner")
        done = subprocess.run(
            run, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (line, done.stderr)


def test_every_method_has_its_page():
    pages = ROOT / "docs" / "methods"
    assert {path.stem for path in pages.glob("*.md")} - {"index"} == set(ds.methods())
    listed = (pages / "index.md").read_text().splitlines()
    assert set(ds.methods()) <= set(listed), "the table of contents names every page"


def test_readme_shows_the_two_commands():
    assert "make demo" in README
    assert "make test" in README
