"""Training steps that read their instances from one place, so that they can be recorded.

A step of 32 instances is some hundred small kernels: starting them takes longer than running them.
All instances and random numbers of an epoch are laid out on the device beforehand, and a counter
there says which step comes next. A step then has fixed shapes and fixed addresses, and CUDA can
record it once and replay it: the same kernels, one start. On a CPU the same steps run unrecorded.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from ...core.errors import OptionError
from .instances import Padded

if TYPE_CHECKING:
    from .trainer import Trainer

# Steps of a stage before it is recorded: everything is compiled and allocated by then.
WARM = 3
# Only one thread of a process compiles, allocates and records at a time.
_recording = threading.Lock()


class Recording(NamedTuple):
    """A recorded step, and the tensors in which it leaves what it measured."""

    graph: torch.cuda.CUDAGraph
    stats: dict[str, Tensor]


class Tape:
    """The steps of one run; see the module."""

    def __init__(self, trainer: Trainer) -> None:
        objective, stream = trainer.objective, trainer.stream
        if not objective.fixed_shapes or trainer.group.world > 1:
            raise OptionError("train.graphs needs train.objective = 'reinforce' and one process")
        self._trainer, self._objective, self._stream = trainer, objective, stream
        self._offsets = torch.arange(stream.batch, device=stream.device)
        self._next = torch.zeros((), dtype=torch.int64, device=stream.device)
        self._points: Tensor | None = None
        self._draws: Tensor | None = None
        # The epoch that is laid out and the place the counter stands at.
        self._laid_out: tuple[int, int] | None = None
        self._taken: dict[str, int] = {}
        self._recordings: dict[str, Recording] = {}
        cuda = stream.device.type == "cuda"
        # Recording needs a stream of its own, and so do the steps before it.
        self._beside = torch.cuda.Stream() if cuda else None  # type: ignore[no-untyped-call]

    def step(self, epoch: int, place: int) -> None:
        """Take one step of an epoch, recorded where that is possible."""
        if self._laid_out != (epoch, place):
            self._lay_out(epoch, place)
        stage = self._objective.stage
        taken = self._taken.get(stage, 0)
        if self._beside is None:
            self._plain()
        elif taken < WARM:
            with _recording:
                torch.cuda.synchronize()
                with torch.cuda.stream(self._beside):
                    self._plain()
                torch.cuda.synchronize()
        else:
            self._replay(stage)
        self._taken[stage] = taken + 1
        self._laid_out = (epoch, place + 1)

    def _lay_out(self, epoch: int, place: int) -> None:
        """Put an epoch's instances and random numbers where the steps read them."""
        number = self._stream.steps_per_epoch
        instances = self._stream.steps(epoch, 0, number)
        if instances.count is not None:
            raise OptionError("train.graphs needs instances of one size")
        rows = [self._trainer.step_draws(epoch, one) for one in range(number)]
        draws = torch.cat(rows).to(instances.points.device)
        if self._points is None or self._draws is None:
            self._points, self._draws = instances.points.clone(), draws
        self._points.copy_(instances.points)
        self._draws.copy_(draws)
        self._next.fill_(place)

    def _plain(self) -> None:
        """Take the step at the counter."""
        assert self._points is not None
        assert self._draws is not None
        rows = self._next * self._stream.batch + self._offsets
        some = Padded(self._points[rows], None)
        self._trainer.differentiate(some, rows, self._draws[rows])
        self._trainer.descend()
        self._next += 1

    def _replay(self, stage: str) -> None:
        recording = self._recordings.get(stage)
        if recording is None:
            recording = self._recordings[stage] = self._record()
        recording.graph.replay()
        self._objective.stats = recording.stats

    def _record(self) -> Recording:
        graph = torch.cuda.CUDAGraph()
        with _recording:
            torch.cuda.synchronize()
            # Other threads may go on with steps that they have recorded.
            with torch.cuda.graph(graph, stream=self._beside, capture_error_mode="thread_local"):
                self._plain()
            torch.cuda.synchronize()
        return Recording(graph, dict(self._objective.stats))
