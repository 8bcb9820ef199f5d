"""What `train` and `pretrain` share: their options, their configuration, and how they end."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..core.errors import MissingDependencyError, OptionError
from . import INTERRUPTED
from .study import Study, show, summary

if TYPE_CHECKING:
    from ..policy.training.training import Outcome

# Up to this many points, the optima of validation instances are found quickly.
LARGEST_SOLVED = 20


class Measure(NamedTuple):
    """What a training reports at its end: a name among its results, and a unit."""

    name: str
    unit: str = ""


def training_command(
    default: str, measure: Measure
) -> Callable[[Callable[[], type[Any]]], Callable[..., None]]:
    """Make a training command of a function that returns the class of its configurations.

    The function's docstring is the command's help; `default` is the configuration to begin with
    where none is given.
    """
    return lambda root: _command(root, default, measure)


def _command(root: Callable[[], type[Any]], default: str, measure: Measure) -> Callable[..., None]:
    def command(
        out: Annotated[
            str, typer.Option("--out", "-O", metavar="FOLDER", help="Where the run is kept.")
        ],
        config: Annotated[
            list[str] | None,
            typer.Option(
                "--config",
                "-c",
                metavar="NAME",
                help="A shipped configuration or a .toml file; repeatable, later ones win.",
            ),
        ] = None,
        set_: Annotated[
            list[str] | None,
            typer.Option("--set", metavar="TABLE.KEY=VALUE", help="Change one value; repeatable."),
        ] = None,
        device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
        resume: Annotated[
            bool, typer.Option("--resume", help="Go on with the run in --out.")
        ] = False,
        minutes: Annotated[
            float | None,
            typer.Option(min=0.0, help="Stop cleanly after this long; --resume goes on."),
        ] = None,
        labels: Annotated[
            list[str] | None,
            typer.Option(
                metavar="FILE",
                help="Train neural's scoring network on these labels instead; repeatable.",
            ),
        ] = None,
        seeds: Annotated[
            int, typer.Option(min=1, help="Train this often, with train.seed = 0, 1, ...")
        ] = 1,
        sweep: Annotated[
            list[str] | None,
            typer.Option(metavar="TABLE.KEY=A,B", help="Train with each value; repeatable."),
        ] = None,
        quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress line.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    ) -> None:
        from ..policy.training import config as configurations

        if labels:
            if resume or minutes is not None or seeds > 1 or sweep or root().__name__ != "Config":
                raise OptionError(
                    "--labels is for `train` alone, without --resume, --minutes, --seeds or --sweep"
                )
            _train_scores(labels, config or [], set_ or [], Path(out))
            return
        study = Study(seeds, sweep or [])
        variants = study.variants()
        if resume and config:
            raise OptionError("--resume goes on with the configuration of the run: drop --config")
        leads = os.environ.get("RANK", "0") == "0"  # among the processes of `torchrun`

        def chosen(folder: Path, changes: list[str]) -> Any:
            if resume:
                return configurations.load_run(folder, [*(set_ or []), *changes], root())
            return configurations.load(config or [default], [*(set_ or []), *changes], root())

        def one(folder: Path, changes: list[str]) -> Outcome:
            from ..policy.training.training import train

            return train(
                chosen(folder, changes),
                folder,
                device=device,
                resume=resume,
                minutes=minutes,
                optima=_validation_optima if leads else None,
                quiet=quiet,
            )

        if not resume:
            for changes in variants:
                chosen(Path(out), changes)  # mistakes come to light before the first training
        elif study.is_single:
            chosen(Path(out), [])
        if find_spec("torch") is None:
            raise MissingDependencyError("training needs torch: pip install 'deepsteiner[learn]'")
        if study.is_single:
            outcomes = [one(Path(out), [])]
            if leads:
                _report(outcomes[0], out, measure, as_json)
        else:
            rows = study.run(Path(out), one)
            outcomes = [outcome for row in rows for outcome in row["outcomes"]]
            if leads:
                _report_study(rows, measure, as_json)
        if outcomes[-1].status == "interrupted":
            raise typer.Exit(INTERRUPTED)

    command.__name__, command.__doc__ = root.__name__, root.__doc__
    return command


def _train_scores(labels: list[str], names: list[str], overrides: list[str], out: Path) -> None:
    """Train the scoring network of `neural` and print what validation says of it."""
    import json
    import shlex
    import sys

    if find_spec("torch") is None:
        raise MissingDependencyError("training needs torch: pip install 'deepsteiner[learn]'")
    from ..policy.training.config import load
    from ..scoring.train import ScoresConfig, train_files

    chosen = load(names, overrides, ScoresConfig)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OptionError(f"{out} is not an empty folder: choose another one")
    words = ["deepsteiner", *sys.argv[1:]]
    print(json.dumps(train_files(labels, chosen, out, {"command": shlex.join(words)})))


def _report_study(rows: list[dict[str, Any]], measure: Measure, as_json: bool) -> None:
    """Say how the runs of a study ended."""
    found = summary(rows, measure.name)
    if as_json:
        import json

        print(json.dumps(found))
    else:
        show(found, measure.name, measure.unit)


def _validation_optima(points: Any) -> Any:
    """Return optimal lengths of validation instances, or None where finding them takes long."""
    from ..batch import solve_many

    if max(len(instance) for instance in points) > LARGEST_SOLVED:
        return None
    return solve_many(points, "exact").lengths


def _report(outcome: Outcome, out: str, measure: Measure, as_json: bool) -> None:
    """Say how the run ended."""
    if as_json:
        import json

        print(json.dumps({"status": outcome.status, "step": outcome.step, **outcome.results}))
        return
    found = outcome.results.get(measure.name)
    name = measure.name.replace("_", " ")
    result = "" if found is None else f", {name} {found:.4g}{measure.unit}"
    print(f"{out}: {outcome.status} at step {outcome.step:,}{result}; model in {out}/model")
    if outcome.status != "finished":
        print(f"go on with --resume --out {out}")
