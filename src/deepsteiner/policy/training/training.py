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
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ...core.errors import FormatError, OptionError
from ...core.models import DESCRIPTIONS, find_model
from ...core.points import FloatArray
from ...io.atomic import atomic_write
from .. import device as devices
from ..candidates import CandidateSpec
from ..environment import Environment
from ..network import MaskedBatchNorm, NetworkConfig, Policy
from ..tours.files import read_weights
from ..tours.network import TourModel
from ..tours.pretrain import TourReinforce
from .config import Config, PretrainConfig, as_tables, from_tables
from .distill import Distill
from .group import Group, join, leave, local_device
from .instances import TrainingStream, pad, validation_set
from .reinforce import Reinforce
from .runlog import RunLog
from .state import NAME as STATE_NAME
from .trainer import Objective, Trainer
from .transfer import transfer
from .validation import Validation

# Tokens (points and candidates) of the largest batch that is rolled out without gradients.
ROLLOUT_TOKENS = 4_000_000
LARGEST_ROLLOUT = 10_240
DTYPES = {"float32": torch.float32, "bfloat16": torch.float32, "float64": torch.float64}

Optima = Callable[[FloatArray | list[FloatArray]], FloatArray | None]


@dataclass(frozen=True)
class Outcome:
    """How a run ended ("finished", "stopped", "interrupted") and what it measured last."""

    status: str
    step: int
    results: dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where a run happens: folder, device, group, and how it was asked for."""

    folder: Path
    device: torch.device
    group: Group
    command: str


def train(
    config: Config,
    folder: Path | str,
    *,
    device: str = "auto",
    resume: bool = False,
    minutes: float | None = None,
    optima: Optima | None = None,
    quiet: bool = False,
    command: str | None = None,
) -> Outcome:
    """Train a policy, or go on with a run.

    `optima` finds the optimal lengths of validation instances whose file gives none; it may
    return None where that would take too long.
    """
    place = open_place(folder, device, resume, command)
    return _run(policy_trainer(config, place, optima), config, resume, minutes, quiet)


def pretrain(
    config: PretrainConfig,
    folder: Path | str,
    *,
    device: str = "auto",
    resume: bool = False,
    minutes: float | None = None,
    quiet: bool = False,
    command: str | None = None,
) -> Outcome:
    """Train a tour model, or go on with a run."""
    place = open_place(folder, device, resume, command)
    return _run(tour_trainer(config, place), config, resume, minutes, quiet)


def policy_trainer(config: Config, place: Place, optima: Optima | None = None) -> Trainer:
    """Return a trainer of policies at its first step; nothing is written yet."""
    precision = config.train.precision
    dtype = DTYPES[precision]
    stream = TrainingStream(config.data, config.train.batch, place.group, place.device, dtype)
    points, optimal = validation_set(config.data, config.validation)
    policy, note = _policy(config, place.device, dtype)
    if optimal is None and optima is not None:
        optimal = optima(points)
    spec = CandidateSpec(**asdict(config.candidates))
    held_out = pad(points).to(place.device, dtype)
    meta = {**_meta(config, place), "start": note}
    if before := _seen_by_start(config.train.start):
        meta["instances_before"] = before
    validation = Validation(held_out, optimal, spec, meta)
    objective: Objective
    if config.train.objective == "distill":
        objective = Distill(
            policy,
            Environment(spec, "inference"),
            config.distill,
            validation,
            group=place.group,
            precision=precision,
        )
    else:
        tokens = spec.number(2 * stream.size - 2) + 2 * stream.size
        objective = Reinforce(
            policy,
            Environment(spec, config.train.criterion),
            stream,
            config.reinforce,
            validation,
            group=place.group,
            precision=precision,
            chunk=max(1, min(LARGEST_ROLLOUT, ROLLOUT_TOKENS // tokens)),
        )
    if config.train.compile:
        policy.encoder.compile(dynamic=True)
    return _trainer(objective, stream, config, place, note)


def tour_trainer(config: PretrainConfig, place: Place) -> Trainer:
    """Return a trainer of tour models at its first step; nothing is written yet."""
    data, dtype = config.data, DTYPES[config.train.precision]
    if data.path is None:
        data = replace(data, name="uniform", n=config.tour.n)
    stream = TrainingStream(data, config.train.batch, place.group, place.device, dtype)
    held_out = pad(validation_set(data, config.validation)[0]).to(place.device, dtype)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.train.seed)
        model = TourModel(NetworkConfig(**asdict(config.network)), config.tour.clip)
    objective = TourReinforce(
        model.to(place.device, dtype),
        stream,
        config,
        held_out,
        group=place.group,
        meta=_meta(config, place),
    )
    return _trainer(objective, stream, config, place, None)


def _trainer(
    objective: Objective,
    stream: TrainingStream,
    config: Config | PretrainConfig,
    place: Place,
    note: str | None,
) -> Trainer:
    for module in objective.modules():
        if isinstance(module, MaskedBatchNorm):
            module.across_processes = place.group.world > 1
    return Trainer(
        objective,
        stream,
        config.train,
        config.validation,
        place.folder,
        group=place.group,
        note=note,
    )


def read_config(folder: Path | str, root: type[Any]) -> Any:
    """Return the configuration of the run in a folder."""
    path = Path(folder) / "config.json"
    if not path.is_file():
        raise FormatError(f"there is nothing to resume: {path} does not exist")
    return from_tables(json.loads(path.read_text(encoding="utf-8")), root, str(path))


def _run(
    trainer: Trainer,
    config: Config | PretrainConfig,
    resume: bool,
    minutes: float | None,
    quiet: bool,
) -> Outcome:
    if resume:
        trainer.resume()
    leads = trainer.group.leads
    if leads:
        trainer.folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(trainer.folder / "config.json") as target:
            json.dump(as_tables(config), target, indent=1)
    log = RunLog(trainer.folder if leads else None, quiet=quiet)
    try:
        status = trainer.run(log, minutes)
    finally:
        log.close()
    # After an error the others cannot be waited for: whoever started them ends them.
    trainer.part()
    leave(trainer.group)
    return Outcome(status, trainer.step, trainer.results)


def open_place(
    folder: Path | str, device: str = "auto", resume: bool = False, command: str | None = None
) -> Place:
    """Check folder and device and join the group; nothing is written yet."""
    where = local_device(devices.resolve(device))
    target = Path(folder)
    if not resume and (target / STATE_NAME).exists():
        raise OptionError(
            f"{target} already holds a training run: resume it, or choose another folder"
        )
    if not resume and target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OptionError(f"{target} is not an empty folder: choose another one")
    if where.type == "cuda":
        torch.cuda.set_device(where)
    return Place(target, where, join(where), command or shlex.join(sys.argv))


def _policy(config: Config, device: torch.device, dtype: torch.dtype) -> tuple[Policy, str | None]:
    """Return the network to train, and a note on what it starts from."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.train.seed)
        policy = Policy(NetworkConfig(**asdict(config.network)))
    note = None
    if config.train.start is not None:
        source = find_model(config.train.start, "policy", "tour")
        moved = transfer(read_weights(source), policy)
        if not moved.loaded:
            raise OptionError(f"train.start: no tensor of {source} fits this network")
        note = f"start from {config.train.start}: {moved}"
    return policy.to(device, dtype), note


def _seen_by_start(start: str | None) -> int:
    """Return how many instances the policy has seen that a training begins with, itself or before.

    Tours do not count.
    """
    if start is None:
        return 0
    described = find_model(start, "policy", "tour") / DESCRIPTIONS["policy"]
    meta = json.loads(described.read_text(encoding="utf-8"))
    if "candidates" not in meta:
        return 0
    seen = meta.get("step", 0) * meta["config"]["train"]["batch"]
    return int(seen + meta.get("instances_before", 0))


def _meta(config: Config | PretrainConfig, place: Place) -> dict[str, Any]:
    return {
        "command": place.command,
        "commit": source_commit(),
        "seed": config.train.seed,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if place.device.type == "cuda" else "cpu",
        "config": as_tables(config),
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
