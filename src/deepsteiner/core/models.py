"""Trained models on disk: which are shipped, of what kind each is, and what its files hold.

A model is a folder: `weights.safetensors`, a description in JSON, and `card.md` for people. Shipped
models are such folders and go by their names. In a checkout all of them are inside the package. The
wheels leave the large ones, those of policies and tours, to a package of their own
(`packages/deepsteiner-models`), which the extra [learn] brings.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from .errors import FormatError, MissingDependencyError, OptionError

# "policy" and "neural" are for the methods of those names; trainings may start from a "tour" model.
Kind = Literal["neural", "policy", "tour"]

SHIPPED = Path(__file__).resolve().parents[1] / "models"
EXTRA_PACKAGE = "deepsteiner_models"
WEIGHTS, CARD = "weights.safetensors", "card.md"
DESCRIPTIONS: Mapping[Kind, str] = MappingProxyType(
    {"neural": "neural.json", "policy": "config.json", "tour": "config.json"}
)
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin")


@dataclass(frozen=True)
class ModelFiles:
    """A model's files as they were read: equal where the contents are, wherever they lie.

    What is built from them is cached under this, so that a folder whose files were replaced never
    serves the old weights, and copies of a model share one network.
    """

    folder: Path = field(compare=False)
    description: bytes = field(repr=False)
    weights: bytes = field(repr=False)


@cache  # an installation stays as it is
def _homes() -> tuple[Path, ...]:
    """Return the folders that shipped models lie in."""
    extra = importlib.util.find_spec(EXTRA_PACKAGE)
    places = None if extra is None else extra.submodule_search_locations
    return SHIPPED, *(Path(place) for place in places or ())


@cache
def shipped_models() -> Mapping[str, Kind]:
    """Return the models that are installed with the package, and of what kind each is."""
    found = [path for home in _homes() for path in home.glob("*")]
    kinds = {path.name: kind_of(path) for path in sorted(found, key=lambda path: path.name)}
    return MappingProxyType({name: kind for name, kind in kinds.items() if kind is not None})


def shipped_folder(name: str) -> Path:
    """Return the folder of a shipped model."""
    return next(home / name for home in _homes() if kind_of(home / name) is not None)


def fitting_models(*kinds: str) -> list[str]:
    """Return the names of the shipped models of some kinds.

    >>> fitting_models("neural")
    ['neural']
    """
    return [name for name, kind in shipped_models().items() if kind in kinds]


def kind_of(folder: Path) -> Kind | None:
    """Return of what kind the model in a folder is, or None where it holds none."""
    # Unlike `Path.is_file` and `is_dir`, these answer no to any name that cannot be looked up.
    if os.path.isfile(folder / DESCRIPTIONS["neural"]):
        return "neural"
    config = folder / DESCRIPTIONS["policy"]
    if not os.path.isfile(config):
        return None
    try:
        facts = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return "policy"  # whoever loads it says what is wrong
    return "tour" if isinstance(facts, dict) and facts.get("kind") == "tour" else "policy"


def _snapshot(path: Path) -> Path:
    """Return the folder itself, or in a cache of the Hugging Face hub the version that is meant."""
    newest = path / "refs" / "main"
    if not os.path.isfile(newest):
        return path
    return path / "snapshots" / newest.read_text(encoding="utf-8").strip()


def find_model(model: str | os.PathLike[str], *kinds: Kind) -> Path:
    """Return the folder of a model of these kinds, given by a shipped name or a path."""
    if isinstance(model, str) and shipped_models().get(model) in kinds:
        return shipped_folder(model)
    path = shipped_folder(str(model)) if model in shipped_models() else _snapshot(Path(model))
    wanted = f"a folder with {WEIGHTS} and {DESCRIPTIONS[kinds[0]]}"
    is_folder = os.path.isdir(path)
    if path.suffix in PICKLES and not is_folder:
        raise FormatError(
            f"{str(model)!r} is a pickle, which could run any program when loaded; a model is "
            f"{wanted}"
        )
    fitting = f"give {wanted}, or one of the shipped models ({', '.join(fitting_models(*kinds))})"
    if not is_folder:
        if not fitting_models(*kinds):
            raise MissingDependencyError(
                f"no model {str(model)!r}: the trained policies are not installed; "
                f"pip install 'deepsteiner[learn]' brings them, or give {wanted}"
            )
        raise FormatError(f"no model {str(model)!r}: {fitting}")
    kind = kind_of(path)
    if kind is not None and kind not in kinds:
        use = "a tour model, for trainings" if kind == "tour" else f"for method {kind!r}"
        raise OptionError(f"model {str(model)!r} is {use}, and does not fit here; {fitting}")
    for name in (DESCRIPTIONS[kind or kinds[0]], WEIGHTS):
        if not os.path.isfile(path / name):
            pickles = [one.name for one in path.iterdir() if one.suffix in PICKLES]
            hint = f"; {pickles[0]} is a pickle and is never loaded" if pickles else ""
            raise FormatError(f"model {str(model)!r} has no file {name}{hint}")
    return path


def read_model(model: str | os.PathLike[str], *kinds: Kind) -> ModelFiles:
    """Return the files of a model of these kinds, whose descriptions must have one name.

    Those of the package are read once, others every time.
    """
    folder = find_model(model, *kinds)
    return (_read_once if folder.parent in _homes() else _read)(folder, kinds[0])


def _read(folder: Path, kind: Kind) -> ModelFiles:
    try:
        contents = [(folder / name).read_bytes() for name in (DESCRIPTIONS[kind], WEIGHTS)]
    except OSError as error:
        raise FormatError(f"model {str(folder)!r} cannot be read: {error.strerror}") from None
    return ModelFiles(folder, *contents)


_read_once = cache(_read)
