"""Setting up and running a training: from a configuration to a folder with a model.

The folder holds `config.json` (the whole configuration), `log.jsonl`, `events/` (TensorBoard),
`training.safetensors` (to go on from) and `model/` (what `policy` loads).
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load as load_tensors

from ...core.errors import OptionError
from ...core.models import read_model
from ...core.points import FloatArray
from ...io.atomic import atomic_write
from ...io.model_folders import read_tensors
from ..device import resolve
from ..network import Policy
from ..tours.network import TourModel
from ..tours.pretrain import TourReinforce, TourValidation
from .config import RUN_CONFIG, Config, DataConfig, PretrainConfig, RunConfig
from .distill import Distill
from .group import Group, join, leave, local_device
from .instances import TrainingStream, pad, validation_set
from .reinforce import Reinforce
from .runlog import RunLog
from .state import NAME as STATE_NAME
from .trainer import Objective, Trainer
from .transfer import transfer
from .validation import PolicyValidation

DTYPES = {"float32": torch.float32, "bfloat16": torch.float32, "float64": torch.float64}

Optima = Callable[[FloatArray | list[FloatArray]], FloatArray | None]


@dataclass(frozen=True)
class Outcome:
    """How a run ended ("finished", "stopped", "interrupted") and what it measured last."""

    status: str
    step: int
    results: dict[str, Any]


class Place(NamedTuple):
    """Where a run happens: its folder, its device, and its place among the processes."""

    folder: Path
    device: torch.device
    group: Group


def train(
    config: RunConfig,
    folder: Path | str,
    *,
    device: str = "auto",
    resume: bool = False,
    minutes: float | None = None,
    optima: Optima | None = None,
    quiet: bool = False,
) -> Outcome:
    """Train a policy or a tour model, as the configuration says, or go on with a run.

    `optima` finds the optimal lengths of validation instances whose file gives none; it may
    return None where that would take too long.
    """
    trainer = new_trainer(config, open_place(folder, device, resume), optima)
    if resume:
        trainer.resume()
    leads = trainer.group.leads
    if leads:
        trainer.folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(trainer.folder / RUN_CONFIG) as target:
            json.dump(asdict(config), target, indent=1)
    log = RunLog(trainer.folder if leads else None, quiet=quiet)
    try:
        status = trainer.run(log, minutes)
    finally:
        log.close()
    # After an error the others cannot be waited for: whoever started them ends them.
    trainer.part()
    leave(trainer.group)
    return Outcome(status, trainer.step, trainer.results)


def new_trainer(config: RunConfig, place: Place, optima: Optima | None = None) -> Trainer:
    """Return a trainer at its first step; nothing is written yet."""
    if isinstance(config, PretrainConfig):
        return _tour_trainer(config, place)
    assert isinstance(config, Config)
    return _policy_trainer(config, place, optima)


def _policy_trainer(config: Config, place: Place, optima: Optima | None) -> Trainer:
    stream = _stream(config, config.data, place)
    points, optimal = validation_set(config.data, config.validation)
    with _seeded(config):
        policy = Policy(config.network)
    meta = {**_meta(config, place), **_start(policy, config.train.start)}
    if optimal is None and optima is not None:
        optimal = optima(points)
    held_out = pad(points).to(place.device, stream.dtype)
    validation = PolicyValidation(held_out, optimal, config.candidates, meta)
    policy = policy.to(place.device, stream.dtype)
    kind = Distill if config.train.objective == "distill" else Reinforce
    objective: Objective = kind(policy, config, stream, validation)
    if config.train.compile:
        policy.encoder.compile(dynamic=True)
    return Trainer(objective, stream, config, place.folder, meta["start"])


def _tour_trainer(config: PretrainConfig, place: Place) -> Trainer:
    data = config.data
    if data.path is None:
        data = replace(data, name="uniform", n=config.tour.n)
    stream = _stream(config, data, place)
    held_out = pad(validation_set(data, config.validation)[0]).to(place.device, stream.dtype)
    with _seeded(config):
        model = TourModel(config.network, config.tour.clip).to(place.device, stream.dtype)
    validation = TourValidation(held_out, _meta(config, place))
    return Trainer(TourReinforce(model, config, stream, validation), stream, config, place.folder)


def _stream(config: RunConfig, data: DataConfig, place: Place) -> TrainingStream:
    dtype = DTYPES[config.train.precision]
    return TrainingStream(data, config.train.batch, place.group, place.device, dtype)


@contextmanager
def _seeded(config: RunConfig) -> Iterator[None]:
    """Draw the weights made in the block by the configuration's seed, and by nothing else."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.train.seed)
        yield


def _start(policy: Policy, model: str | None) -> dict[str, Any]:
    """Put what fits of a model into a policy; return what is worth knowing about the start.

    That is a note, and how many instances the model has seen, itself or before. Tours do not
    count.
    """
    if model is None:
        return {"start": None}
    files = read_model(model, "policy", "tour")
    moved = transfer(read_tensors(files, load_tensors), policy)
    if not moved.loaded:
        raise OptionError(f"train.start: no tensor of {files.folder} fits this network")
    facts: dict[str, Any] = {"start": f"start from {model}: {moved}"}
    meta = json.loads(files.description)
    if "candidates" in meta:
        seen = meta.get("step", 0) * meta["config"]["train"]["batch"]
        facts["instances_before"] = int(seen + meta.get("instances_before", 0))
    return facts


def open_place(folder: Path | str, device: str = "auto", resume: bool = False) -> Place:
    """Check folder and device and join the group; nothing is written yet."""
    where = local_device(resolve(device))
    target = Path(folder)
    if not resume and (target / STATE_NAME).exists():
        raise OptionError(
            f"{target} already holds a training run: resume it, or choose another folder"
        )
    if not resume and target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OptionError(f"{target} is not an empty folder: choose another one")
    if where.type == "cuda":
        torch.cuda.set_device(where)
    return Place(target, where, join(where))


def _meta(config: RunConfig, place: Place) -> dict[str, Any]:
    """Return what a model's description says about its training, whatever comes of it."""
    return {
        "command": shlex.join(sys.argv),
        "commit": source_commit(),
        "seed": config.train.seed,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if place.device.type == "cuda" else "cpu",
        "config": asdict(config),
    }


def source_commit() -> str | None:
    """Return the commit of a source checkout, None for an installed package.

    A copy of a checkout without its history is told by the variable DEEPSTEINER_COMMIT.
    """
    if told := os.environ.get("DEEPSTEINER_COMMIT"):
        return told
    call = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(call, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None
