"""Every public name stands in the reference and has an example."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

import deepsteiner as ds

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "index.md"
LISTED = re.findall(r"^   ([\w.]+)$", REFERENCE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def listed() -> dict[str, object]:
    """Return what the reference lists, by the name it has there."""
    module, found = "deepsteiner", {}
    for line in REFERENCE.read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.removeprefix(".. currentmodule:: ")
        elif re.fullmatch(r"   [\w.]+", line):
            path, _, name = f"{module}.{line.strip()}".rpartition(".")
            found[f"{path}.{name}"] = getattr(importlib.import_module(path), name)
    return found


def test_the_reference_lists_every_public_name():
    pytest.importorskip("torch", reason="the research kit is listed, too")
    names = {name.rpartition(".")[2] for name in listed()}
    assert set(ds.__all__) - {"datasets", "errors"} <= names
    assert set(ds.errors.__all__) <= names


def test_every_public_name_has_an_example():
    pytest.importorskip("torch", reason="the research kit is listed, too")
    without = []
    for name, value in listed().items():
        members = vars(value).items() if inspect.isclass(value) and value.__module__ in OURS else ()
        parts = [(name, value), *((f"{name}.{key}", one) for key, one in members if key[0] != "_")]
        without += [path for path, one in parts if is_function(one) and ">>>" not in doc(one)]
        if inspect.isclass(value) and ">>>" not in doc(value):
            without.append(name)
    assert without == []


# Classes whose methods people call; of the others the example of the class will do.
OURS = {f"deepsteiner.{name}" for name in ("core.solution", "core.solutions", "datasets")}


def is_function(one: object) -> bool:
    return (callable(getattr(one, "__func__", one)) and not inspect.isclass(one)) or isinstance(
        one, property
    )


def doc(one: object) -> str:
    return inspect.getdoc(one) or ""
