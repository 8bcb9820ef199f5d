"""What `train` and `pretrain` share: their options, their configuration, and how they end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import MissingDependencyError, OptionError
from . import INTERRUPTED

if TYPE_CHECKING:
    from ..policy.training.training import Outcome

ConfigOption = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        "-c",
        metavar="NAME",
        help="A shipped configuration or a .toml file; repeatable, later ones win.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="TABLE.KEY=VALUE", help="Change one value; repeatable."),
]
OutOption = Annotated[
    str, typer.Option("--out", "-O", metavar="FOLDER", help="Where the run is kept.")
]
DeviceOption = Annotated[str, typer.Option(help="cpu, cuda or auto.")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")]
MinutesOption = Annotated[
    float | None,
    typer.Option(min=0.0, help="Stop cleanly after this long; --resume goes on."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress line.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")]


def load_config(
    names: Sequence[str] | None,
    changes: Sequence[str] | None,
    default: str,
    out: str,
    resume: bool,
    root: type[Any],
) -> Any:
    """Return the configuration asked for, or that of the run to go on with."""
    from ..policy.training import config

    if not resume:
        return config.load(names or [default], changes or [], root)
    if names:
        raise OptionError("--resume goes on with the configuration of the run: drop --config")
    need_torch()
    from ..policy.training.training import read_config

    saved = config.as_tables(read_config(out, root))
    return config.load_over(saved, changes or [], root)


def need_torch() -> None:
    """Say in one sentence what to install where torch is missing."""
    if find_spec("torch") is None:
        raise MissingDependencyError("training needs torch: pip install 'deepsteiner[learn]'")


def is_first_process() -> bool:
    """Return whether this process is the one that reports, among those of `torchrun`."""
    return os.environ.get("RANK", "0") == "0"


def report(outcome: Outcome, out: str, measure: str, unit: str, as_json: bool) -> None:
    """Say how the run ended; an interrupted one exits with the code of Ctrl-C."""
    if is_first_process():
        if as_json:
            import json

            print(json.dumps({"status": outcome.status, "step": outcome.step, **outcome.results}))
        else:
            found = outcome.results.get(measure)
            result = "" if found is None else f", {measure.replace('_', ' ')} {found:.4g}{unit}"
            print(f"{out}: {outcome.status} at step {outcome.step:,}{result}; model in {out}/model")
            if outcome.status != "finished":
                print(f"go on with --resume --out {out}")
    if outcome.status == "interrupted":
        raise typer.Exit(INTERRUPTED)
