"""Setting up and running a training: from a configuration to a folder with a model.

The folder holds `config.json` (the whole configuration), `log.jsonl`, `events/` (TensorBoard),
`training.safetensors` (to go on from) and `model/` (what `policy` loads).
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from ...core.errors import OptionError
from ...io.atomic import atomic_write
from ..device import resolve
from ..kit.registries import OBJECTIVES
from ..tours.problem import Tours
from .config import RUN_CONFIG, Config, PretrainConfig, RunConfig
from .group import Place, join, leave, local_device
from .reinforce import Reinforce
from .runlog import RunLog
from .state import NAME as STATE_NAME
from .steiner import Optima, Steiner
from .trainer import Objective, Trainer


@dataclass(frozen=True)
class Outcome:
    """How a run ended ("finished", "stopped", "interrupted") and what it measured last."""

    status: str
    step: int
    results: dict[str, Any]


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
    """Train a policy or a tour model, or go on with a run.

    Parameters
    ----------
    config : Config or PretrainConfig
        What to train: a policy or a tour model.
    folder : path
        Where the run is kept.
    device : {"cpu", "cuda", "auto"}
        Where to train.
    resume : bool
        Go on with the run in the folder.
    minutes : float or None
        Stop cleanly after this long.
    optima : callable or None
        Finds the optimal lengths of validation instances whose file gives none; it may return
        None where that would take too long.
    quiet : bool
        Show no progress line.

    Returns
    -------
    Outcome
        How the run ended, and what it measured last.

    Raises
    ------
    OptionError
        If the folder is in use, or a setting does not fit the data.
    FormatError
        If a file is missing, damaged, or of another configuration.

    Examples
    --------
    >>> import tempfile
    >>> from deepsteiner.policy.training.config import load
    >>> tiny = ["network.layers=1", "network.dim=8", "network.heads=2", "network.ff=8"]
    >>> tiny += ["data.instances=32", "train.epochs=2", "validation.instances=4"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = train(load(["distill", "d1"], [*tiny, "train.batch=16"]), folder, quiet=True)
    >>> outcome.status, outcome.step
    ('finished', 4)
    """
    trainer = new_trainer(config, open_place(folder, device, resume), optima)
    if resume:
        trainer.resume()
    leads = trainer.group.leads
    if leads:
        trainer.folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(trainer.folder / RUN_CONFIG) as target:
            json.dump(asdict(config), target, indent=1)
    with closing(RunLog(trainer.folder if leads else None, quiet=quiet)) as log:
        status = trainer.run(log, minutes)
    # After an error the others cannot be waited for: whoever started them ends them.
    trainer.part()
    leave(trainer.group)
    return Outcome(status, trainer.step, trainer.results)


def new_trainer(config: RunConfig, place: Place, optima: Optima | None = None) -> Trainer:
    """Return a trainer at its first step; nothing is written yet."""
    if isinstance(config, PretrainConfig):
        return Trainer(Reinforce(Tours(config, place)), place.folder)
    assert isinstance(config, Config)
    problem = Steiner(config, place, optima)
    objective: Objective = OBJECTIVES[config.train.objective](problem)
    if config.train.compile:
        # Not its copies: a baseline is not trained.
        getattr(problem.model, "encoder", problem.model).compile(dynamic=True)
    return Trainer(objective, place.folder)


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
