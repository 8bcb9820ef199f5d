"""A policy's network as an ONNX file, for runtimes without torch.

    from deepsteiner.policy.kit.onnx_export import export_onnx
    export_onnx("mst-d1", "mst-d1.onnx")

`pip install onnx` first, and `onnxruntime` to run the file. It computes one step's distribution;
candidates and trees are up to the caller, and `geometry.candidates` says how they are made.

    inputs    points (B, M, 2), count (B,), candidates (B, C, 2), ends (B, C, 2), action_mask (B, C)
    output    log_probs (B, C), -inf off the mask

B, M and C are free. Networks without edge inputs do not look at `ends`.
"""

from __future__ import annotations

import io
import os
import warnings
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn

from ...core.errors import MissingDependencyError
from ...io.atomic import atomic_write
from .. import checkpoint
from ..candidates import Candidates
from ..environment import Environment
from ..network import Network

INPUTS = ("points", "count", "candidates", "ends", "action_mask")
OPSET = 18


class _Exported(nn.Module):
    """The network with plain tensors for arguments."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, points: Tensor, count: Tensor, candidates: Tensor, ends: Tensor, action_mask: Tensor
    ) -> Tensor:
        """Return the log-probabilities."""
        found: Tensor = self.network(points, count, Candidates(candidates, action_mask, ends))
        # Every input stays an input, whether or not this network looks at it.
        return found + 0.0 * ends.sum().to(found.dtype)


def export_onnx(model: str | os.PathLike[str], path: str | os.PathLike[str]) -> Path:
    """Write the network of a shipped model, or of a folder, as an ONNX file.

    Parameters
    ----------
    model : str or path
        A shipped model's name or the folder of one.
    path : str or path
        The file to write.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    FormatError
        If there is no such model.
    MissingDependencyError
        If onnx is not installed.
    """
    if find_spec("onnx") is None:
        raise MissingDependencyError("ONNX files need onnx: pip install 'deepsteiner[research]'")
    network, meta = checkpoint.load(model)
    rules = Environment(checkpoint.candidate_spec(meta))
    # Two instances of different sizes: nothing may be taken for constant.
    state = rules.reset(torch.rand((2, 6, 2)), torch.tensor([6, 5]))
    found = rules.candidates(state)
    given = (state.points[:, :6], state.count, found.points, found.ends, found.mask)
    axes = {name: {0: "batch", 1: "room"} for name in ("points", "count")}
    axes["count"] = {0: "batch"}
    axes |= {name: {0: "batch", 1: "actions"} for name in (*INPUTS[2:], "log_probs")}
    target = Path(path)
    content = io.BytesIO()
    with warnings.catch_warnings():
        # The exporter that needs no further package speaks of its successor, and of branches on
        # shapes that are the same for all inputs.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Exported(network).eval(),
            given,
            content,  # type: ignore[arg-type]
            input_names=list(INPUTS),
            output_names=["log_probs"],
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )
    with atomic_write(target, "wb") as stream:
        stream.write(content.getvalue())
    return target
