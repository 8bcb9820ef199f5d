"""Whole instances through a policy: into its box, decoded, and back as trees in the plane."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..core.device import Place
from ..core.errors import PointsError
from ..core.models import ModelFiles, read_model
from ..core.points import FloatArray
from ..core.trees import tree_length
from ..geometry.relaxation import refine, refine_batch
from ..geometry.spanning_trees import minimum_spanning_tree, mst_batch
from ..run.method import Batch, BatchTrees, Run, Tree, TreeRows, instance_seed
from ..run.monitor import Monitor
from . import decoding
from .checkpoint import build, candidate_spec
from .device import torch_device
from .environment import State
from .rollout import Player
from .settings import PlayOptions

# More tokens (points and candidates, at the last step) than this would take minutes a step.
TOKEN_LIMIT = 20_000
# Tokens that one pass of the network works on, by device: what keeps it busy, and fits.
TOKENS_AT_ONCE = {"cpu": 1 << 15, "cuda": 1 << 20}
# Instances inside the unit square with a longer side of at least this are seen as they are.
SMALLEST_SIDE = 0.5


class _OutOfTimeError(Exception):
    """Raised inside the network when time is up."""


def play_one(run: Run, options: PlayOptions) -> Tree:
    """Run the policy on one instance."""
    points, shift, unit = run.points[None], run.frame.shift[None], np.array([run.frame.unit])
    box = _Box.of(points, shift, unit, options.normalize)
    game = _game(points, box, [run.seed], options, run.device)
    start = game.player.rules.reset(game.points)
    state = _decode_watched(game, start, options, run.monitor)
    steps = int(state.steps[0])
    added = state.points[0, start.width : start.width + steps]
    steiner = box.back(added.cpu().numpy(), np.zeros(steps, dtype=np.int64))
    if run.trace is not None:
        run.trace.extend(_trace(game, start, added, run))
    nodes = np.concatenate((run.points, steiner))
    edges = minimum_spanning_tree(nodes)
    if options.refine:
        steiner, edges = refine(run.points, steiner, edges)
        nodes = np.concatenate((run.points, steiner))
    run.monitor.report("done", len(steiner), len(run.points) - 2, tree_length(nodes, edges))
    return Tree(steiner, edges, info={"model": options.model, "steps": steps})


def play_batch(batch: Batch, options: PlayOptions) -> BatchTrees:
    """Run the policy on many instances of one size."""
    count, n = batch.points.shape[:2]
    units = np.ldexp(1.0, -batch.exponents.astype(np.int32))
    box = _Box.of(batch.points, batch.shifts, units, options.normalize)
    game = _game(batch.points, box, batch.seeds.tolist(), options, batch.device)
    copies = {"greedy": 1, "sample": options.samples, "beam": options.beam}[options.decode]
    copies *= decoding.IMAGES if options.augment else 1
    rows = max(1, TOKENS_AT_ONCE[batch.device] // (_tokens(game.player, n) * copies))
    sizes, steiner = np.empty(count, dtype=np.int64), np.zeros((count, n, 2))
    for first in range(0, count, rows):
        some = slice(first, first + rows)
        start = game.player.rules.reset(game.points[some])
        state = _decode(game.player, start, options, game.seeds[some])
        sizes[some] = state.count.cpu().numpy()
        steiner[some, : n - 2] = state.points[:, n:].cpu().numpy()
    owner = np.repeat(np.arange(count), n)
    steiner = box.back(steiner.reshape(-1, 2), owner).reshape(count, n, 2)
    return _trees(batch.points, sizes, steiner, options.refine)


def _trees(points: FloatArray, sizes: Any, steiner: FloatArray, refined: bool) -> BatchTrees:
    """Build the spanning trees over terminals and Steiner points, grouped by size."""
    count, n = points.shape[:2]
    edges = np.zeros((count, 2 * n, 2), dtype=np.int64)
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        nodes = np.concatenate((points[rows], steiner[rows, : size - n]), axis=1)
        edges[rows, : size - 1] = mst_batch(nodes)
    packed = TreeRows(sizes, steiner, edges).packed(n)
    if not refined:
        return packed
    return BatchTrees(*refine_batch(points, packed.steiner_start, packed.steiner, packed.edges))


@dataclass(frozen=True)
class _Box:
    """The map from each instance's frame to the model's coordinates: (p - offset) * scale."""

    offset: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, points: FloatArray, shifts: FloatArray, units: FloatArray, normalize: bool) -> _Box:
        """Return the maps to the user's coordinates, or to the unit square where those are odd.

        `shifts` (B, 2) and `units` (B,) are those of the frames. In the second case the longer
        side fills the unit square and the shorter one is centred in it.
        """
        scale, offset = units, -shifts / units[:, None]
        if not normalize:
            return cls(offset, scale)
        low, high = points.min(axis=1), points.max(axis=1)
        side = (high - low).max(axis=1)
        user_low, user_high = (low - offset) * scale[:, None], (high - offset) * scale[:, None]
        fits = (user_low >= 0.0).all(axis=1) & (user_high <= 1.0).all(axis=1)
        fits &= side * scale >= SMALLEST_SIDE
        middle = 0.5 * (low + high) - 0.5 * side[:, None]
        return cls(np.where(fits[:, None], offset, middle), np.where(fits, scale, 1.0 / side))

    def into(self, points: FloatArray) -> FloatArray:
        """Map the instances' points (B, n, 2) into the box."""
        return (points - self.offset[:, None]) * self.scale[:, None, None]

    def back(self, points: FloatArray, owner: Any) -> FloatArray:
        """Map points (N, 2) of the instances `owner` (N,) back to their frames."""
        framed: FloatArray = points / self.scale[owner, None] + self.offset[owner]
        return framed


class _Game(NamedTuple):
    """A model ready to play, the points (B, n, 2) in its box, and a seed for each instance."""

    player: Player
    box: _Box
    points: Tensor
    seeds: list[int]


def _game(
    points: FloatArray, box: _Box, seeds: list[int], options: PlayOptions, device: Place
) -> _Game:
    player = _player(options, device)
    n = points.shape[1]
    tokens = _tokens(player, n)
    if tokens > TOKEN_LIMIT:
        raise PointsError(
            f"method 'policy' takes at most {TOKEN_LIMIT} tokens (points and candidates), and "
            f"{n} distinct points would come to {tokens}; method 'local' takes any number"
        )
    if options.decode == "sample":
        # Every instance has its own stream, so that its batch mates do not matter.
        seeds = [instance_seed(own, seed) for own, seed in zip(points, seeds, strict=True)]
    inside = torch.from_numpy(np.ascontiguousarray(box.into(points)))
    return _Game(player, box, inside.to(device), seeds)


def _decode(player: Player, state: State, options: PlayOptions, seeds: list[int]) -> State:
    """Return the best tree of every instance, as the options say."""
    copies = decoding.IMAGES if options.augment else 1
    if options.augment:
        state = decoding.images(state)
    if options.decode == "greedy":
        result = decoding.greedy(player, state)
    elif options.decode == "beam":
        result = decoding.beam(player, state, options.beam)
    else:
        tokens = _tokens(player, state.width) * len(state.count)
        at_once = max(1, TOKENS_AT_ONCE[state.count.device.type] // tokens)
        result = state
        everything = _draws(seeds, copies, options.samples, state.width - 2)
        for first in range(0, options.samples, at_once):
            draws = everything[:, first : first + at_once]
            found = decoding.sample(player, state, draws.to(state.points.device))
            result = decoding.shorter(result, found)
    return decoding.best_of(result, copies)


def _draws(seeds: list[int], copies: int, samples: int, steps: int) -> Tensor:
    """Return the random numbers (B * copies, samples, steps) for sampling.

    The first tree of each instance is the greedy one.
    """
    numbers = np.stack([np.random.default_rng(k).random((copies, samples, steps)) for k in seeds])
    numbers[:, :, 0] = -1.0
    return torch.from_numpy(numbers.reshape(-1, samples, steps))


def _decode_watched(game: _Game, start: State, options: PlayOptions, monitor: Monitor) -> State:
    """Decode one instance; when time is up, return the best tree of the steps that were finished.

    The network pauses to look at the clock, so a step of a large instance can be broken off.
    """
    best, total, position = start, start.width - 2, 0
    scale = float(game.box.scale[0])

    def go_on() -> bool:
        return monitor.report("policy", position, total, float(best.length[0]) / scale)

    def report(step: int, state: State) -> bool:
        nonlocal best, position
        best, position = decoding.shorter(best, decoding.best_of(state, len(state.count))), step
        return go_on()

    def pause() -> None:
        if not go_on():
            raise _OutOfTimeError

    try:
        watched = replace(game.player, pause=pause, report=report)
        return _decode(watched, start, options, game.seeds)
    except _OutOfTimeError:
        return best


def _trace(game: _Game, start: State, added: Tensor, run: Run) -> list[dict[str, Any]]:
    """Return the steps to the tree as JSON-able records, in the user's coordinates."""

    def users(points: Tensor) -> list[list[float]]:
        array = points.cpu().numpy()
        framed = game.box.back(array, np.zeros(len(array), dtype=np.int64))
        return [[float(x), float(y)] for x, y in run.frame.back(framed)]

    records = []
    nodes = start.points[0, : start.width].cpu().numpy()
    for number, (found, scores, choice) in enumerate(decoding.replay(game.player, start, added)):
        chosen = found.points[0, choice : choice + 1]
        nodes = np.concatenate((nodes, chosen.cpu().numpy()))
        length = tree_length(nodes, minimum_spanning_tree(nodes))
        records.append(
            {
                "candidates": users(found.points[0]),
                "probabilities": [float(p) for p in scores.exp().cpu()],
                "chosen": users(chosen)[0],
                "length": length / float(game.box.scale[0]) * run.frame.unit,
                "kept": number < len(added),
            }
        )
    return records


def _tokens(player: Player, n: int) -> int:
    """Return the number of tokens in the last step of an instance of n points."""
    size = max(2 * n - 3, n)
    return size + player.spec.number(size)


def _player(options: PlayOptions, device: Place) -> Player:
    """Return the model ready to play on a device."""
    policy, meta = _loaded(read_model(options.model, "policy"), device)
    precision = options.precision
    if precision == "auto":
        precision = "bfloat16" if device == "cuda" else "float32"
    return Player(policy, candidate_spec(meta), precision, graphs=options.graphs)


@lru_cache(maxsize=4)
def _loaded(files: ModelFiles, device: Place) -> Any:
    """Build a model once for each content of its files."""
    return build(files, torch_device(device))
