"""The weights of the network behind `neural`, as its kernels take them."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core.errors import FormatError
from ..core.models import DESCRIPTIONS, WEIGHTS, ModelFiles, read_model
from ..core.points import Array

FORMAT = 1


class Weights(NamedTuple):
    """The network's biases, and its matrices as a row of features or states is multiplied by them.

    input, input_bias: features to states.
    own, own_bias, message: the update in a round, one behind the other; a model may have no rounds.
    output, output_bias: states to logits.
    """

    input: Array
    input_bias: Array
    own: Array
    own_bias: Array
    message: Array
    output: Array
    output_bias: Array


def load_weights(model: str = "neural") -> Weights:
    """Return the weights of a shipped model or of a folder."""
    return _built(read_model(model, "neural"))


@lru_cache(maxsize=4)
def _built(files: ModelFiles) -> Weights:
    """Arrange the weights once for each content of a model's files."""
    from .network_kernels import RELATIONS
    from .vector_kernels import WIDTH

    path, rounds, tensors = files.folder, _rounds(files), _tensors(files)

    def each(name: str) -> list[Array]:
        part, kind = name.split(".")
        return [tensors[f"{part}.{k}.{kind}"].T for k in range(rounds)]

    try:
        weights = Weights(
            np.ascontiguousarray(tensors["input.weight"].T),
            tensors["input.bias"],
            _stacked(each("own.weight"), (WIDTH, WIDTH)),
            _stacked(each("own.bias"), (WIDTH,)),
            _stacked(each("message.weight"), (RELATIONS * WIDTH, WIDTH)),
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

    rounds = len(weights.own)
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
