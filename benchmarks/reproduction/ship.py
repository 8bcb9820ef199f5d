"""Put one model of each cell of the printed recipe beside the shipped ones, with its card.

    python -m benchmarks.reproduction.ship runs/printed
    python -m benchmarks.reproduction.ship runs/better

Of several seeds the one with the smallest gap on validation instances is taken. The weights are
those that `measure.py` measured, byte for byte; the card says what it found on the test set. From
a folder of the plan "better" only the relative network is taken; its card is the run's own.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from deepsteiner.benchmark.printed_recipe import READINGS, Training, cell, stored_trainings
from deepsteiner.core.models import SHIPPED
from deepsteiner.io.model_folders import write_model
from deepsteiner.policy.cards import policy_card

COMMAND = "python -m benchmarks.reproduction.train --plan {plan} --out runs/{plan}"
RELATIVE = "relative"


def chosen() -> dict[str, tuple[Training, int]]:
    """Return the training of each cell and its number of seeds, by the name of its model.

    Only trainings that are finished count.
    """
    found = {}
    for kind in ("mst", "knn", "grid"):
        for data in ("d1", "d2", "d3"):
            finished = [one for one in cell(stored_trainings(), kind, data) if one.finished]
            if finished:
                best = min(finished, key=lambda one: one.curve[-1][1])
                found[f"paper-{kind}-{data}"] = best, len(finished)
    return found


def card_of(name: str, training: Training, seeds: int, text: str, command: str) -> str:
    """Return the run's card under the model's name, with its figures on the test set."""
    lines = text.replace(command, COMMAND.format(plan="printed")).splitlines()
    gaps = [training.gaps[f"{training.data}_{reading}"] for reading in READINGS]
    stopped, kept = (f"{mean:.3f} ± {error:.3f} %" for mean, error, _ in gaps)
    one = f"the best on validation instances of {seeds} seeds"
    measured = (
        f"On {gaps[0][2]:,} test instances, with these 16-bit weights: {stopped}; {kept} with the "
        f"point that lengthens the tree kept, as Algorithm 1 is printed. The recipe as printed, "
        f"{one if seeds > 1 else 'one seed'}.\n"
    )
    limits = next(k for k, line in enumerate(lines) if line.startswith("Limits:"))
    return "\n".join([f"# {name}", *lines[1:limits], measured, *lines[limits:]]) + "\n"


def ship_printed(folder: Path) -> None:
    """Write the models of the cells that a folder of runs holds."""
    command = COMMAND.format(plan="printed")
    for name, (training, seeds) in chosen().items():
        model = folder / training.name / "model"
        if not model.is_dir():
            continue
        facts = json.loads((model / "config.json").read_text())
        card = card_of(name, training, seeds, (model / "card.md").read_text(), facts["command"])
        facts |= {"command": command, "seeds_tried": seeds, "test": training.gaps}
        weights = (model / "weights.safetensors").read_bytes()
        write_model(SHIPPED / name, "policy", weights, facts, card)
        print(name, training.name, training.weights)


def ship_relative(model: Path) -> None:
    """Write the relative network."""
    facts = json.loads((model / "config.json").read_text())
    facts["command"] = COMMAND.format(plan="better")
    weights = (model / "weights.safetensors").read_bytes()
    write_model(SHIPPED / RELATIVE, "policy", weights, facts, policy_card(RELATIVE, facts))
    print(RELATIVE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of the runs")
    folder: Path = parser.parse_args().folder
    if (folder / RELATIVE / "model").is_dir():
        ship_relative(folder / RELATIVE / "model")
    else:
        ship_printed(folder)


if __name__ == "__main__":
    main()
