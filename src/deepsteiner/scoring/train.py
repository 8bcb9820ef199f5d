"""Train the network behind `neural` from files of proven shortest trees.

    deepsteiner generate mixture --labels --count 5000 --split train -O labels.npz
    deepsteiner train --labels labels.npz --out models/neural

(or `python -m deepsteiner.scoring.train labels.npz --out models/neural`).

The label of a full Steiner tree is whether it is part of the shortest tree. Trees are listed as
the method lists them; a part with more terminals than the list goes to is left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import save as save_tensors
from torch import nn

from ..core.options import option
from ..core.points import Array, Frame
from ..io.model_folders import write_model
from .device_network import numbered_through
from .labels import MIXTURE, Label, kinds_of, load_labels, source_of
from .network import ROUNDS, ListGraph, ListNetwork
from .network_kernels import FEATURES, RELATIONS, Described
from .vector_kernels import WIDTH

LARGEST = 6
# Terminals in one step of training.
STEP_TERMINALS = 800


@dataclass(frozen=True)
class Settings:
    """How long and how fast to train."""

    epochs: int = option(40, "how often every label is seen", minimum=1)
    rounds: int = option(ROUNDS, "rounds of messages", minimum=1)
    rate: float = option(6e-3, "the learning rate at its highest", minimum=0.0)
    seed: int = option(0, "of the weights and of the order", minimum=0)


@dataclass(frozen=True)
class Validation:
    """What the network is judged by."""

    path: str | None = option(None, "a label file of the validation split")


@dataclass(frozen=True)
class ScoresConfig:
    """The tables of `deepsteiner train --labels`."""

    scores: Settings = field(default_factory=Settings)
    validation: Validation = field(default_factory=Validation)


@dataclass(frozen=True)
class Part:
    """Which labels to learn from: not these kinds, and no more points than that."""

    without: tuple[str, ...] = ()
    most_points: int | None = None

    def of(self, path: str) -> list[Label]:
        """Return the labels of a file that belong to this part."""
        labels, most = load_labels(path), self.most_points
        kinds = kinds_of(path, labels) if self.without else [""] * len(labels)
        return [
            label
            for label, kind in zip(labels, kinds, strict=True)
            if kind not in self.without and (most is None or len(label.points) <= most)
        ]


class Lesson(NamedTuple):
    """Lists of full Steiner trees as one graph, and whether each is part of its shortest tree."""

    graph: ListGraph
    labels: torch.Tensor


def describe_label(label: Label) -> tuple[Described, Array]:
    """Return what the network sees of one instance's list, and which trees it should choose.

    The list is wider than the method's own: the network is then taught more of what not to choose.
    """
    from ..fst.component_kernels import components
    from ..fst.enumerate.nearby.neighbour_kernels import ON_ONE, ON_TWO
    from ..fst.enumerate.nearby.small_listing_kernels import list_grown
    from .network_kernels import described

    frame = Frame.of(label.points)
    points = frame.into(label.points)
    trees = list_grown(points, LARGEST, ON_ONE, ON_TWO)
    _, start, terminals, length, _ = trees
    at, members, *_ = components(points, frame.into(label.steiner), label.edges)
    wanted = {tuple(sorted(members[at[i] : at[i + 1]])) for i in range(len(at) - 1)}
    best: dict[tuple[int, ...], int] = {}
    for f in range(len(length)):
        name = tuple(sorted(terminals[start[f] : start[f + 1]]))
        if name in wanted and (name not in best or length[f] < length[best[name]]):
            best[name] = f
    chosen = np.zeros(len(length), dtype=np.bool_)
    chosen[list(best.values())] = True
    return described(trees, True), chosen


def lessons_of(labels: Sequence[Label]) -> list[Lesson]:
    """Return the labels' lists as graphs of about STEP_TERMINALS terminals each."""
    lessons: list[Lesson] = []
    parts: list[tuple[Described, Array]] = []
    terminals = 0
    for label in labels:
        if len(np.unique(label.points, axis=0)) < max(len(label.points), 4):
            continue
        parts.append(describe_label(label))
        terminals += len(label.points)
        if terminals >= STEP_TERMINALS:
            lessons.append(_joined(parts))
            parts, terminals = [], 0
    return [*lessons, _joined(parts)] if parts else lessons


def _joined(parts: Sequence[tuple[Described, Array]]) -> Lesson:
    lists, chosen = zip(*parts, strict=True)
    labels = torch.as_tensor(np.concatenate(chosen), dtype=torch.float32)
    return Lesson(ListGraph.of(numbered_through(lists)), labels)


def train(lessons: Sequence[Lesson], settings: Settings) -> ListNetwork:
    """Return a network trained on the lessons; the same on every run with one thread."""
    torch.manual_seed(settings.seed)
    network = ListNetwork(settings.rounds)
    steps = settings.epochs * len(lessons)
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, settings.rate, total_steps=steps + 1)
    order = np.random.default_rng(settings.seed)
    began = time.perf_counter()
    for epoch in range(settings.epochs):
        total = 0.0
        for index in order.permutation(len(lessons)):
            graph, labels = lessons[index]
            loss = nn.functional.binary_cross_entropy_with_logits(network(graph), labels)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            total += loss.item()
        spent = time.perf_counter() - began
        print(f"epoch {epoch + 1}: loss {total / len(lessons):.4f}, {spent:.0f} s", flush=True)
    return network


def evaluate(network: ListNetwork, lessons: Sequence[Lesson]) -> dict[str, float]:
    """Return the mean loss, and the share of unneeded trees below every needed one but some.

    `dropped_at_0.001` is the share of all unneeded trees with a smaller logit than all but one in
    a thousand of the needed ones.
    """
    with torch.no_grad():
        logits = torch.cat([network(graph) for graph, _ in lessons])
    labels = torch.cat([labels for _, labels in lessons])
    loss = nn.functional.binary_cross_entropy_with_logits(logits, labels)
    needed, unneeded = logits[labels > 0.5].numpy(), logits[labels < 0.5].numpy()
    facts = {"loss": float(loss)}
    for missed in (1e-2, 1e-3, 1e-4):
        bar = np.quantile(needed, missed, method="lower")
        facts[f"dropped_at_{missed:g}"] = float((unneeded < bar).mean())
    return facts


def generation_of(path: str) -> list[str]:
    """Return the command that made a label file, where the file says so."""
    match source_of(path).split():
        case [kind, count, seed, split]:
            drawn = f"--labels --split {split} --count {count} --seed {seed}"
            return [f"deepsteiner generate {kind} {drawn} -O {Path(path).name}"]
    return []


def card_of(network: ListNetwork, facts: Mapping[str, Any]) -> str:
    """Return the card's text."""
    cost, kinds = facts["label_minutes"], dict.fromkeys(kind for kind, *_ in MIXTURE)
    learned = ", ".join(kind for kind in kinds if kind not in facts["without"])
    spent = "" if cost is None else f"; proving them takes about {cost:g} minutes of one core"
    commands = "\n".join(f"      {line}" for line in (*facts["made"], facts["command"]))
    return f"""\
# neural

Scores the full Steiner trees of a list: is this one part of the shortest tree?

- network: {facts["rounds"]} rounds of messages between trees that share a terminal, states of \
{WIDTH} numbers, {sum(value.numel() for value in network.parameters()):,} weights
- labels: {facts["instances"]:,} instances of 10 to {facts["most_points"]} points with proven \
shortest trees ({learned}), from training streams; no test instance was trained on{spent}
- training: cross-entropy, {facts["epochs"]} epochs, Adam, one cycle up to {facts["rate"]:g}, \
seed {facts["seed"]}, {facts["minutes"]:.1f} minutes on one core
- validation: {json.dumps(facts["validation"])}
- made with torch {facts["torch"]}:

{commands}

Limits: a score is no proof. The method therefore keeps every tree above a low bar, \
and enough edges of the spanning tree for it never to return a longer tree.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Read labels, train, write the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels", nargs="+", help="label files of the training split")
    parser.add_argument("--validation", help="a label file of the validation split")
    parser.add_argument("--out", type=Path, required=True, help="the model's folder")
    for name, default in asdict(Settings()).items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    kinds = sorted({kind for kind, *_ in MIXTURE})
    parser.add_argument(
        "--without", nargs="+", choices=kinds, default=[], help="kinds to leave out of training"
    )
    parser.add_argument("--most-points", type=int, help="leave out larger instances")
    parser.add_argument("--label-minutes", type=float, help="what the labels took, for the card")
    given = parser.parse_args(arguments)
    part = Part(tuple(given.without), given.most_points)
    settings = Settings(given.epochs, given.rounds, given.rate, given.seed)
    words = sys.argv[1:] if arguments is None else arguments
    command = f"python -m deepsteiner.scoring.train {' '.join(words)}"
    made = {"command": command, "label_minutes": given.label_minutes}
    config = ScoresConfig(settings, Validation(given.validation))
    print(json.dumps(train_files(given.labels, config, given.out, made, part)))


def train_files(
    paths: Sequence[str],
    config: ScoresConfig,
    out: Path,
    made: Mapping[str, Any],
    part: Part | None = None,
) -> dict[str, float]:
    """Train on label files and write the model; return what validation says of it.

    `made` says by which command, and what the labels took; both go into the description.
    """
    part, settings = part or Part(), config.scores
    torch.set_num_threads(1)
    labels = [label for path in paths for label in part.of(path)]
    lessons = lessons_of(labels)
    began = time.perf_counter()
    network = train(lessons, settings)
    minutes = (time.perf_counter() - began) / 60.0
    held_out = [config.validation.path] if config.validation.path else []
    facts = {
        "features": FEATURES,
        "relations": RELATIONS,
        "width": WIDTH,
        "label_minutes": None,
        **made,
        "labels": [source_of(path) for path in paths],
        "made": [line for path in (*paths, *held_out) for line in generation_of(path)],
        "instances": len(labels),
        "without": part.without,
        "most_points": max((len(label.points) for label in labels), default=0),
        **asdict(settings),
        "minutes": minutes,
        "torch": torch.__version__,
        "validation": evaluate(network, lessons_of(load_labels(*held_out))) if held_out else {},
    }
    tensors = {name: value.detach().contiguous() for name, value in network.state_dict().items()}
    write_model(out, "neural", save_tensors(tensors), facts, card_of(network, facts))
    found: dict[str, float] = facts["validation"]
    return found


if __name__ == "__main__":
    main()
