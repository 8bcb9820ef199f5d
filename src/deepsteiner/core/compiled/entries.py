"""Which kernels Python calls, read off the sources: those alone are ever looked for or compiled.

All others are part of the code of a kernel that calls them.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .sources import PACKAGE

SUFFIX = "_kernels"


def entry_kernels() -> list[str]:
    """Return the kernels that modules other than those of kernels mention, as module.function."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if not path.stem.endswith(SUFFIX):
            text = path.read_text(encoding="utf-8")
            if SUFFIX in text:
                found.update(_mentioned(path, ast.parse(text)))
    return sorted(found)


def _mentioned(path: Path, tree: ast.AST) -> Iterator[str]:
    # The same name may mean another module in another function.
    names: dict[str, set[tuple[Path, str]]] = defaultdict(set)
    modules: dict[str, set[Path]] = defaultdict(set)
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
        for alias in node.names:
            here = alias.asname or alias.name
            if base.name.endswith(SUFFIX):
                names[here].add((base, alias.name))
            elif alias.name.endswith(SUFFIX):
                modules[here].add(base / alias.name)
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in names:
                for module, there in names[name]:
                    yield from _kernel(module, there)
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in modules:
                for module in modules[owner]:
                    yield from _kernel(module, name)


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _kernel(module: Path, name: str) -> Iterator[str]:
    """Yield the full name of a kernel, in the module that defines it."""
    for node in _parsed(module.with_suffix(".py")).body:
        if isinstance(node, ast.FunctionDef) and node.name == name and node.decorator_list:
            yield ".".join((*module.relative_to(PACKAGE.parent).parts, name))
        elif isinstance(node, ast.ImportFrom) and node.level:
            for alias in node.names:
                if (alias.asname or alias.name) == name and node.module:
                    parts = node.module.split(".")
                    yield from _kernel(module.parents[node.level - 1].joinpath(*parts), alias.name)
