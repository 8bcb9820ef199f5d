"""`deepsteiner train`: policies, by REINFORCE or by lookahead distillation."""

from __future__ import annotations

from typing import Any

from ..training import (
    ConfigOption,
    DeviceOption,
    JsonOption,
    MinutesOption,
    OutOption,
    QuietOption,
    ResumeOption,
    SetOption,
    is_first_process,
    load_config,
    need_torch,
    report,
)

# Up to this size the optima of validation instances are quickly found.
LARGEST_SOLVED = 20


def train(
    out: OutOption,
    config: ConfigOption = None,
    set_: SetOption = None,
    device: DeviceOption = "auto",
    resume: ResumeOption = False,
    minutes: MinutesOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a policy.

    Flavours (paper, paper-short, distill), candidates (mst, knn, grid, all), criteria
    (first-selection, first-increment, all-selection) and data (d1, d2, d3) are composed with
    --config; mst-d1 to grid-d3 are those of the shipped models. Several GPUs:
    torchrun --nproc-per-node 2 -m deepsteiner train ...

    \b
    Examples:
      deepsteiner train --config distill --config mst --out runs/mst-d1 --device cuda
      deepsteiner train -c paper-short -c knn -c first-increment -c d2 --out runs/knn
      deepsteiner train --resume --out runs/knn --minutes 10
    """
    from ...policy.training.config import Config

    chosen = load_config(config, set_, "distill", out, resume, Config)
    need_torch()
    from ...policy.training import training

    outcome = training.train(
        chosen,
        out,
        device=device,
        resume=resume,
        minutes=minutes,
        optima=_validation_optima if is_first_process() else None,
        quiet=quiet,
    )
    report(outcome, out, "gap", " %", as_json)


def _validation_optima(points: Any) -> Any:
    """Return optimal lengths of validation instances, or None where finding them takes long."""
    from ...batch import solve_many

    if max(len(instance) for instance in points) > LARGEST_SOLVED:
        return None
    return solve_many(points, "exact").lengths
