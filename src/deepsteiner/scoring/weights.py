"""The weights of the network behind `neural`, as its kernels take them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..core.errors import FormatError
from ..core.models import DESCRIPTIONS, ModelFiles, read_model
from ..core.points import Array
from ..core.scalars import as_whole
from ..io.model_folders import check_tensors, read_description, read_tensors


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
    """Return the weights of a shipped model or of a folder.

    Raises
    ------
    FormatError
        If there is no such model, or its files are damaged or do not fit each other.

    Examples
    --------
    >>> weights = load_weights()
    >>> weights.input.shape, len(weights.own)
    ((17, 16), 2)
    """
    return _built(read_model(model, "neural"))


@lru_cache(maxsize=4)
def _built(files: ModelFiles) -> Weights:
    """Arrange the weights once for each content of a model's files."""
    from safetensors.numpy import load

    from .network_kernels import FEATURES, RELATIONS
    from .vector_kernels import WIDTH

    rounds = as_whole(read_description(files, "neural").get("rounds"))
    if rounds is None or rounds < 0:
        name = files.folder / DESCRIPTIONS["neural"]
        raise FormatError(f"{name} does not describe a model of method 'neural': it has no rounds")
    shapes: dict[str, tuple[int, ...]] = {
        "input.weight": (WIDTH, FEATURES),
        "input.bias": (WIDTH,),
        "output.weight": (1, WIDTH),
        "output.bias": (1,),
    }
    for k in range(rounds):
        shapes[f"own.{k}.weight"], shapes[f"own.{k}.bias"] = (WIDTH, WIDTH), (WIDTH,)
        shapes[f"message.{k}.weight"] = (WIDTH, RELATIONS * WIDTH)
    tensors = read_tensors(files, load)
    check_tensors(files, "neural", tensors, shapes)

    def stacked(part: str, kind: str, *shape: int) -> Array:
        """Return a part of all rounds, of which there may be none, with rows behind each other."""
        each = [tensors[f"{part}.{k}.{kind}"].T for k in range(rounds)]
        return np.array(each, dtype=np.float32).reshape(rounds, *shape)

    return Weights(
        np.array(tensors["input.weight"].T, np.float32, order="C"),
        tensors["input.bias"].astype(np.float32),
        stacked("own", "weight", WIDTH, WIDTH),
        stacked("own", "bias", WIDTH),
        stacked("message", "weight", RELATIONS * WIDTH, WIDTH),
        tensors["output.weight"][0].astype(np.float32),
        tensors["output.bias"].astype(np.float32),
    )
