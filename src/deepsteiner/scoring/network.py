"""The network behind `neural` in torch: for training, and as the twin of the numba inference.

One node for every full Steiner tree of a list, one state of WIDTH numbers for each; see
`scoring.network_kernels` for features, relations and the rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from ..core.points import Array

FEATURES, RELATIONS, WIDTH, ROUNDS = 17, 5, 16, 2
# A link of the kernels is its tree times this, plus the relation.
STRIDE = 8
# Sums over neighbours start small, so that early training is calm.
CALM = 0.2


@dataclass(frozen=True)
class ListGraph:
    """Lists as one graph: features, links (source, RELATIONS * target + relation), labels."""

    features: Tensor
    source: Tensor
    cell: Tensor
    labels: Tensor


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

    def forward(self, graph: ListGraph) -> Tensor:
        """Return one logit for each tree."""
        state = torch.relu(self.input(graph.features))
        cells = len(state) * RELATIONS
        for own, message in zip(self.own, self.message, strict=True):
            sums = state.new_zeros(cells, WIDTH).index_add_(0, graph.cell, state[graph.source])
            state = torch.relu(own(state) + message(sums.view(len(state), -1)))
        return cast(Tensor, self.output(state)[:, 0])


def as_graph(rows: Array, begin: Array, links: Array, labels: Array | None = None) -> ListGraph:
    """Return a list described by the kernels as a graph; without labels, all are zero."""
    target = np.repeat(np.arange(len(rows)), np.diff(begin))
    source, relation = np.divmod(links, STRIDE)
    given = np.zeros(len(rows)) if labels is None else labels
    return ListGraph(
        torch.as_tensor(rows, dtype=torch.float32),
        torch.as_tensor(source),
        torch.as_tensor(RELATIONS * target + relation),
        torch.as_tensor(given, dtype=torch.float32),
    )
