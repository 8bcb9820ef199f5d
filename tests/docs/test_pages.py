"""The site's pages: their code runs and prints what they say."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import shlex
from pathlib import Path

import pytest

import deepsteiner as ds
from deepsteiner.cli import run as run_command
from deepsteiner.policy.kit import registries

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Their examples start processes, and have tests of their own.
ELSEWHERE = {"guides/clusters.md"}
# What the examples of a page need beyond a plain installation.
NEEDS = {
    "guides/maps.md": ("pyproj", "shapely"),
    "guides/obstacles.md": ("shapely",),
    "guides/existing.md": ("shapely",),
    "guides/soft-regions.md": ("shapely", "pythoncdt"),
    "guides/pictures.md": ("shapely", "networkx"),
    "how/policy.md": ("torch",),
    "methods/policy.md": ("torch",),
    "research/extending.md": ("torch",),
    "research/training.md": ("torch",),
}
# Pages of parts that a checkout may not have yet, and how to tell.
PARTS = {
    "guides/existing.md": lambda: "existing" in inspect.signature(ds.solve).parameters,
    "guides/relays.md": lambda: hasattr(ds, "place_relays"),
    "guides/soft-regions.md": lambda: "soft regions" in ds.methods()["local"].supports,
    "guides/edits.md": lambda: hasattr(ds.Solution, "with_points"),
}


def pages() -> list[str]:
    made = {line for line in (DOCS / ".gitignore").read_text().split() if line.endswith(".md")}
    every = (path.relative_to(DOCS) for path in DOCS.rglob("*.md"))
    kept = [str(one) for one in every if not str(one).startswith(("_", "gallery", "reference/api"))]
    return sorted(set(kept) - made)


def blocks(page: str) -> list[tuple[str, str]]:
    return FENCE.findall((DOCS / page).read_text(encoding="utf-8"))


RUN = [page for page in pages() if {"python", "console"} & {kind for kind, _ in blocks(page)}]


def test_there_is_something_to_run():
    assert len(RUN) > 10


@pytest.fixture(autouse=True)
def parts_of_policies(monkeypatch):
    """Forget the parts of policies that a page registers."""
    for registry in vars(registries).values():
        if isinstance(registry, registries.Registry):
            monkeypatch.setattr(registry, "_parts", dict(registry._parts))


@pytest.mark.parametrize("page", sorted(set(RUN) - ELSEWHERE))
def test_code_of_a_page_runs(page, tmp_path, monkeypatch):
    """Blocks of a page follow each other.

    What stands behind a `print` as a comment is what it prints; a text block right after a block of
    code is all that the block prints.
    """
    for name in NEEDS.get(page, ()):
        pytest.importorskip(name)
    if page in PARTS and not PARTS[page]():
        pytest.skip("this checkout does not have what the page is about")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    found = blocks(page)
    for number, (kind, text) in enumerate(found):
        if kind == "console":
            run_console(text)
        if kind != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(text, f"{page}, block {number}", "exec"), names)
        shown = re.findall(r"^ *print\(.*\)  # (.*)$", text, flags=re.MULTILINE)
        after = found[number + 1] if number + 1 < len(found) else ("", "")
        if after[0] == "text" and follows(page, text, after[1]):
            assert printed.getvalue() == after[1]
        elif shown:
            assert printed.getvalue().splitlines() == shown


def follows(page: str, code: str, text: str) -> bool:
    """Say whether a text block stands right behind a block of code."""
    return f"```python\n{code}```\n\n```text\n{text}```" in (DOCS / page).read_text(
        encoding="utf-8"
    )


def run_console(text: str) -> None:
    for line in text.splitlines():
        if not line.startswith("$ "):
            continue
        words = shlex.split(line.removeprefix("$ "))
        assert words[0] == "deepsteiner"
        with contextlib.redirect_stdout(io.StringIO()):
            assert run_command(words[1:]) == 0, line
