"""Every public name stands in the reference and has an example."""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cached_property
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
    here = {"deepsteiner.datasets", "deepsteiner.maps"}
    made = {name for name, one in vars(ds.datasets).items() if public(name, one, here)}
    assert made - {"check_split"} <= names  # which the command line uses
    assert len(made) > 5


def public(name: str, one: object, modules: set[str]) -> bool:
    """Say whether a name is a function or class of some modules, without an underscore."""
    return name[0] != "_" and callable(one) and getattr(one, "__module__", None) in modules


def test_every_public_name_has_an_example():
    """Functions, classes, and every public method and property of a class, inherited ones too."""
    pytest.importorskip("torch", reason="the research kit is listed, too")
    parts = {"deepsteiner.datasets": ds.datasets, "deepsteiner.errors": ds.errors}
    for name, value in listed().items():
        parts[name] = value
        if inspect.isclass(value) and name not in STANDARD:
            parts |= {f"{name}.{key}": one for key, one in members(value).items()}
    assert len(parts) > 80
    assert [path for path, one in parts.items() if ">>>" not in doc(one)] == []


# Its methods are those of the standard library's executors.
STANDARD = {"deepsteiner.fleet.ray.RayExecutor"}


def members(value: type) -> dict[str, object]:
    """Return what the site shows of a class: its methods and properties, by name."""
    ours = [one for one in value.__mro__ if one.__module__.startswith("deepsteiner")]
    found = {key: one for base in reversed(ours) for key, one in vars(base).items()}
    return {
        key: getattr(one, "__func__", one)
        for key, one in found.items()
        if (key[0] != "_" or key == "__call__") and is_shown(one)
    }


def is_shown(one: object) -> bool:
    return inspect.isfunction(getattr(one, "__func__", one)) or isinstance(
        one, (property, cached_property)
    )


def doc(one: object) -> str:
    return inspect.getdoc(one) or ""
