"""What a model's folder holds: weights, description and card, written whole and read strictly.

weights.safetensors   the tensors, nothing else; never a pickle
*.json                the description: format version, network, training command, seed, ...
card.md               for people: data, metrics, limits
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..core.errors import FormatError
from ..core.models import CARD, DESCRIPTIONS, WEIGHTS, Kind, ModelFiles
from .atomic import atomic_write

FORMAT = 1
# How files begin that Python's pickle or torch's older `save` wrote.
_PICKLES = (b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


def write_model(
    folder: Path, kind: Kind, weights: bytes, facts: Mapping[str, Any], card: str
) -> None:
    """Write a model's folder; each of its files appears whole or not at all.

    Parameters
    ----------
    folder : Path
        Where to write; it is made if it does not exist.
    kind : {"neural", "policy", "tour"}
        The kind of model, which names the description.
    weights : bytes
        The tensors in the format of safetensors.
    facts : mapping
        What the description says besides the format; JSON-able.
    card : str
        The text of the card.
    """
    folder.mkdir(parents=True, exist_ok=True)
    description = json.dumps({**facts, "format": FORMAT}, indent=2) + "\n"
    contents = {WEIGHTS: weights, DESCRIPTIONS[kind]: description.encode(), CARD: card.encode()}
    for name, content in contents.items():
        with atomic_write(folder / name, "wb") as stream:
            stream.write(content)


def read_description(files: ModelFiles, kind: Kind) -> dict[str, Any]:
    """Return a model's description.

    Raises
    ------
    FormatError
        If it is not JSON, names no format, or has one that is newer than this version.
    """
    path = files.folder / DESCRIPTIONS[kind]
    try:
        facts = json.loads(files.description)
    except (ValueError, RecursionError):
        raise FormatError(f"{path} is not readable JSON") from None
    version = facts.get("format") if isinstance(facts, dict) else None
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FormatError(f"{path} does not describe a model: it names no format")
    if version > FORMAT:
        raise FormatError(
            f"model {files.folder.name!r} has format {version}; this version of deepsteiner reads "
            f"formats up to {FORMAT}, so a newer one is needed"
        )
    return dict(facts)


def read_tensors(files: ModelFiles, load: Callable[[bytes], dict[str, Any]]) -> dict[str, Any]:
    """Return a model's weights by name, whatever its network is.

    Parameters
    ----------
    files : ModelFiles
        The files of the model.
    load : callable
        The reader of safetensors: numpy's or torch's.

    Raises
    ------
    FormatError
        If the file is a pickle, which is never loaded, or damaged.
    """
    from safetensors import SafetensorError

    path = files.folder / WEIGHTS
    try:
        return load(files.weights)
    except (SafetensorError, ValueError, KeyError):
        # Only now: the size of its header can make a good file begin as a pickle does.
        if files.weights.startswith(_PICKLES):
            raise FormatError(
                f"{path} is a pickle, not a safetensors file; it is not loaded"
            ) from None
        raise FormatError(
            f"{path} is damaged or cut off: it is no complete safetensors file"
        ) from None


def check_tensors(
    files: ModelFiles, kind: Kind, tensors: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Refuse tensors, numpy's or torch's, that are not those of a network with these shapes.

    Raises
    ------
    FormatError
        If a tensor is missing, has another shape, is not part of the network, or is not finite.
    """
    problems = [f"{name} is missing" for name in shapes if name not in tensors]
    for name, value in tensors.items():
        if name not in shapes:
            problems.append(f"{name} is not part of the network")
        elif tuple(value.shape) != shapes[name]:
            problems.append(f"{name} has shape {tuple(value.shape)} instead of {shapes[name]}")
        elif not bool((abs(value) < math.inf).all()):
            problems.append(f"{name} holds values that are not finite")
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise FormatError(
            f"model {files.folder.name!r}: the weights do not fit the network that "
            f"{DESCRIPTIONS[kind]} describes: {problems[0]}{more}"
        )
