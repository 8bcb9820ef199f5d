"""`deepsteiner pretrain`: a model of tours, to start policies from."""

from __future__ import annotations

from ..training import (
    ConfigOption,
    DeviceOption,
    JsonOption,
    MinutesOption,
    OutOption,
    QuietOption,
    ResumeOption,
    SetOption,
    load_config,
    need_torch,
    report,
)


def pretrain(
    out: OutOption,
    config: ConfigOption = None,
    set_: SetOption = None,
    device: DeviceOption = "auto",
    resume: ResumeOption = False,
    minutes: MinutesOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train an attention model on tours of 20 cities.

    A policy starts from it with `deepsteiner train --set train.start=FOLDER/model`.

    \b
    Examples:
      deepsteiner pretrain --out runs/tsp20 --device cuda --minutes 10
      deepsteiner pretrain --out runs/small --set tour.n=10 --set train.epochs=5
    """
    from ...policy.training.config import PretrainConfig

    chosen = load_config(config, set_, "tsp20", out, resume, PretrainConfig)
    need_torch()
    from ...policy.training import training

    outcome = training.pretrain(
        chosen, out, device=device, resume=resume, minutes=minutes, quiet=quiet
    )
    report(outcome, out, "tour_length", "", as_json)
