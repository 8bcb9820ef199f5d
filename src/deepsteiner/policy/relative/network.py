"""The relative network: `network.kind = "relative"`.

What a candidate saves does not change when the instance is moved, turned, mirrored or scaled, so
the network sees lengths only (`features`). `layers` layers of attention embed the current points,
as many again let every candidate attend to them. Candidates do not see each other: memory is
linear in their number. From every pair of a candidate and a point come a bias for each head and a
part of what is attended to. The output is an estimate of what each candidate is worth; the policy
is the softmax of these estimates, as shares of the largest, times a learned sharpness.

`norm` is as in the paper's network; `inputs` and `decoder` have no meaning here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..candidates import Candidates
from ..network import HIDDEN_LOGIT, Network, Pause, at_least_32, make_norm, whole_precision
from ..settings import NetworkConfig
from .features import CANDIDATE, PAIR, POINT, Tree, candidate_features, measure, point_features

# About how wide the embedding of a pair is: as many numbers for every head.
_PAIR_WIDTH = 32
# Pairs that are worked on between two pauses, where a caller wants some.
_PIECE = 1 << 16
# The sharpness to begin with is exp(2.3), about 10.
_SHARPNESS = 2.3
_LEAST_WORTH = 1e-3
# About what is saved by a good candidate, as a share of its edge.
_USUAL_SHARE = 0.1


class Attention(nn.Module):
    """Attention to the points, with a bias and a share of the values from every pair."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.heads, width = config.heads, _pair_width(config)
        self.query = nn.Linear(config.dim, config.dim, bias=False)
        self.key_value = nn.Linear(config.dim, 2 * config.dim, bias=False)
        self.bias = nn.Linear(width, config.heads)
        self.out_values = nn.Linear(config.dim, config.dim, bias=False)
        self.out_pairs = nn.Linear(width, config.dim, bias=False)

    def forward(self, tokens: Tensor, points: Tensor, pairs: Tensor, tree: Tree) -> Tensor:
        """Return what tokens (B, T, d) find among points (B, M, d), given pairs (B, T, M, w)."""
        batch, number, dim = tokens.shape
        size, head = points.shape[1], dim // self.heads
        query = self.query(tokens).view(batch, number, self.heads, head).transpose(1, 2)
        both = self.key_value(points).view(batch, size, 2, self.heads, head)
        key, value = both.permute(2, 0, 3, 1, 4)
        logits = query @ key.transpose(2, 3) * head**-0.5
        logits = logits + self.bias(pairs).permute(0, 3, 1, 2)
        if tree.hidden is not None:
            logits = logits + tree.hidden.to(logits.dtype)
        weights = logits.softmax(dim=3).to(value.dtype)
        found = (weights @ value).transpose(1, 2).reshape(batch, number, dim)
        # A few numbers of each pair belong to every head.
        own = pairs.view(batch, number, size, self.heads, -1)
        seen = (own * weights.permute(0, 2, 3, 1)[..., None]).sum(dim=2).flatten(2)
        result: Tensor = self.out_values(found) + self.out_pairs(seen)
        return result


class Layer(nn.Module):
    """Attention to the points and a feed-forward block, each added to its input and normalised."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.norm_attention = make_norm(config)
        self.ff_in = nn.Linear(config.dim, config.ff)
        self.ff_out = nn.Linear(config.ff, config.dim)
        self.norm_ff = make_norm(config)

    def forward(
        self, tokens: Tensor, points: Tensor, pairs: Tensor, tree: Tree, counted: Tensor | None
    ) -> Tensor:
        """Return the next embeddings of tokens (B, T, d)."""
        attended = self.attention(tokens, points, pairs, tree)
        tokens = self.norm_attention(tokens + attended, counted)
        forward = self.ff_out(functional.relu(self.ff_in(tokens), inplace=True))
        result: Tensor = self.norm_ff(tokens + forward, counted)
        return result


class Pairs(nn.Module):
    """Embeds pairs."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        width = _pair_width(config)
        self.first, self.second = nn.Linear(PAIR, width), nn.Linear(width, width)

    def forward(self, features: Tensor) -> Tensor:
        """Return (..., w) for features (..., PAIR), whose digits count in the first layer."""
        with whole_precision(features):
            hidden = functional.relu(self.first(features.to(self.first.weight.dtype)))
        return functional.relu(self.second(hidden))


class RelativePolicy(Network):
    """The distribution over candidates, from lengths alone.

    Examples
    --------
    >>> from deepsteiner.policy.environment import Environment
    >>> rules = Environment()
    >>> state = rules.reset(torch.rand(2, 5, 2))
    >>> found = rules.candidates(state)
    >>> policy = RelativePolicy(NetworkConfig("relative", layers=1, dim=8, heads=2, ff=8))
    >>> policy(state.points[:, :5], state.count, found).exp().sum(dim=1).round(decimals=4).tolist()
    [1.0, 1.0]
    """

    def __init__(self, config: NetworkConfig | None = None) -> None:
        super().__init__(config)
        dim, width = self.config.dim, _pair_width(self.config)
        self.embed_point = nn.Linear(POINT, dim)
        self.embed_candidate = nn.Linear(CANDIDATE + 2 * width, dim)
        self.point_pairs, self.candidate_pairs = Pairs(self.config), Pairs(self.config)
        number = range(self.config.layers)
        self.point_layers = nn.ModuleList(Layer(self.config) for _ in number)
        self.candidate_layers = nn.ModuleList(Layer(self.config) for _ in number)
        last = nn.Linear(dim, 1)
        # To begin with, longer edges promise more, and nothing else is known.
        nn.init.normal_(last.weight, std=0.1 * dim**-0.5)
        nn.init.zeros_(last.bias)
        self.worth = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), last)
        self.sharpness = nn.Parameter(torch.tensor(_SHARPNESS))

    def forward(
        self, points: Tensor, count: Tensor, candidates: Candidates, pause: Pause | None = None
    ) -> Tensor:
        """Return log-probabilities (B, C), -inf where there is no candidate.

        `points` (B, M, 2) holds `count` points a row. Where `candidates.full`, rows are trusted
        to have no padding. `pause` is called now and then; it may raise an exception.
        """
        with torch.no_grad(), whole_precision(points):
            tree = measure(points, count, candidates.full)
        tokens = self._embed_points(tree, pause)
        parts = _parts(candidates, tree.real.numel(), pause)
        worth = [self._estimate(points, part, tree, tokens) for part in parts]
        return self._likelihood(torch.cat(worth, dim=1) if len(worth) > 1 else worth[0], candidates)

    def _embed_points(self, tree: Tree, pause: Pause | None) -> Tensor:
        with torch.no_grad(), whole_precision(tree.distance):
            features, own = point_features(tree)
        pieces = _pieces(features.shape[1], tree.real.numel(), pause)
        pairs = [self.point_pairs(features[:, some]) for some in pieces]
        with whole_precision(own):
            tokens: Tensor = self.embed_point(own.to(self.embed_point.weight.dtype))
        counted = self._counted(tree.real)
        for layer in self.point_layers:
            pieces = _pieces(features.shape[1], tree.real.numel(), pause)
            found = [
                layer(tokens[:, some], tokens, known, tree, counted)
                for some, known in zip(pieces, pairs, strict=True)
            ]
            tokens = torch.cat(found, dim=1) if len(found) > 1 else found[0]
        return tokens

    def _estimate(
        self, points: Tensor, candidates: Candidates, tree: Tree, tokens: Tensor
    ) -> Tensor:
        """Return what each candidate is worth (B, C), in units of the tree."""
        with torch.no_grad(), whole_precision(points):
            features, own, scale = candidate_features(points, candidates, tree)
        pairs = self.candidate_pairs(features)
        shown = pairs
        if tree.hidden is not None:
            shown = pairs * tree.real[:, None, :, None].to(pairs.dtype)
        with whole_precision(points):
            most = at_least_32(shown.amax(dim=2))
            every = at_least_32(shown).sum(dim=2)
            facts = torch.cat((own.to(most.dtype), most, every), dim=2)
            seen: Tensor = self.embed_candidate(facts.to(self.embed_candidate.weight.dtype))
        for layer in self.candidate_layers:
            seen = layer(seen, tokens, pairs, tree, self._counted(candidates.mask))
        with whole_precision(points):
            more: Tensor = self.worth(at_least_32(seen))[:, :, 0]
            return _USUAL_SHARE * (1.0 + more) * scale.to(more.dtype)

    def _likelihood(self, worth: Tensor, candidates: Candidates) -> Tensor:
        with whole_precision(worth):
            mask = candidates.mask
            if not candidates.full:
                worth = worth.masked_fill(~mask, -1.0)
            best = worth.amax(dim=1, keepdim=True).clamp(min=_LEAST_WORTH)
            logits = self.sharpness.exp() * worth / best
            if candidates.full:
                return logits.log_softmax(dim=1)
            likelihood = logits.masked_fill(~mask, HIDDEN_LOGIT).log_softmax(dim=1)
            return likelihood.masked_fill(~mask, -torch.inf)

    def _counted(self, mask: Tensor) -> Tensor | None:
        """Return the mask of the tokens that make the statistics of a batch, None without them."""
        return mask if self.training and self.config.norm == "batch" else None


def _parts(candidates: Candidates, points: int, pause: Pause | None) -> Iterator[Candidates]:
    """Yield all candidates at once, or in parts with a pause before each."""
    for some in _pieces(candidates.points.shape[1], points, pause):
        yield replace(
            candidates,
            points=candidates.points[:, some],
            mask=candidates.mask[:, some],
            ends=candidates.ends[:, some],
        )


def _pieces(number: int, points: int, pause: Pause | None) -> Iterator[slice]:
    """Yield slices of so many things, each of which is paired with points, with pauses."""
    if pause is None:
        yield slice(None)
        return
    rows = max(1, _PIECE // max(1, points))
    for start in range(0, number, rows):
        pause()
        yield slice(start, start + rows)


def _pair_width(config: NetworkConfig) -> int:
    return config.heads * max(1, _PAIR_WIDTH // config.heads)
