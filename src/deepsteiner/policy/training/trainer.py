"""The training loop that all objectives share: steps, schedule, validation, checkpoints, stopping.

An `Objective` is a module that holds the network it trains and turns instances into a loss. The
loop owns everything else. Every random choice is a function of the seed and the step, so a run
that is continued equals one that was never interrupted, bit for bit on a CPU.
"""

from __future__ import annotations

import gc
import math
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn

from ...core.errors import OptionError
from ..network import MaskedBatchNorm
from .instances import Padded, random_draws
from .problem import Problem
from .runlog import RunLog
from .state import load_state, save_state
from .tape import Tape

# Seconds between readings of the loss, which wait for the device.
READ_INTERVAL = 1.0


class Objective(nn.Module, ABC):
    """What is minimised. Sub-modules that require no gradient (a baseline) are saved, not trained.

    `draws` is the number of random numbers that one instance of a step needs, `stats` what the
    last step measured. Where `fixed_shapes`, a step has the same shapes and never asks the device,
    so that it can be recorded.
    """

    draws = 1
    fixed_shapes = False

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.policy, self.problem = problem.model, problem
        self.stats: dict[str, Tensor] = {}

    @property
    def shipped(self) -> nn.Module:
        """The network that would be shipped now."""
        return self.policy

    @property
    def stage(self) -> str:
        """Name what steps do now; a recording serves one stage."""
        return ""

    @abstractmethod
    def forward(self, instances: Padded, row: slice | Tensor, draws: Tensor) -> Tensor:
        """Return the loss of instances at the rows of this process's part of the epoch."""

    def begin_epoch(self, epoch: int) -> None:
        """Prepare what holds for a whole epoch."""

    def end_epoch(self, epoch: int) -> dict[str, float]:
        """Close an epoch and return what is worth recording."""
        return {}

    def validate(self) -> dict[str, float]:
        """Return measures on the validation set."""
        self.policy.eval()
        return self.problem.measure(self.shipped)

    def write_model(self, folder: Path, facts: dict[str, Any]) -> None:
        """Write the model that would be shipped now."""
        self.problem.write(folder, self.shipped, facts)


class Trainer:
    """One run: an objective and a folder."""

    def __init__(self, objective: Objective, folder: Path) -> None:
        self.objective, self.folder = objective, folder
        self.stream, self.config = objective.problem.stream, objective.problem.config
        self.group, self.train = self.stream.group, self.config.train
        self.log = RunLog(None)
        self.total = 0 if self.train.minutes else self.train.epochs * self.stream.steps_per_epoch
        trained = [value for value in objective.parameters() if value.requires_grad]
        self._tape = Tape(self) if self.train.graphs else None
        cuda = self.stream.device.type == "cuda"
        # The learning rate is a plain number, which a fused step need not read back; a recorded
        # one must.
        rate: float | Tensor = self.train.learning_rate
        recorded = cuda and self._tape is not None
        if recorded:
            rate = torch.tensor(rate, device=self.stream.device)
        self.optimizer = torch.optim.Adam(trained, lr=rate, fused=cuda, capturable=recorded)
        self._parallel: nn.Module = objective
        if self.group.world > 1:
            for module in objective.modules():
                if isinstance(module, MaskedBatchNorm):
                    module.across_processes = True
            self._parallel = nn.parallel.DistributedDataParallel(objective)
        self.step = 0
        self.results: dict[str, Any] = {}
        self._elapsed_before, self._started = 0.0, time.monotonic()
        self._interrupted = False

    def resume(self) -> None:
        """Go on from the folder's checkpoint."""
        facts = load_state(self.folder, self.objective, self.optimizer)
        self.step = facts["step"]
        self._elapsed_before = facts["elapsed"]
        self.results = facts["results"]

    def part(self) -> None:
        """Let go of what talks to the other processes."""
        self._parallel = self.objective
        if self.group.world > 1:
            gc.collect()

    def run(self, log: RunLog, minutes: float | None = None) -> str:
        """Train until the end ("finished"), Ctrl-C ("interrupted") or the budget ("stopped")."""
        self.log = log
        if note := self.objective.problem.meta.get("start"):
            log.say(note)
        self._started = self._last_read = self._last_save = time.monotonic()
        self._first_step = self._last_step = self.step
        status = "finished"
        with self._interrupts_noted():
            while (progress := self._progress()) < 1.0:
                if self._should_stop(minutes):
                    status = "interrupted" if self._interrupted else "stopped"
                    break
                self._one_step(progress)
            self._finish(finished=status == "finished")
        return status

    def _one_step(self, progress: float) -> None:
        epoch, place = divmod(self.step, self.stream.steps_per_epoch)
        if place == 0 or self.step == self._first_step:
            self.objective.begin_epoch(epoch)
        self._set_rate(self._learning_rate(progress))
        self.update(epoch, place)
        self.step += 1
        if place + 1 == self.stream.steps_per_epoch:
            self._end_epoch(epoch, judge=(epoch + 1) % self.config.validation.every == 0)
            if time.monotonic() - self._last_save > self.train.save_seconds:
                self._save()
        due = time.monotonic() - self._last_read > READ_INTERVAL
        # Reading talks to the other processes, so all do it after the same step.
        if self._first_step + 1 == self.step or self.group.agree(due, self.stream.device):
            self._read()

    def update(self, epoch: int, place: int) -> None:
        """Move the parameters by one step."""
        if self._tape is not None:
            self._tape.step(epoch, place)
            return
        self.backward(epoch, place)
        self.descend()

    def descend(self) -> None:
        """Clip the gradients and follow them."""
        trained = self.optimizer.param_groups[0]["params"]
        norm = nn.utils.clip_grad_norm_(trained, self.train.clip or math.inf)
        self.optimizer.step()
        self.objective.stats["gradient"] = norm

    def backward(self, epoch: int, place: int) -> Tensor:
        """Compute the gradients of one step, averaged over the processes; return the loss."""
        instances = self.stream.steps(epoch, place, place + 1)
        size = len(instances)
        mine = self.step_draws(epoch, place).to(instances.points.device)
        return self.differentiate(instances, slice(place * size, (place + 1) * size), mine)

    def step_draws(self, epoch: int, place: int) -> Tensor:
        """Return the random numbers of this process's share of a step."""
        shape = (self.train.batch, self.objective.draws)
        number = epoch * self.stream.steps_per_epoch + place
        draws = random_draws(shape, self.train.seed, "draws", number)
        return draws[self.group.share(self.train.batch)]

    def differentiate(self, instances: Padded, row: slice | Tensor, draws: Tensor) -> Tensor:
        """Compute the gradients for given instances, averaged over the processes."""
        self.optimizer.zero_grad(set_to_none=True)
        loss: Tensor = self._parallel(instances, row, draws)
        loss.backward()  # type: ignore[no-untyped-call]
        self.objective.stats["loss"] = loss.detach()
        return loss.detach()

    def _set_rate(self, rate: float) -> None:
        group = self.optimizer.param_groups[0]
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate

    def _learning_rate(self, progress: float) -> float:
        rate = self.train.learning_rate
        if self.train.schedule == "cosine":
            rate *= 0.5 * (1.0 + math.cos(math.pi * progress))
        return rate * min(1.0, (self.step + 1) / (self.train.warmup + 1))

    def _progress(self) -> float:
        """Return how much of the training is done, from 0 to 1, alike in all processes."""
        if not self.train.minutes:
            return self.step / self.total
        return self.group.agree(self.elapsed / (60.0 * self.train.minutes), self.stream.device)

    @property
    def elapsed(self) -> float:
        """Return the seconds trained so far, in all calls together."""
        return self._elapsed_before + time.monotonic() - self._started

    def _should_stop(self, minutes: float | None) -> bool:
        spent = time.monotonic() - self._started
        stop = self._interrupted or (minutes is not None and spent > 60.0 * minutes)
        return bool(self.group.agree(stop, self.stream.device))

    def _end_epoch(self, epoch: int, *, judge: bool) -> None:
        closing = self.objective.end_epoch(epoch)
        if closing:
            self.log.record(self.step, closing)
        if judge:
            self._validate()

    def _validate(self) -> None:
        if not self.group.leads:
            return
        found = self.objective.validate()
        self.results.update(found)
        self.log.record(self.step, found)
        self._show(found)

    def _read(self) -> None:
        """Read what the steps measured; this waits for the device."""
        values = {name: float(self.group.mean(v)) for name, v in self.objective.stats.items()}
        now = time.monotonic()
        instances = (self.step - self._last_step) * self.train.batch
        values["instances_per_second"] = instances / max(now - self._last_read, 1e-9)
        if not math.isfinite(values["loss"]):
            raise OptionError(
                f"the loss became {values['loss']} at step {self.step}: "
                f"lower train.learning_rate or set train.clip"
            )
        values["learning_rate"] = float(self.optimizer.param_groups[0]["lr"])
        self._last_read, self._last_step = now, self.step
        self.log.record(self.step, values)
        self._show({name: values[name] for name in ("loss", "instances_per_second")})

    def _show(self, values: dict[str, float]) -> None:
        done, left = self.step - self._first_step, self.total - self.step
        eta = None
        if self.train.minutes:
            eta = max(0.0, 60.0 * self.train.minutes - self.elapsed)
        elif done and left:
            eta = (time.monotonic() - self._started) / done * left
        self.log.show(self.step, self.total, eta, values)

    def _finish(self, *, finished: bool) -> None:
        epoch, place = divmod(self.step, self.stream.steps_per_epoch)
        if finished and place:
            # A clock may end a run inside an epoch; what it ships is judged all the same.
            self._end_epoch(epoch, judge=True)
        elif finished and epoch % self.config.validation.every:
            self._validate()
        self._save()
        if self.group.leads:
            shown = self.objective.problem.solutions(self.objective.shipped)
            self.log.picture(self.step, shown)

    def _save(self) -> None:
        self._last_save = time.monotonic()
        if not self.group.leads:
            return
        facts = {"step": self.step, "elapsed": self.elapsed, "results": self.results}
        save_state(self.folder, self.objective, self.optimizer, facts)
        self.objective.write_model(self.folder / "model", facts)

    @contextmanager
    def _interrupts_noted(self) -> Iterator[None]:
        """End cleanly after the current step at the first Ctrl-C; the second one is not caught."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def on_interrupt(number: int, frame: FrameType | None) -> None:
            if self._interrupted:
                raise KeyboardInterrupt
            self._interrupted = True
            self.log.say("stopping after this step; press Ctrl-C again to stop at once")

        previous = signal.signal(signal.SIGINT, on_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)
