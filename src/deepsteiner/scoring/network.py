"""The network behind `neural` in torch: for training, and for inference on an accelerator.

One node for every full Steiner tree of a list, one state of WIDTH numbers for each; see
`scoring.network_kernels` for features, relations and the rounds, and for the numba inference, whose
twin this is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from .network_kernels import FEATURES, RELATIONS, STRIDE, Described
from .vector_kernels import WIDTH
from .weights import Weights

ROUNDS = 2
# Sums over neighbours start small, so that early training is calm.
CALM = 0.2
# Links whose states are looked up at once, at 64 bytes each.
LINKS_AT_ONCE = 1 << 27


@dataclass(frozen=True)
class ListGraph:
    """Lists of full Steiner trees as one graph, on torch's device.

    features: (m, FEATURES).
    source: the tree that is heard over each link; links stand by listener and relation.
    offsets: where the links of each listener and relation begin, RELATIONS * m + 1 numbers.
    slices: the first and last listener, and the first and last link, of what is summed at once.
    """

    features: Tensor
    source: Tensor
    offsets: Tensor
    slices: list[tuple[int, int, int, int]]

    @classmethod
    def of(
        cls, list_: Described, device: torch.device | None = None, at_once: int = LINKS_AT_ONCE
    ) -> ListGraph:
        """Return a list that the kernels described as a graph."""
        rows, begin, links = list_
        count = len(rows)
        link = torch.as_tensor(links, device=device)
        degree = torch.as_tensor(np.diff(begin), device=device)
        listener = torch.repeat_interleave(torch.arange(count, device=device), degree)
        cell, order = torch.sort(RELATIONS * listener + link % STRIDE, stable=True)
        source = torch.div(link, STRIDE, rounding_mode="floor")[order]
        offsets = torch.searchsorted(cell, torch.arange(RELATIONS * count + 1, device=device))
        # A slice begins where the next `at_once` links do.
        ends = np.searchsorted(begin, np.arange(0, begin[-1], at_once)).tolist()
        slices = [
            (first, last, int(begin[first]), int(begin[last]))
            for first, last in pairwise(sorted({0, *ends, count}))
        ]
        return cls(torch.as_tensor(rows, device=device), source, offsets, slices)


class ListNetwork(nn.Module):
    """Scores the full Steiner trees of a list."""

    def __init__(self, rounds: int = ROUNDS) -> None:
        super().__init__()
        self.input = nn.Linear(FEATURES, WIDTH)
        self.own = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(rounds))
        self.message = nn.ModuleList(
            nn.Linear(RELATIONS * WIDTH, WIDTH, bias=False) for _ in range(rounds)
        )
        self.output = nn.Linear(WIDTH, 1)
        with torch.no_grad():
            for layer in self.message:
                cast(nn.Linear, layer).weight.mul_(CALM)

    @classmethod
    def of(cls, weights: Weights) -> ListNetwork:
        """Return the network with the weights that the kernels take."""
        with torch.device("meta"):  # nothing is drawn
            network = cls(len(weights.own))
        given = {
            "input.weight": weights.input.T,
            "input.bias": weights.input_bias,
            "output.weight": weights.output[None],
            "output.bias": weights.output_bias,
        }
        for k in range(len(weights.own)):
            given[f"own.{k}.weight"] = weights.own[k].T
            given[f"own.{k}.bias"] = weights.own_bias[k]
            given[f"message.{k}.weight"] = weights.message[k].T
        tensors = {name: torch.tensor(value) for name, value in given.items()}
        network.load_state_dict(tensors, assign=True)
        return network

    def forward(self, graph: ListGraph) -> Tensor:
        """Return one logit for each tree.

        Sums over neighbours are made link by link in a fixed order, so that the same call gives the
        same logits on every device.
        """
        state = torch.relu(self.input(graph.features))
        for own, message in zip(self.own, self.message, strict=True):
            told = [message(_heard(graph, state, *one)) for one in graph.slices]
            state = torch.relu(own(state) + torch.cat(told))
        return cast(Tensor, self.output(state)[:, 0])


def _heard(graph: ListGraph, state: Tensor, first: int, last: int, low: int, high: int) -> Tensor:
    """Return the sums of the states that listeners first..last-1 hear, by relation."""
    offsets = graph.offsets[RELATIONS * first : RELATIONS * last + 1] - low
    told = state[graph.source[low:high]]
    sums = torch.segment_reduce(told, "sum", offsets=offsets, axis=0, initial=0.0)
    return sums.reshape(last - first, -1)
