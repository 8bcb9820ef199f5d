"""The attention model for tours (Kool, van Hoof and Welling 2019), on which training can start.

Its encoder is that of the policy network, with fewer layers; so are the decoder's projections,
under the names of the released decoder. Sampling a tour needs one decoder step after the other,
but its likelihood does not: once the tour is known, all steps are scored at once. So only the
cheap scoring is differentiated.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..network import CLIP, Encoder, ReleasedDecoder, at_least_32
from ..sampling import choose
from ..settings import NetworkConfig


class Prepared(NamedTuple):
    """What is the same in every step of a tour, of embeddings (B, n, d).

    `graph` (B, d) is the query's part from all cities; `key` and `value` (B, heads, n, d / heads)
    serve the glimpse, `target` (B, n, d) the final comparison. `first` and `last` (B, n, d) are
    the query's parts from a city at the beginning and at the end of the tour.
    """

    graph: Tensor
    key: Tensor
    value: Tensor
    target: Tensor
    first: Tensor
    last: Tensor


class TourDecoder(ReleasedDecoder):
    """Scores the next city, seen from the graph, the first and the last city of the tour."""

    def __init__(self, config: NetworkConfig, clip: float) -> None:
        super().__init__(config, clip)
        dim = config.dim
        self.project_ends = nn.Linear(dim, 2 * dim, bias=False)
        # What stands for the ends of a tour that has not begun.
        self.nowhere = nn.Parameter(torch.empty(dim).uniform_(-1.0, 1.0) / math.sqrt(dim))

    def prepare(self, nodes: Tensor) -> Prepared:
        """Compute what does not depend on the tour, from embeddings (B, n, d)."""
        key, value, target = self.project_nodes(nodes).chunk(3, dim=2)
        graph, ends = self.project_graph(nodes.mean(dim=1)), self.project_ends(nodes)
        return Prepared(graph, self.split(key), self.split(value), target, *ends.chunk(2, dim=2))

    def forward(self, fixed: Prepared, ends: Tensor, open_cities: Tensor) -> Tensor:  # type: ignore[override]
        """Return (B, S, n) log-probabilities of the next city for S situations of each instance.

        `ends` (B, S, d) describes the ends of each tour, `open_cities` (B, S, n) marks the cities
        that it has not seen.
        """
        query = fixed.graph[:, None] + ends
        wanted = self.glimpse(query, fixed.key, fixed.value, open_cities[:, None])
        match = torch.bmm(wanted, fixed.target.transpose(1, 2)) / math.sqrt(ends.shape[2])
        logits = self.clip * torch.tanh(at_least_32(match))
        return logits.masked_fill(~open_cities, -torch.inf).log_softmax(dim=2)


class TourModel(nn.Module):
    """Encoder and decoder for tours of points in the unit square."""

    def __init__(self, config: NetworkConfig, clip: float = CLIP) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Linear(2, config.dim)
        self.encoder = Encoder(config)
        self.decoder = TourDecoder(config, clip)

    def encode(self, points: Tensor) -> Prepared:
        """Embed the cities (B, n, 2)."""
        nodes: Tensor = self.encoder(self.embed(points.to(self.embed.weight.dtype)))
        return self.decoder.prepare(nodes)

    @torch.no_grad()
    def tours(self, fixed: Prepared, draws: Tensor | None = None) -> Tensor:
        """Return tours (B, n): the likeliest city at every step, or the one `draws` fall on."""
        batch, number, _ = fixed.target.shape
        open_cities = torch.ones((batch, 1, number), dtype=torch.bool, device=fixed.target.device)
        ends = self.decoder.nowhere.expand(batch, 1, -1)
        taken: list[Tensor] = []
        first = ends
        for step in range(number):
            log_probs = self.decoder(fixed, ends, open_cities)[:, 0]
            city = choose(log_probs, None if draws is None else draws[:, step])
            taken.append(city)
            open_cities = open_cities.scatter(2, city[:, None, None], False)
            if step == 0:
                first = _rows(fixed.first, city[:, None])
            ends = first + _rows(fixed.last, city[:, None])
        return torch.stack(taken, dim=1)

    def likelihood(self, fixed: Prepared, tours: Tensor) -> Tensor:
        """Return (B,): the log-likelihood of whole tours, all steps at once."""
        batch, number = tours.shape
        place = tours.argsort(dim=1)
        steps = torch.arange(number, device=tours.device)
        open_cities = place[:, None, :] >= steps[:, None]
        begun = _rows(fixed.first, tours[:, :1]) + _rows(fixed.last, tours[:, :-1])
        nowhere = self.decoder.nowhere.to(begun.dtype).expand(batch, 1, -1)
        log_probs = self.decoder(fixed, torch.cat((nowhere, begun), dim=1), open_cities)
        taken: Tensor = log_probs.gather(2, tours[:, :, None])[:, :, 0]
        return taken.sum(dim=1)


def tour_lengths(points: Tensor, tours: Tensor) -> Tensor:
    """Return (B,): the lengths of closed tours over points (B, n, 2)."""
    ordered = _rows(points, tours)
    return (ordered - ordered.roll(-1, dims=1)).square().sum(dim=2).sqrt().sum(dim=1)


def _rows(table: Tensor, index: Tensor) -> Tensor:
    return table.gather(1, index[:, :, None].expand(-1, -1, table.shape[2]))
