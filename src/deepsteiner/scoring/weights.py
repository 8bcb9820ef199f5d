"""The weights of the network behind `neural`, as its kernels take them."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..core.errors import FormatError
from ..core.models import DESCRIPTIONS, WEIGHTS, ModelFiles, read_model
from ..core.points import Array

FORMAT = 1

Weights = tuple[Array, Array, Array, Array, Array, Array, Array]


def load_weights(model: str = "neural") -> Weights:
    """Return (input, bias, own, bias, message, output, bias) of a shipped model or of a folder.

    The rounds' matrices stand behind each other in three-dimensional arrays; a model may have none.
    """
    return _built(read_model(model, "neural"))


@lru_cache(maxsize=4)
def _built(files: ModelFiles) -> Weights:
    """Arrange the weights once for each content of a model's files."""
    from .network_kernels import RELATIONS
    from .vector_kernels import WIDTH

    path = files.folder
    rounds = _rounds(files)
    tensors = _tensors(files)
    try:
        each = [
            [tensors[f"{part}.{k}.{kind}"] for k in range(rounds)]
            for part, kind in (("own", "weight"), ("own", "bias"), ("message", "weight"))
        ]
        weights = (
            np.ascontiguousarray(tensors["input.weight"].T),
            tensors["input.bias"],
            _stacked([one.T for one in each[0]], (WIDTH, WIDTH)),
            _stacked(each[1], (WIDTH,)),
            _stacked([one.T for one in each[2]], (RELATIONS * WIDTH, WIDTH)),
            np.ascontiguousarray(tensors["output.weight"][0]),
            tensors["output.bias"],
        )
    except (KeyError, ValueError) as error:
        raise FormatError(f"model {str(path)!r}: the weights do not fit ({error})") from None
    _check(path, weights)
    return weights


def _stacked(rounds: list[Array], shape: tuple[int, ...]) -> Array:
    """Return the rounds' arrays behind each other, also where there are none.

    `np.stack` keeps the order of transposed arrays; vector sums need rows behind each other.
    """
    if not rounds:
        return np.zeros((0, *shape), dtype=np.float32)
    return np.ascontiguousarray(np.stack(rounds))


def _rounds(files: ModelFiles) -> int:
    """Return the number of rounds that a model's description gives."""
    name = str(files.folder / DESCRIPTIONS["neural"])
    try:
        facts = json.loads(files.description)
        version, rounds = facts["format"], int(facts["rounds"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FormatError(f"{name} does not describe a model of method 'neural'") from None
    if version != FORMAT or rounds < 0:
        raise FormatError(f"{name} has format {version}; this version reads {FORMAT}")
    return rounds


def _tensors(files: ModelFiles) -> dict[str, Array]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return {name: value.astype(np.float32) for name, value in load(files.weights).items()}
    except (SafetensorError, ValueError, KeyError):
        path = files.folder / WEIGHTS
        raise FormatError(f"{path} is damaged: it is no safetensors file") from None


def _check(path: Path, weights: Weights) -> None:
    from .network_kernels import FEATURES, RELATIONS
    from .vector_kernels import WIDTH

    rounds = weights[2].shape[0]
    shapes = (
        (FEATURES, WIDTH),
        (WIDTH,),
        (rounds, WIDTH, WIDTH),
        (rounds, WIDTH),
        (rounds, RELATIONS * WIDTH, WIDTH),
        (WIDTH,),
        (1,),
    )
    for value, shape in zip(weights, shapes, strict=True):
        if value.shape != shape or not np.isfinite(value).all():
            raise FormatError(
                f"model {str(path)!r}: an array of shape {value.shape} should have {shape} and "
                "finite values"
            )
