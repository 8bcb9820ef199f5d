"""The rows behind the tables: what `bench --plan paper` measures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core.errors import OptionError
from ..models import Model, shipped_policies
from ..runner import Task
from ..specs import DatasetSpec, MethodSpec, parse_method
from .entries import (
    BERETA_ITERATIONS,
    CANDIDATES,
    EFFORTS,
    PAPER_SETS,
    USES_OF_IMAGES,
    USES_WITHOUT_IMAGES,
    lookahead,
    policy,
)

FULL_COUNT = 10_000
# This effort lists trees as the exact solver does, one instance after the other.
SLOW_METHOD, SLOW_COUNT = "local:effort=best", 1000
# Sizes beyond those of training, with the number of instances (optima cost up to 50 ms each).
LARGER = {30: 1000, 50: 500, 100: 100}
K_STARS, K_NEIGHBORS, GRIDS = (3, 5, 9, 15), (2, 3, 5), (5, 10, 15, 20, 30)
# A processor needs about 0.1 s for an instance of ten points and half a second for twenty, and
# many times as much for the costly uses of a model.
POLICY_COUNTS_ON_CPU = {"D1": 300, "D2": 100, "D3": 300, "DEG": 300}
COSTLY_COUNTS_ON_CPU = {"D1": 50, "D2": 20, "D3": 50, "DEG": 50}
LARGER_POLICY_ON_CPU = 30
# An accelerator plays instances of up to 64 points together and larger ones one by one.
LARGER_POLICY_ON_GPU = {30: 1000, 50: 500, 100: 20}
# What models are asked to do on data that they were not trained on.
ELSEWHERE = ("plain", "refined", "x8 refined")

# Table 1, besides the policies.
CLASSICAL = [
    *("mst", "exact", "rand1:distribution=uniform", "rand1:distribution=normal"),
    *(
        f"{method}={flag}"
        for options in CANDIDATES.values()
        for method in (f"rand2:{options},keep_worsening", f"greedy:{options},relax")
        for flag in (False, True)
    ),
    *("smith", "thompson", "dreyer"),
    *(f"bereta:iterations={number}" for number in BERETA_ITERATIONS),
    *(f"{method}:effort={effort}" for method in ("local", "neural") for effort in EFFORTS),
]


def points_per_arc(k_star: int, neighbours: int | None = None) -> str:
    """Return the lookahead with k* points per arc: over MST edges, or to k' neighbours."""
    near = "" if neighbours is None else f",candidates=knn,k_neighbors={neighbours}"
    return lookahead(f"k_star={k_star}{near}")


def grid_size(size: int) -> str:
    """Return the lookahead on a grid of size × size points."""
    return lookahead(f"{CANDIDATES['grid']},grid={size}")


# The lookahead by k*, k' and grid size.
STUDY = [
    *(points_per_arc(k) for k in K_STARS),
    *(points_per_arc(k, near) for k in K_STARS for near in K_NEIGHBORS),
    *(grid_size(size) for size in GRIDS),
]
SIZE_METHODS = {
    "minimum spanning tree": "mst",
    "lookahead, MST": lookahead(),
    "lookahead, MST, relaxed": "greedy",
    "smith": "smith",
    "local, fast": "local:effort=fast",
    "local, default": "local",
    "neural, fast": "neural:effort=fast",
    "neural, default": "neural",
    "exact": "exact",
}


def paper_plan(
    *,
    device: str = "cpu",
    files: Mapping[str, str] | None = None,
    models: Sequence[Model] | None = None,
    count: int | None = None,
) -> list[Task]:
    """Return the tasks of all tables for a device, dataset by dataset.

    Methods that cannot use an accelerator are left out on one. `files` may hold the paths of DEG
    and of the authors' D1, which are otherwise left out. `models` are the trained models, by
    default those of the package. `count` replaces the number of instances everywhere.
    """
    trained = shipped_policies() if models is None else models
    named = [DatasetSpec(name) for name in PAPER_SETS]
    named += [DatasetSpec(name, path=path) for name, path in (files or {}).items()]
    tasks: list[Task] = []
    for dataset in named:
        if device == "cpu":
            tasks += _classical_tasks(dataset)
        tasks += _policy_tasks(dataset, trained, device)
    for n in LARGER:
        tasks += _size_tasks(n, trained, device)
    if count is not None:
        tasks = [replace(task, count=count) for task in tasks]
    return _without_repeats(tasks)


def _classical_tasks(dataset: DatasetSpec) -> Iterator[Task]:
    count = FULL_COUNT if dataset.path is None else None
    for method in CLASSICAL:
        number = SLOW_COUNT if method == SLOW_METHOD else count
        yield Task(dataset, parse_method(method), number, group=f"classical {_tables_of(dataset)}")
    if dataset == DatasetSpec("D1"):
        for method in STUDY:
            yield Task(dataset, parse_method(method), count, group="classical study")


def _policy_tasks(dataset: DatasetSpec, models: Iterable[Model], device: str) -> Iterator[Task]:
    for model in models:
        home = model.facts.get("data") == dataset.name and dataset.path is None
        if not home and not (model.kind == "mst" and _is_main(model)):
            continue
        uses: Iterable[str] = ["plain"]
        if model.is_distilled and _is_main(model):
            uses = _uses(model, home=home or device != "cpu")
            if not home and model.sees_coordinates:
                uses = [use for use in uses if use in ELSEWHERE]
        group = f"learned {_tables_of(dataset) if home or dataset.path else 'table3'}"
        for use in uses:
            number = _policy_count(dataset, use, device, model.kind)
            yield Task(dataset, policy_spec(model, use), number, group=group)


def _uses(model: Model, *, home: bool) -> tuple[str, ...]:
    if not home:
        return ("plain",)
    return USES_OF_IMAGES if model.sees_coordinates else USES_WITHOUT_IMAGES


def _tables_of(dataset: DatasetSpec) -> str:
    if dataset.path is None:
        return "table1 table2 table3"
    return "table8" if dataset.name == "D1" else "table3"


def _policy_count(dataset: DatasetSpec, use: str, device: str, kind: str) -> int | None:
    """Return how many instances a use gets; KNN candidates, three times as many, get fewer."""
    costly, share = use not in ("plain", "refined"), 5 if kind == "knn" else 1
    if device == "cpu":
        return (COSTLY_COUNTS_ON_CPU if costly else POLICY_COUNTS_ON_CPU)[dataset.name] // share
    if dataset.path is not None:
        return None
    # Twenty points take several times the work of ten.
    return FULL_COUNT // (share * (4 if dataset.name == "D2" else 1) if costly else 1)


def _size_tasks(n: int, models: Iterable[Model], device: str) -> Iterator[Task]:
    dataset, count = DatasetSpec("uniform", n), LARGER_POLICY_ON_GPU[n]
    if device == "cpu":
        for method in SIZE_METHODS.values():
            yield Task(dataset, parse_method(method), LARGER[n], group="classical sizes")
        if n > min(LARGER):
            return  # a policy takes minutes per instance
        count = LARGER_POLICY_ON_CPU
    for model in models:
        trained_here = model.is_distilled and model.facts.get("data") in ("D1", "D2")
        if trained_here and model.kind == "mst" and _is_main(model):
            for use in ("plain", "refined"):
                yield Task(dataset, policy_spec(model, use), count, group="learned sizes")


def policy_spec(model: Model, use: str) -> MethodSpec:
    """Return the method `policy` with a model in one of its uses."""
    # A model may lie in a folder whose name cannot stand in a method's text.
    options = parse_method(policy("", use)).options
    return MethodSpec("policy", {**options, "model": model.argument})


def _is_main(model: Model) -> bool:
    """Return whether a model has the paper's candidates, and is not one of a study."""
    usual = {"k_star": 9, "k_neighbors": 3, "grid": 10}
    return all(model.facts["candidates"].get(key, usual[key]) == usual[key] for key in usual)


def _without_repeats(tasks: Iterable[Task]) -> list[Task]:
    """Join tasks that make the same row, which then belongs to both groups."""
    found: dict[tuple[Any, ...], Task] = {}
    for task in tasks:
        key = (task.dataset, task.method.text, task.count)
        groups = f"{found[key].group} {task.group}" if key in found else task.group
        found[key] = replace(task, group=" ".join(dict.fromkeys(groups.split())))
    return list(found.values())


def only(tasks: Iterable[Task], filters: Sequence[str]) -> list[Task]:
    """Keep the tasks that any filter fits: each of its words begins a word of the label."""
    wanted = [text.lower().split() for text in filters]
    kept = [task for task in tasks if not wanted or any(_fits(task, words) for words in wanted)]
    if not kept:
        raise OptionError(f"no row of the plan matches {', '.join(map(repr, filters))}")
    return kept


def _fits(task: Task, words: Iterable[str]) -> bool:
    tokens = re.split(r"[\s:,]+", task.label.lower())
    return all(any(token.startswith(word) for token in tokens) for word in words)
