"""Examples for the report: each method's best, median and worst instance beside the optimum."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ... import datasets
from ...api import solve
from ..models import shipped_policies
from ..optima import content_hash
from ..rows import Row
from ..tables.results import Results
from ..tables.table_main import policy_options
from .pictures import tree_picture

DATASET = "D1"
PLACES = ("best", "median", "worst")
METHODS: list[tuple[str, str, dict[str, Any]]] = [
    ("minimum spanning tree", "mst", {}),
    ("MST+Rand-2", "rand2", {}),
    ("Bereta, 50 iterations", "bereta", {}),
    ("lookahead, MST", "greedy", {"relax": False}),
    ("lookahead, MST, relaxed", "greedy", {}),
    ("smith", "smith", {}),
    ("thompson", "thompson", {}),
    ("dreyer", "dreyer", {}),
    ("local, fast", "local", {"effort": "fast"}),
    ("neural, fast", "neural", {"effort": "fast"}),
]


@dataclass(frozen=True)
class Example:
    """One picture: which of a method's instances, its gap in percent, and the tree."""

    place: str
    gap: float
    svg: str


@dataclass(frozen=True)
class Exhibit:
    """The examples of one method."""

    label: str
    examples: tuple[Example, ...]


def exhibits(results: Results) -> list[Exhibit]:
    """Return the examples of every method with a result on D1 that can be solved again here."""
    return [
        Exhibit(label, tuple(_examples(row, method, options)))
        for label, method, options in (*METHODS, *_learned())
        if (row := results.gap(DATASET, method, options)) is not None and _is_same_set(row)
    ]


def _learned() -> list[tuple[str, str, dict[str, Any]]]:
    if importlib.util.find_spec("torch") is None:
        return []
    shipped = {model.name for model in shipped_policies()}
    found = []
    for kind, words in (("mst", "MST"), ("knn", "KNN"), ("grid", "Grid")):
        for use in ("plain", "refined"):
            options = policy_options(kind, DATASET, use)
            if options["model"] in shipped:
                label = f"{words} distilled{'' if use == 'plain' else ', refined'}"
                found.append((label, "policy", options))
    return found


def _is_same_set(row: Row) -> bool:
    """Return whether the row was measured on the instances that can be generated here."""
    data = datasets.load(DATASET, count=row.count, seed=row.seed)
    return bool(row.examples) and content_hash(data.points) == row.points  # type: ignore[arg-type]


def _examples(row: Row, method: str, options: dict[str, Any]) -> Iterator[Example]:
    data = datasets.load(DATASET, count=row.count, seed=row.seed)
    for place in PLACES:
        points = data[row.examples[place]]
        optimum = solve(points, "exact")
        tree = solve(points, method, seed=row.seed, **options)
        gap = 100 * (tree.length - optimum.length) / optimum.length
        yield Example(place, max(0.0, gap), tree_picture(tree, optimum))
