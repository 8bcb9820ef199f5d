"""Whole instances through a policy: into its box, decoded, and back as trees in the plane."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..core.device import Place
from ..core.errors import OptionError, PointsError
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

# Shifts (B, 2) and units (B,) of the frames that instances are given in.
_Frames = tuple[FloatArray, FloatArray]


class _OutOfTimeError(Exception):
    """Raised inside the network when time is up."""


def play_one(run: Run, options: PlayOptions) -> Tree:
    """Run the policy on one instance."""
    frames = run.frame.shift[None], np.array([run.frame.unit])
    game = _Game.of(run.points[None], frames, [run.seed], options, run.device)
    start = game.player.rules.reset(game.points)
    state = _decode_watched(game, start, options, run.monitor)
    steps = int(state.steps[0])
    added = state.points[0, start.width : start.width + steps]
    steiner = game.back(added)
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
    points = batch.points
    count, n = points.shape[:2]
    frames = batch.shifts, np.ldexp(1.0, -batch.exponents.astype(np.int32))
    game = _Game.of(points, frames, batch.seeds.tolist(), options, batch.device)
    copies = {"greedy": 1, "sample": options.samples, "beam": options.beam}[options.decode]
    copies *= decoding.IMAGES if options.augment else 1
    rows = max(1, TOKENS_AT_ONCE[batch.device] // (_tokens(game.player, n) * copies))
    sizes, steiner = np.empty(count, dtype=np.int64), np.zeros((count, n, 2))
    for first in range(0, count, rows):
        some = slice(first, first + rows)
        start = game.player.rules.reset(game.points[some])
        state = _decode(game.player, start, options, game.seeds[some])
        sizes[some] = state.count.cpu().numpy()
        steiner[some, : n - 2] = game.back(state.points[:, n:], some)
    edges = np.zeros((count, 2 * n, 2), dtype=np.int64)
    for size in np.unique(sizes):
        own = np.flatnonzero(sizes == size)
        nodes = np.concatenate((points[own], steiner[own, : size - n]), axis=1)
        edges[own, : size - 1] = mst_batch(nodes)
    packed = TreeRows(sizes, steiner, edges).packed(n)
    if not options.refine:
        return packed
    return BatchTrees(*refine_batch(points, packed.steiner_start, packed.steiner, packed.edges))


@dataclass(frozen=True)
class _Game:
    """A model ready to play, points (B, n, 2) in its box, and a seed for each instance.

    `offset` (B, 2) and `scale` (B,) map the frames to the box: (p - offset) * scale.
    """

    player: Player
    offset: FloatArray
    scale: FloatArray
    points: Tensor
    seeds: list[int]

    @classmethod
    def of(
        cls, points: FloatArray, frames: _Frames, seeds: list[int], options: PlayOptions, on: Place
    ) -> _Game:
        """Set up the games of instances (B, n, 2), given in these frames, on a device."""
        player, n = _player(options, on), points.shape[1]
        tokens = _tokens(player, n)
        if tokens > TOKEN_LIMIT:
            raise PointsError(
                f"method 'policy' takes at most {TOKEN_LIMIT} tokens (points and candidates), and "
                f"{n} distinct points would come to {tokens}; method 'local' takes any number"
            )
        shifts, scale = frames
        offset = -shifts / scale[:, None]
        if options.normalize:
            offset, scale = _normalized(points, offset, scale)
        if options.decode == "sample":
            # Every instance has its own stream, so that its batch mates do not matter.
            seeds = [instance_seed(own, seed) for own, seed in zip(points, seeds, strict=True)]
        inside = np.ascontiguousarray((points - offset[:, None]) * scale[:, None, None])
        return cls(player, offset, scale, torch.from_numpy(inside).to(on), seeds)

    def back(self, points: Tensor, some: slice | int = 0) -> FloatArray:
        """Map points of some instances, or of one, back to their frames."""
        scale, offset = self.scale[some], self.offset[some]
        if isinstance(some, slice):
            scale, offset = scale[:, None, None], offset[:, None]
        framed: FloatArray = points.cpu().numpy() / scale + offset
        return framed


def _normalized(
    points: FloatArray, offset: FloatArray, scale: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return offset and scale of the user's coordinates, or to the unit square where they are odd.

    In the second case the longer side fills the unit square and the shorter one is centred in it.
    """
    low, high = points.min(axis=1), points.max(axis=1)
    side = (high - low).max(axis=1)
    user_low, user_high = (low - offset) * scale[:, None], (high - offset) * scale[:, None]
    fits = (user_low >= 0.0).all(axis=1) & (user_high <= 1.0).all(axis=1)
    fits &= side * scale >= SMALLEST_SIDE
    middle = 0.5 * (low + high) - 0.5 * side[:, None]
    return np.where(fits[:, None], offset, middle), np.where(fits, scale, 1.0 / side)


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
    scale = float(game.scale[0])

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
        rows: list[list[float]] = run.frame.back(game.back(points)).tolist()
        return rows

    records = []
    nodes = start.points[0, : start.width].cpu().numpy()
    for number, (found, scores, choice) in enumerate(decoding.replay(game.player, start, added)):
        chosen = found.points[0, choice : choice + 1]
        nodes = np.concatenate((nodes, chosen.cpu().numpy()))
        length = tree_length(nodes, minimum_spanning_tree(nodes))
        if number >= len(added) and game.player.criterion != "inference":
            break  # the point that ended the game was kept
        records.append(
            {
                "candidates": users(found.points[0]),
                "probabilities": scores.exp().tolist(),
                "chosen": users(chosen)[0],
                "length": length / float(game.scale[0]) * run.frame.unit,
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
    if options.keep_worsening and (options.decode != "greedy" or options.augment):
        raise OptionError(
            "keep_worsening needs decode='greedy' without augment: one tree, as it is"
        )
    criterion = "first_increment" if options.keep_worsening else "inference"
    spec = candidate_spec(meta)
    return Player(policy, spec, precision, graphs=options.graphs, criterion=criterion)


@lru_cache(maxsize=4)
def _loaded(files: ModelFiles, device: Place) -> Any:
    """Build a model once for each content of its files."""
    return build(files, torch_device(device))
