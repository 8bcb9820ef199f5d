"""Train several policies side by side on one GPU, in one process, a thread and a stream each.

    python -m benchmarks.reproduction.validation --out runs/validation
    python -m benchmarks.reproduction.train --plan printed --out runs/printed --seconds 540

It stops by itself after `--seconds`; the same command goes on. A run keeps a checkpoint every
`train.save_seconds`, so a process that is killed loses little. A line for each run says how far
it is. `--pack FOLDER` ends with the models (16 bits), the logs and the checkpoints of unfinished
runs in files below 16 MB; `--unpack FOLDER` begins with such checkpoints.

Products of float32 matrices are TF32 (`--products`).
"""

from __future__ import annotations

import argparse
import json
import tarfile
import threading
import time
from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from deepsteiner.errors import DeepSteinerError
from deepsteiner.io.atomic import atomic_write
from deepsteiner.policy import checkpoint
from deepsteiner.policy.training import config, training
from deepsteiner.policy.training.runlog import RunLog
from deepsteiner.policy.training.state import NAME as STATE
from deepsteiner.policy.training.trainer import Trainer

from .plans import PLANS, VALIDATION, Run

# Places of a GPU: the shares of runs that go on at the same time sum up to at most this.
PLACES = 6
# Tokens of the largest batch that is rolled out at once by each of several runs.
TOKENS = 1_000_000
FILES, PART, TOTAL = 8, 15 << 20, 46 << 20
DONE = "done.json"


class Fleet:
    """The runs of a plan, some of them at work."""

    def __init__(self, runs: list[Run], given: argparse.Namespace) -> None:
        self.waiting, self.given = runs, given
        self.deadline = time.monotonic() + given.seconds
        self.at_work: dict[str, tuple[threading.Thread, int]] = {}
        self.trainers: dict[str, Trainer] = {}
        self.ended: dict[str, str] = {}

    def work(self) -> None:
        """Start runs as places get free, until all are done or the time is over."""
        last = time.monotonic()
        self.waiting = [run for run in self.waiting if not self.done(run)]
        while self.at_work or (self.waiting and time.monotonic() < self.deadline):
            self._start_some()
            time.sleep(0.2)
            for name, (thread, _) in list(self.at_work.items()):
                if not thread.is_alive():
                    self.tell(name)
                    del self.at_work[name]
            if time.monotonic() - last > self.given.every:
                last = time.monotonic()
                for name in self.at_work:
                    self.tell(name)

    def done(self, run: Run) -> bool:
        """Say whether a run has been finished before."""
        return (self.given.out / run.name / DONE).exists()

    def _start_some(self) -> None:
        busy = sum(share for _, share in self.at_work.values())
        if not self.waiting or time.monotonic() > self.deadline:
            return
        run = self.waiting[0]
        if self.at_work and busy + run.share > self.given.places:
            return
        self.waiting.pop(0)
        # Here, one after the other: weights come from torch's one generator.
        try:
            self.trainers[run.name] = self._trainer(run)
        except DeepSteinerError as error:
            print(f"{run.name}: {error}", flush=True)
            return
        thread = threading.Thread(target=self._run, args=(run,), name=run.name, daemon=True)
        self.at_work[run.name] = thread, run.share
        thread.start()

    def _trainer(self, run: Run) -> Trainer:
        path = VALIDATION.format(validation=self.given.validation, data=run.data)
        settings = [f"validation.path={path}", *run.settings, *self.given.set]
        chosen = config.load(list(run.configs), settings)
        place = training.open_place(self.given.out / run.name, self.given.device, resume=True)
        trainer = training.new_trainer(chosen, place)
        trainer.objective.problem.meta["products"] = self.given.products
        narrow(trainer)
        if (place.folder / STATE).exists():
            trainer.resume()
        place.folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(place.folder / config.RUN_CONFIG) as target:
            json.dump(asdict(chosen), target, indent=1)
        return trainer

    def _run(self, run: Run) -> None:
        trainer = self.trainers[run.name]
        stream = torch.cuda.Stream() if trainer.stream.device.type == "cuda" else None
        try:
            with (
                nullcontext() if stream is None else torch.cuda.stream(stream),
                closing(RunLog(trainer.folder, quiet=True, board=False)) as log,
            ):
                if stream is not None:
                    stream.wait_stream(torch.cuda.default_stream())
                status = trainer.run(log, max(0.0, self.deadline - time.monotonic()) / 60.0)
            if status == "finished":
                (trainer.folder / DONE).write_text(json.dumps(trainer.results))
        except Exception as error:
            status = f"failed: {type(error).__name__}: {error}"
        self.ended[run.name] = status

    def tell(self, name: str) -> None:
        """Print how far a run is."""
        trainer = self.trainers[name]
        epochs = trainer.step / trainer.stream.steps_per_epoch
        parts = [f"{name:24s} epoch {epochs:6.1f} of {trainer.train.epochs}"]
        for key in ("gap", "policy_gap"):
            if key in trainer.results:
                parts.append(f"{key.replace('_', ' ')} {trainer.results[key]:.3f} %")
        parts.append(f"{trainer.elapsed:.0f} s")
        parts.append(self.ended.get(name, ""))
        print("  ".join(parts), flush=True)


def narrow(trainer: Trainer) -> None:
    """Let the runs share the memory: smaller batches where no gradient is needed."""
    problem, size = trainer.objective.problem, trainer.stream.size
    tokens = problem.spec.number(2 * size - 2) + 2 * size
    problem.chunk = trainer.objective.chunk = max(1, min(problem.chunk, TOKENS // tokens))


def pack(runs: list[Run], out: Path, target: Path) -> None:
    """Write models and logs as archives, and the checkpoints of unfinished runs beside them."""
    target.mkdir(parents=True, exist_ok=True)
    parts: list[list[Path]] = [[]]
    for run in runs:
        if not (out / run.name / "model").is_dir():
            continue
        small = halved(out / run.name)
        room = PART - sum(size_of(folder) for folder in parts[-1])
        if size_of(small) > room:
            parts.append([])
        parts[-1].append(small)
    for number, folders in enumerate(parts):
        with tarfile.open(target / f"models-{number}.tar", "w") as archive:
            for folder in folders:
                archive.add(folder, arcname=folder.parent.name)
    unfinished = [run for run in runs if not (out / run.name / DONE).exists()]
    for run in unfinished[: FILES - len(parts)]:
        state = out / run.name / STATE
        if state.exists() and size_of(target) + state.stat().st_size < TOTAL:
            (target / f"{run.name}.safetensors").write_bytes(state.read_bytes())


def halved(folder: Path) -> Path:
    """Return a copy of a run with 16-bit weights and its log."""
    small = folder / "small"
    policy, meta = checkpoint.load(folder / "model")
    card = (folder / "model" / "card.md").read_text()
    facts = {key: value for key, value in meta.items() if key not in ("network", "candidates")}
    spec = checkpoint.candidate_spec(meta)
    checkpoint.save(small / "model", policy, spec, facts, card=card, half=True)
    for name in ("log.jsonl", config.RUN_CONFIG, DONE, "lengths.npz"):
        if (folder / name).exists():
            (small / name).write_bytes((folder / name).read_bytes())
    return small


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size + 1024 for path in folder.rglob("*") if path.is_file())


def unpack(source: Path, out: Path) -> None:
    """Put the checkpoints of unfinished runs where their runs go on."""
    for path in source.glob("*.safetensors"):
        folder = out / path.stem
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / STATE).exists():
            (folder / STATE).write_bytes(path.read_bytes())
    for path in source.glob("models-*.tar"):
        with tarfile.open(path) as archive:
            archive.extractall(out, filter="data")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", choices=sorted(PLANS), nargs="+", default=["printed"])
    parser.add_argument("--only", nargs="*", help="words that a run's name begins with")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--validation", type=Path, default=Path("runs/validation"))
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--every", type=float, default=20.0, help="seconds between lines")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--places", type=int, default=PLACES)
    parser.add_argument("--products", choices=["float32", "tf32"], default="tf32")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE")
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--unpack", type=Path)
    given = parser.parse_args()
    if given.products == "tf32":
        torch.set_float32_matmul_precision("high")
    runs: list[Run] = [run for plan in given.plan for run in PLANS[plan]]
    if given.only:
        runs = [run for run in runs if run.name.startswith(tuple(given.only))]
    if given.unpack:
        unpack(given.unpack, given.out)
    fleet: Any = Fleet(list(runs), given)
    fleet.work()
    if given.pack:
        pack(runs, given.out, given.pack)
    left = [run.name for run in runs if not fleet.done(run)]
    print("all runs are done" if not left else f"to go on with: {', '.join(left)}", flush=True)


if __name__ == "__main__":
    main()
