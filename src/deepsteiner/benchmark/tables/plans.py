"""The rows behind the tables: what `bench --plan paper` measures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...core.errors import OptionError
from ..models import Model, shipped_policies
from ..runner import Task
from ..specs import DatasetSpec, MethodSpec, method_spec

PAPER_SETS = ("D1", "D2", "D3")
KINDS = ("mst", "knn", "grid")
FULL_COUNT = 10_000
# This effort lists trees as the exact solver does, one instance after the other.
SLOW_METHOD, SLOW_COUNT = ("local", {"effort": "best"}), 1000
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

# The uses of a trained model: Algorithm 1 as printed, with coordinates as they are, and ours.
POLICY_USES: dict[str, dict[str, Any]] = {
    "plain": {},
    "refined": {"refine": True},
    "x8": {"augment": True},
    "x8 refined": {"augment": True, "refine": True},
    "sampled": {"decode": "sample"},
}

Entry = tuple[str, dict[str, Any]]


def candidate_options(kind: str) -> dict[str, Any]:
    """Return the options of a candidate kind; the paper's grid covers the unit square."""
    if kind == "grid":
        return {"candidates": "grid", "extent": "unit"}
    return {"candidates": kind}


def classical() -> list[Entry]:
    """Return the methods of Table 1 besides the policies."""
    entries: list[Entry] = [("mst", {}), ("exact", {})]
    entries += [("rand1", {"distribution": name}) for name in ("uniform", "normal")]
    for kind in KINDS:
        for keep in (False, True):
            entries.append(("rand2", {**candidate_options(kind), "keep_worsening": keep}))
        for relax in (False, True):
            entries.append(("greedy", {**candidate_options(kind), "relax": relax}))
    entries += [("smith", {}), ("thompson", {}), ("dreyer", {})]
    entries += [("bereta", {"iterations": number}) for number in (10, 20, 50)]
    for name in ("local", "neural"):
        entries += [(name, {"effort": effort}) for effort in ("fast", "default", "best")]
    return entries


def study() -> list[Entry]:
    """Return the lookahead rows on k*, k' and grid sizes."""
    bare = {"relax": False}
    entries: list[Entry] = [("greedy", {**bare, "k_star": k}) for k in K_STARS]
    for k in K_STARS:
        for near in K_NEIGHBORS:
            entries.append(
                ("greedy", {**bare, "candidates": "knn", "k_star": k, "k_neighbors": near})
            )
    entries += [("greedy", {**bare, **candidate_options("grid"), "grid": g}) for g in GRIDS]
    return entries


SIZE_METHODS: list[Entry] = [
    ("mst", {}),
    ("greedy", {"relax": False}),
    ("greedy", {}),
    ("smith", {}),
    ("local", {"effort": "fast"}),
    ("local", {}),
    ("neural", {"effort": "fast"}),
    ("neural", {}),
    ("exact", {}),
]


def paper_plan(
    *,
    device: str = "cpu",
    files: Mapping[str, str] | None = None,
    models: Sequence[Model] | None = None,
    count: int | None = None,
) -> list[Task]:
    """Return the tasks of all tables for a device, dataset by dataset.

    Methods that cannot use an accelerator are left out on one. `files` may hold the paths of DEG
    and of the authors' D1, which are left out without. `models` are the trained models, by
    default those of the package. `count` replaces the number of instances everywhere.
    """
    trained = shipped_policies() if models is None else list(models)
    named = [DatasetSpec(name) for name in PAPER_SETS]
    named += [DatasetSpec(name, path=path) for name, path in (files or {}).items()]
    tasks: list[Task] = []
    for dataset in named:
        if device == "cpu":
            tasks += _classical_tasks(dataset)
        tasks += _policy_tasks(dataset, trained, device)
    for n in LARGER:
        tasks += _size_tasks(DatasetSpec("uniform", n), trained, device)
    if count is None:
        return _without_repeats(tasks)
    return _without_repeats(
        Task(task.dataset, task.method, count, task.single, task.group) for task in tasks
    )


def _classical_tasks(dataset: DatasetSpec) -> Iterator[Task]:
    count = FULL_COUNT if dataset.path is None else None
    for name, options in classical():
        group = f"classical {_tables_of(dataset)}"
        number = SLOW_COUNT if (name, options) == SLOW_METHOD else count
        yield Task(dataset, method_spec(name, options), number, group=group)
    if dataset == DatasetSpec("D1"):
        for name, options in study():
            yield Task(dataset, method_spec(name, options), count, group="classical study")


def _policy_tasks(dataset: DatasetSpec, models: Iterable[Model], device: str) -> Iterator[Task]:
    for model in models:
        home = model.facts.get("data") == dataset.name and dataset.path is None
        abroad = model.facts["candidates"]["kind"] == "mst" and _is_main(model)
        if not home and not abroad:
            continue
        distilled = model.facts.get("objective") == "distill"
        uses = ["plain"]
        if distilled and _is_main(model):
            uses = list(POLICY_USES) if home else ["plain", "refined", "x8 refined"]
            if device == "cpu" and not home:
                uses = ["plain"]
        for use in uses:
            group = f"learned {_tables_of(dataset) if home or dataset.path else 'table3'}"
            number = _policy_count(dataset, use, device, model.facts["candidates"]["kind"])
            yield Task(dataset, policy_spec(model, use), number, group=group)


def _tables_of(dataset: DatasetSpec) -> str:
    if dataset.path is None:
        return "table1 table2 table3"
    return "table8" if dataset.name == "D1" else "table3"


def _policy_count(dataset: DatasetSpec, use: str, device: str, kind: str) -> int | None:
    """Return how many instances a use gets; KNN candidates, three times as many, get fewer."""
    costly = use not in ("plain", "refined")
    if device == "cpu":
        counts = COSTLY_COUNTS_ON_CPU if costly else POLICY_COUNTS_ON_CPU
        return counts[dataset.name] // (5 if kind == "knn" else 1)
    if dataset.path is not None:
        return None
    # Twenty points take several times the work of ten.
    divisor = (5 if kind == "knn" else 1) * (4 if dataset.name == "D2" else 1) if costly else 1
    return FULL_COUNT // divisor


def _size_tasks(dataset: DatasetSpec, models: Iterable[Model], device: str) -> Iterator[Task]:
    assert dataset.n is not None
    count = LARGER_POLICY_ON_GPU[dataset.n]
    if device == "cpu":
        for name, options in SIZE_METHODS:
            number = LARGER[dataset.n]
            yield Task(dataset, method_spec(name, options), number, group="classical sizes")
        count = LARGER_POLICY_ON_CPU
    if device == "cpu" and dataset.n > min(LARGER):
        return  # minutes an instance
    for model in models:
        facts = model.facts
        if (
            facts["candidates"]["kind"] == "mst"
            and facts.get("data") in ("D1", "D2")
            and facts.get("objective") == "distill"
            and _is_main(model)
        ):
            for use in ("plain", "refined"):
                yield Task(dataset, policy_spec(model, use), count, group="learned sizes")


def policy_spec(model: Model, use: str) -> MethodSpec:
    """Return the method `policy` with a model in one of its uses."""
    options = {"model": model.argument, "normalize": False, **POLICY_USES[use]}
    return MethodSpec("policy", dict(sorted(options.items())))


def _is_main(model: Model) -> bool:
    """Return whether a model has the paper's candidates, and is not one of a study."""
    spec = model.facts["candidates"]
    usual = {"k_star": 9, "k_neighbors": 3, "grid": 10}
    return all(spec.get(key, value) == value for key, value in usual.items())


def _without_repeats(tasks: Iterable[Task]) -> list[Task]:
    """Join tasks that make the same row; it then belongs to both groups."""
    found: dict[tuple[Any, ...], Task] = {}
    for task in tasks:
        key = (task.dataset, task.method.text, task.count)
        if key in found:
            both = dict.fromkeys(f"{found[key].group} {task.group}".split())
            task = Task(task.dataset, task.method, task.count, task.single, " ".join(both))
        found[key] = task
    return list(found.values())


def only(tasks: Iterable[Task], filters: Sequence[str]) -> list[Task]:
    """Keep the tasks for which any filter fits: each of its words begins a word of the label."""
    wanted = [text.lower().split() for text in filters]
    kept = [task for task in tasks if not wanted or any(_fits(task, words) for words in wanted)]
    if not kept:
        raise OptionError(f"no row of the plan matches {', '.join(map(repr, filters))}")
    return kept


def _fits(task: Task, words: Iterable[str]) -> bool:
    tokens = re.split(r"[\s:,]+", task.label.lower())
    return all(any(token.startswith(word) for token in tokens) for word in words)
