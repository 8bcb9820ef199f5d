"""Algorithm 1 as recorded CUDA graphs: for small batches, starting kernels costs more than running.

A step at a given number of points has fixed shapes when no instance leaves the batch, so it is
recorded once and replayed: one start instead of some hundred. Instances that have stopped stay and
do not change, which wastes work; the plain loop of `decoding`, the twin, lets them leave. Recording
costs about two plain games, so it pays for shapes that come again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace

import torch
from torch import Tensor

from .environment import TENSORS, State
from .rollout import Player, Report
from .sampling import likeliest

# Points and candidates of a batch above which kernels take longer than their start.
LARGEST = 1 << 17
# Recordings that are kept; each holds the memory of its largest step.
KEPT = 8

_recordings: OrderedDict[tuple[object, ...], Recording] = OrderedDict()
_lock = threading.RLock()


def suits(player: Player, state: State) -> bool:
    """Say whether the games of a batch can be recorded: on CUDA, all of one size, not too large."""
    if not (player.graphs and state.points.is_cuda and state.dense and state.image is None):
        return False
    room = state.points.shape[1]
    return len(state.points) * (room + player.spec.number(room)) <= LARGEST


def greedy(player: Player, state: State) -> State:
    """Run Algorithm 1 on a batch that `suits`; the same trees as `decoding.greedy`."""
    with _lock:
        points = state.points
        shape = (points.device, points.dtype, *points.shape)
        key = (id(player.policy), player.spec, player.precision, player.criterion, *shape)
        recording = _recordings.pop(key, None)
        if recording is None:
            recording = Recording(player, state)
        _recordings[key] = recording
        while len(_recordings) > KEPT:
            _recordings.popitem(last=False)
        return recording.play(state, player.report)


class Recording:
    """The steps of one batch shape. Holds the policy, whose identity is part of the key."""

    def __init__(self, player: Player, state: State) -> None:
        self._player = replace(player, pause=None, report=None)
        self._rules = player.rules
        self._width = state.width
        self._tensors = {name: getattr(state, name).clone() for name in TENSORS}
        self._graphs: list[torch.cuda.CUDAGraph] = []
        self._record(state)

    def _record(self, state: State) -> None:
        """Play once so that everything is compiled and cached, then record every step."""
        steps = range(state.width - 2)
        beside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for step in steps:
                self._step(step)
        torch.cuda.current_stream().wait_stream(beside)
        pool = torch.cuda.graph_pool_handle()
        for step in steps:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
                self._step(step)
            self._graphs.append(graph)

    def _step(self, number: int) -> None:
        """Take one step of Algorithm 1 in place."""
        state = State(**self._tensors, width=self._width + number, full=True, dense=False)
        found = self._rules.candidates(state)
        choice = likeliest(self._player.score(state, found))
        after = self._rules.step(state, choice, found)
        for name, tensor in self._tensors.items():
            tensor.copy_(getattr(after, name))

    def play(self, start: State, report: Report | None) -> State:
        """Replay the steps from a start until every instance has stopped."""
        for name, tensor in self._tensors.items():
            tensor.copy_(getattr(start, name))
        done = 0
        for step, graph in enumerate(self._graphs):
            if report is not None and not report(step, self._result(step)):
                break
            graph.replay()
            done = step + 1
            if not bool(self._tensors["active"].any()):
                break
        return self._result(done)

    def _result(self, step: int) -> State:
        copies: dict[str, Tensor] = {name: kept.clone() for name, kept in self._tensors.items()}
        width = min(self._width + step, copies["points"].shape[1])
        return State(**copies, width=width, full=False, dense=False)
