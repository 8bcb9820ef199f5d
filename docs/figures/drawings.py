"""Which function draws which picture, and the pictures that are still good."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from . import palette

FOLDER = Path(__file__).resolve().parent
MODULES = ("trees", "generation", "choosing", "around", "learned", "charts", "methods")
STORED = FOLDER.parents[1] / "src" / "deepsteiner" / "benchmark" / "stored"


@cache
def table() -> dict[str, Callable[[Any], Any]]:
    """Return every drawing by name: the functions that the modules list as DRAWINGS."""
    found: dict[str, Callable[[Any], Any]] = {}
    for name in MODULES:
        found |= importlib.import_module(f".{name}", __package__).DRAWINGS
    return found


def sources(name: str) -> list[Path]:
    """Return the files that a drawing is made of."""
    drawing = inspect.unwrap(getattr(table()[name], "func", table()[name]))
    return [Path(inspect.getfile(drawing)), FOLDER / "palette.py"]


def draw(name: str, shade: str, folder: Path) -> Path:
    """Return the picture of that name, drawn unless it is there and what makes it is the same."""
    from deepsteiner import __version__
    from deepsteiner.viz.plot import save_figure

    inputs = sources(name)
    if Path(inspect.getfile(inspect.unwrap(table()[name]))).stem == "charts":
        inputs += sorted(STORED.rglob("*.jsonl"))
    stamp = hashlib.sha256(__version__.encode())
    for path in inputs:
        stamp.update(path.read_bytes())
    path = folder / f"{name}-{shade}-{stamp.hexdigest()[:10]}.svg"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{name}-{shade}-??????????.svg"):
            old.unlink()
        save_figure(table()[name](palette.PALETTES[shade]), path)
    return path
