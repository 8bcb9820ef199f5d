"""The policy network of the paper: an attention encoder over points and candidates, and a decoder.

All current points and all candidates become tokens; `layers` layers of attention and feed-forward
blocks, each with a residual connection and a normalisation, embed them. The paper's decoder
compares every candidate with the mean over the current points. Options:

    norm      "batch" (the paper) or "layer"
    inputs    "raw" (the paper: bare coordinates) or "edge": a candidate also carries its offset
              from the middle of the edge it came from, and that edge's vector
    decoder   "paper", or "released": as the authors' programs have it, the mean over all tokens,
              one more attention step from it to the candidates, and tanh clipping at 10

Padding takes no part in anything: not in attention, not in means, not in the statistics of the
batch normalisation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from .candidates import Candidates, pair_ends
from .kit.registries import DECODERS, NETWORKS
from .settings import NetworkConfig
from .training.group import SumOverProcesses

CLIP = 10.0  # the released decoder's logits lie within this
# What stands for the logit of a candidate that is not there: no chance, yet finite, so that rows
# without any candidate give no NaN.
HIDDEN_LOGIT = -1e9
# Pairs of tokens that attention works on between two pauses, where a caller wants pauses.
_PIECE = 1 << 20

Pause = Callable[[], None]


class View(NamedTuple):
    """Which tokens (B, T) of a batch are real, for whom that matters.

    counted: (B, T) marks the tokens that make the statistics; None for all.
    visible: (B, 1, 1, T) marks those that may be attended to; None for all.
    pause: called every now and then.
    """

    counted: Tensor | None = None
    visible: Tensor | None = None
    pause: Pause | None = None


EVERYTHING = View()


class MaskedBatchNorm(nn.BatchNorm1d):
    """Batch normalisation over the tokens (B, T, d) that the mask (B, T) marks.

    With `across_processes` set, the statistics are those of all processes' batches together.
    """

    across_processes: bool = False
    momentum: float
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Normalise every token; without a mask, all of them make the statistics."""
        flat = tokens.reshape(-1, tokens.shape[-1])
        if not self.training or (mask is None and not self.across_processes):
            return super().forward(flat).view(tokens.shape)
        mean, variance = self._statistics(at_least_32(flat), mask)
        scale = self.weight * torch.rsqrt(variance + self.eps)
        shift = self.bias - mean * scale
        return (flat * scale + shift).to(tokens.dtype).view(tokens.shape)

    def _statistics(self, flat: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        weight = flat.new_ones((len(flat), 1))
        if mask is not None:
            weight = mask.reshape(-1, 1).to(flat.dtype)
        # The running mean is a good centre: sums of squares around it lose no digits.
        centre = self.running_mean.to(flat.dtype).clone()
        centred = (flat - centre) * weight
        sums = torch.cat((centred.sum(dim=0), centred.square().sum(dim=0), weight.sum(dim=0)))
        if self.across_processes:
            sums = SumOverProcesses.apply(sums)  # type: ignore[no-untyped-call]
        width = flat.shape[1]
        number = sums[-1].clamp(min=1.0)
        offset = sums[:width] / number
        variance = (sums[width : 2 * width] / number - offset.square()).clamp(min=0.0)
        mean, unbiased = centre + offset, variance * number / (number - 1).clamp(min=1.0)
        # No tokens, no news: all games of a batch may have ended before its last step. A variance
        # of zero would then blow up what is left of them, layer by layer, to infinity.
        some = sums[-1:].detach() > 0
        variance = torch.where(some, variance, self.running_var.to(variance.dtype))
        news = some.to(self.running_mean.dtype)
        self.num_batches_tracked += news[0].to(self.num_batches_tracked.dtype)
        for kept, value in ((self.running_mean, mean), (self.running_var, unbiased)):
            kept.lerp_(value.detach().to(kept.dtype), self.momentum * news)
        return mean, variance


class TokenLayerNorm(nn.LayerNorm):
    """Layer normalisation with the call of MaskedBatchNorm."""

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Normalise every token by itself."""
        return super().forward(tokens)


def make_norm(config: NetworkConfig) -> nn.Module:
    """Return the normalisation that a configuration names."""
    if config.norm == "batch":
        return MaskedBatchNorm(config.dim)
    return TokenLayerNorm(config.dim)


class EncoderLayer(nn.Module):
    """Attention and feed-forward, each added to its input and normalised."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.project_qkv = nn.Linear(config.dim, 3 * config.dim, bias=False)
        self.project_out = nn.Linear(config.dim, config.dim, bias=False)
        self.norm_attention = make_norm(config)
        self.ff_in = nn.Linear(config.dim, config.ff)
        self.ff_out = nn.Linear(config.ff, config.dim)
        self.norm_ff = make_norm(config)

    def forward(self, tokens: Tensor, view: View) -> Tensor:
        """Return the next embeddings of tokens (B, T, d)."""
        batch, number, dim = tokens.shape
        qkv = self.project_qkv(tokens).view(batch, number, 3, self.heads, dim // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        heads = _attend(query, key, value, view)
        attended = self.project_out(heads.transpose(1, 2).reshape(batch, number, dim))
        tokens = self.norm_attention(tokens + attended, view.counted)
        forward = self.ff_out(functional.relu(self.ff_in(tokens), inplace=True))
        result: Tensor = self.norm_ff(tokens + forward, view.counted)
        return result


def _attend(query: Tensor, key: Tensor, value: Tensor, view: View) -> Tensor:
    """Return what every query finds, in pieces where there is to be a pause before each."""
    attend = partial(functional.scaled_dot_product_attention, attn_mask=view.visible)
    if view.pause is None:
        return attend(query, key, value)
    pieces = []
    rows = max(1, _PIECE // (key.shape[0] * key.shape[2]))
    for part in torch.split(query, rows, dim=2):
        view.pause()
        pieces.append(attend(part, key, value))
    return torch.cat(pieces, dim=2) if len(pieces) > 1 else pieces[0]


class Encoder(nn.Module):
    """A stack of layers; its parameters' names do not depend on how many there are."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))

    def forward(self, tokens: Tensor, view: View = EVERYTHING) -> Tensor:
        """Return the final embeddings of all tokens (B, T, d)."""
        for layer in self.layers:
            tokens = layer(tokens, view)
        return tokens


class Decoder(nn.Module, ABC):
    """Turns embeddings into logits; derive from it and register the class in `DECODERS`.

    `sees_all` says what the graph is: the mean over all tokens, or over the current points.
    """

    sees_all = False

    @abstractmethod
    def forward(self, graph: Tensor, nodes: Tensor, mask: Tensor | None) -> Tensor:
        """Return (B, C) logits for candidates (B, C, d) seen from the graph (B, d)."""


class PaperDecoder(Decoder):
    """Logits from one query (the graph) and one key per candidate, of a head's size."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        size = config.dim // config.heads
        self.project_graph = nn.Linear(config.dim, size, bias=False)
        self.project_nodes = nn.Linear(config.dim, size, bias=False)
        self.scale = 1.0 / math.sqrt(size)

    def forward(self, graph: Tensor, nodes: Tensor, mask: Tensor | None) -> Tensor:
        """Return (B, C) logits for candidates (B, C, d) seen from the graph (B, d)."""
        query, keys = self.project_graph(graph), self.project_nodes(nodes)
        return torch.bmm(keys, query[:, :, None])[:, :, 0] * self.scale


class ReleasedDecoder(Decoder):
    """A glimpse (attention from the graph to the candidates), then clipped logits from it."""

    sees_all = True

    def __init__(self, config: NetworkConfig, clip: float = CLIP) -> None:
        super().__init__()
        self.heads, self.clip, self.scale = config.heads, clip, 1.0 / math.sqrt(config.dim)
        self.project_graph = nn.Linear(config.dim, config.dim, bias=False)
        self.project_nodes = nn.Linear(config.dim, 3 * config.dim, bias=False)
        self.project_out = nn.Linear(config.dim, config.dim, bias=False)

    def forward(self, graph: Tensor, nodes: Tensor, mask: Tensor | None) -> Tensor:
        """Return (B, C) logits for candidates (B, C, d) seen from the graph (B, d)."""
        key, value, target = self.project_nodes(nodes).chunk(3, dim=2)
        hide = None if mask is None else _attendable(mask)
        query = self.project_graph(graph)[:, None]
        seen = self.glimpse(query, self.split(key), self.split(value), hide)
        return self.clip * torch.tanh(torch.bmm(target, seen.transpose(1, 2))[:, :, 0] * self.scale)

    def split(self, tokens: Tensor) -> Tensor:
        """Return tokens (B, T, d) by heads: (B, heads, T, d / heads)."""
        return tokens.reshape(*tokens.shape[:2], self.heads, -1).transpose(1, 2)

    def glimpse(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """Return what queries (B, S, d) find among split keys and values, as (B, S, d)."""
        query = self.split(query).to(key.dtype)
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        seen: Tensor = self.project_out(found.transpose(1, 2).flatten(2))
        return seen


class Network(nn.Module, ABC):
    """What every policy network is; derive from it and register the class in `NETWORKS`."""

    def __init__(self, config: NetworkConfig | None = None) -> None:
        super().__init__()
        self.config = config or NetworkConfig()

    @abstractmethod
    def forward(
        self, points: Tensor, count: Tensor, candidates: Candidates, pause: Pause | None = None
    ) -> Tensor:
        """Return log-probabilities (B, C) of the candidates, -inf off `candidates.mask`.

        `points` (B, M, 2) holds `count` points a row. `pause` may be called now and then.
        """


def build_network(config: NetworkConfig) -> Network:
    """Return the network that a configuration names, with random weights."""
    network: Network = NETWORKS[config.kind](config)
    return network


class Policy(Network):
    """The distribution over candidates, given the current points."""

    def __init__(self, config: NetworkConfig | None = None) -> None:
        super().__init__(config)
        dim = self.config.dim
        self.embed = nn.Linear(2, dim)
        self.embed_edge = nn.Linear(4, dim) if self.config.inputs == "edge" else None
        self.encoder = Encoder(self.config)
        self.decoder: Decoder = DECODERS[self.config.decoder](self.config)

    def forward(
        self, points: Tensor, count: Tensor, candidates: Candidates, pause: Pause | None = None
    ) -> Tensor:
        """Return log-probabilities (B, C), -inf where there is no candidate.

        `points` (B, M, 2) holds `count` points a row. Where `candidates.full`, the attention
        and the softmax trust that rows have no padding; rows with a count of 0 then get any
        finite values, and still take no part in the statistics. Where `candidates.dense` there
        are no such rows either. `pause` is called every now and then while a large instance is
        worked on; it may raise an exception to end that.
        """
        size = points.shape[1]
        tokens = self._embed(points, candidates)
        real = torch.arange(size, device=points.device) < count[:, None]
        mask = torch.cat((real, candidates.mask), dim=1)
        visible = None if candidates.full else _attendable(mask)
        tokens = self.encoder(tokens, View(self._counted(mask, candidates), visible, pause))
        nodes = tokens[:, size:]
        if self.decoder.sees_all:
            graph = _mean(tokens, mask, candidates.full)
        else:
            graph = _mean(tokens[:, :size], real, candidates.full)
        hide = None if candidates.full else candidates.mask
        with whole_precision(points):
            logits: Tensor = self.decoder(at_least_32(graph), at_least_32(nodes), hide)
        if hide is None:
            return logits.log_softmax(dim=1)
        likelihood = logits.masked_fill(~hide, HIDDEN_LOGIT).log_softmax(dim=1)
        return likelihood.masked_fill(~hide, -torch.inf)

    def _counted(self, mask: Tensor, candidates: Candidates) -> Tensor | None:
        """Return the mask of the tokens that make the statistics, None for all."""
        if not self.training or self.config.norm != "batch":
            return None
        if candidates.unasked:
            return mask
        if candidates.dense:
            return None
        # Asking the device costs less than statistics under a mask.
        return None if candidates.full and bool(mask.all()) else mask

    def _embed(self, points: Tensor, candidates: Candidates) -> Tensor:
        # Coordinates keep their digits: neighbouring candidates differ in the third.
        dtype, size = self.embed.weight.dtype, points.shape[1]
        with whole_precision(points):
            tokens: Tensor = self.embed(torch.cat((points, candidates.points), dim=1).to(dtype))
            if self.embed_edge is None:
                return tokens
            extra = self.embed_edge(edge_features(points, candidates).to(dtype))
        return torch.cat((tokens[:, :size], tokens[:, size:] + extra), dim=1)


def edge_features(points: Tensor, candidates: Candidates) -> Tensor:
    """Return (B, C, 4): offset from the middle of the candidate's edge, and the edge's vector.

    Candidates of no edge (a grid's) have zeros.
    """
    first, second = pair_ends(points, candidates.ends.clamp(min=0))
    features = torch.cat((candidates.points - 0.5 * (first + second), second - first), dim=2)
    return features.masked_fill(candidates.ends[:, :, :1] < 0, 0.0)


def whole_precision(tensor: Tensor) -> torch.autocast:
    """Return a context in which nothing on the device of a tensor is computed in 16 bits."""
    return torch.autocast(tensor.device.type, enabled=False)


def at_least_32(tensor: Tensor) -> Tensor:
    """Return a tensor of 16 bits as one of 32, others as they are."""
    return tensor.float() if tensor.dtype.itemsize < 4 else tensor


def _mean(tokens: Tensor, mask: Tensor, full: bool) -> Tensor:
    if full:
        return tokens.mean(dim=1)
    number = mask.sum(dim=1, keepdim=True).clamp(min=1)
    return (tokens * mask[:, :, None]).sum(dim=1) / number


def _attendable(mask: Tensor) -> Tensor:
    """Return the mask (B, 1, 1, T) for attention; a row without any token sees all of them."""
    return (mask | ~mask.any(dim=1, keepdim=True))[:, None, None]
