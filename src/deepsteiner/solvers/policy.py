"""`policy`: the paper's learned system, Deep-Steiner, with a trained model choosing the points.

The model sees the instance in its training box, the unit square; Steiner points are chosen there,
and the tree is the spanning tree of terminals and Steiner points, made anew in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..core.device import Place, load_torch
from ..core.errors import PointsError
from ..core.models import ModelFiles, read_model
from ..core.options import describe, option
from ..core.points import FloatArray
from ..core.trees import tree_length
from ..geometry.spanning_trees import minimum_spanning_tree
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree, instance_seed, pack
from ..run.monitor import Monitor

if TYPE_CHECKING:
    from torch import Tensor

    from ..policy.environment import State
    from ..policy.rollout import Player

# More tokens (points and candidates, at the last step) than this would take minutes a step.
TOKEN_LIMIT = 20_000
BATCH_LIMIT = 64
# Tokens that one pass of the network works on, by device: what keeps it busy, and fits.
TOKENS_AT_ONCE = {"cpu": 1 << 15, "cuda": 1 << 20}
# Instances inside the unit square with a longer side of at least this are seen as they are.
SMALLEST_SIDE = 0.5


@dataclass(frozen=True)
class Options:
    """The policy's options."""

    model: str = option("mst-d1", "a shipped model or the folder of one", models="policy")
    decode: Literal["greedy", "sample", "beam"] = option("greedy", "how the model gives points")
    samples: int = option(16, "trees to draw, the greedy one among them", minimum=1, maximum=10_000)
    beam: int = option(4, "trees to keep in the beam", minimum=1, maximum=100)
    augment: bool = option(False, "also try the seven other symmetric images of the instance")
    refine: bool = option(False, "relax the final tree and repair its angles")
    normalize: bool = option(True, "map instances of other scales to the model's training box")
    precision: Literal["auto", "float32", "bfloat16"] = option(
        "auto", "of the network; auto is bfloat16 on CUDA and float32 elsewhere"
    )
    graphs: bool = option(
        False, "on CUDA, record greedy games of small batches: faster when sizes come again"
    )


INFO = MethodInfo(
    name="policy",
    summary="a trained network adds points one by one (the paper's Deep-Steiner)",
    guarantee="never longer than the spanning tree",
    options=describe(Options),
    needs=("torch",),
    devices=("cpu", "cuda"),
)


class _OutOfTimeError(Exception):
    """Raised inside the network when time is up."""


def solve(run: Run, options: Options) -> Tree:
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
        from ..geometry.relaxation import refine

        steiner, edges = refine(run.points, steiner, edges)
        nodes = np.concatenate((run.points, steiner))
    run.monitor.report("done", len(steiner), len(run.points) - 2, tree_length(nodes, edges))
    return Tree(steiner, edges, info={"model": options.model, "steps": steps})


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Run the policy on many instances of one size."""
    from ..policy.decoding import IMAGES

    count, n = batch.points.shape[:2]
    units = np.ldexp(1.0, -batch.exponents.astype(np.int32))
    box = _Box.of(batch.points, batch.shifts, units, options.normalize)
    game = _game(batch.points, box, batch.seeds.tolist(), options, batch.device)
    copies = {"greedy": 1, "sample": options.samples, "beam": options.beam}[options.decode]
    copies *= IMAGES if options.augment else 1
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


def _trees(points: FloatArray, sizes: Any, steiner: FloatArray, refine: bool) -> BatchTrees:
    """Build the spanning trees over terminals and Steiner points, grouped by size."""
    from ..geometry.spanning_trees import mst_batch

    count, n = points.shape[:2]
    edges = np.zeros((count, 2 * n, 2), dtype=np.int64)
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        nodes = np.concatenate((points[rows], steiner[rows, : size - n]), axis=1)
        edges[rows, : size - 1] = mst_batch(nodes)
    packed = pack(n, sizes, steiner, edges)
    if not refine:
        return packed
    from ..geometry.relaxation import refine_batch

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
    points: FloatArray, box: _Box, seeds: list[int], options: Options, device: Place
) -> _Game:
    torch = load_torch("method 'policy'")
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


def _decode(player: Player, state: State, options: Options, seeds: list[int]) -> State:
    """Return the best tree of every instance, as the options say."""
    from ..policy import decoding

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
    import torch

    numbers = np.stack([np.random.default_rng(k).random((copies, samples, steps)) for k in seeds])
    numbers[:, :, 0] = -1.0
    return torch.from_numpy(numbers.reshape(-1, samples, steps))


def _decode_watched(game: _Game, start: State, options: Options, monitor: Monitor) -> State:
    """Decode one instance; when time is up, return the best tree of the steps that were finished.

    The network pauses to look at the clock, so a step of a large instance can be broken off.
    """
    from ..policy.decoding import best_of, shorter

    best, total, position = start, start.width - 2, 0
    scale = float(game.box.scale[0])

    def go_on() -> bool:
        return monitor.report("policy", position, total, float(best.length[0]) / scale)

    def report(step: int, state: State) -> bool:
        nonlocal best, position
        best, position = shorter(best, best_of(state, len(state.count))), step
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
    from ..policy.decoding import replay

    def users(points: Tensor) -> list[list[float]]:
        array = points.cpu().numpy()
        framed = game.box.back(array, np.zeros(len(array), dtype=np.int64))
        return [[float(x), float(y)] for x, y in run.frame.back(framed)]

    records = []
    nodes = start.points[0, : start.width].cpu().numpy()
    for number, (found, scores, choice) in enumerate(replay(game.player, start, added)):
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


def _player(options: Options, device: Place) -> Player:
    """Return the model ready to play on a device."""
    from ..policy.checkpoint import candidate_spec
    from ..policy.rollout import Player

    policy, meta = _loaded(read_model(options.model, "policy"), device)
    precision = options.precision
    if precision == "auto":
        precision = "bfloat16" if device == "cuda" else "float32"
    return Player(policy, candidate_spec(meta), precision, graphs=options.graphs)


@lru_cache(maxsize=4)
def _loaded(files: ModelFiles, device: Place) -> Any:
    """Build a model once for each content of its files."""
    from ..policy.checkpoint import build
    from ..policy.device import torch_device

    return build(files, torch_device(device))
