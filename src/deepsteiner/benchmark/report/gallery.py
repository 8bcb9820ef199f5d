"""Examples for the report: each method's best, median and worst instance beside the optimum."""

from __future__ import annotations

import importlib.util

import numpy as np

from ... import datasets
from ...api import solve
from ..models import shipped_policies
from ..optima import content_hash
from ..rows import Row
from ..specs import parse_method
from ..tables.entries import BASELINES, CLASSICS, NAMES, NEURAL, RANDOM_CHOICES, distilled
from ..tables.results import Results
from .pictures import tree_picture

DATASET = "D1"
PLACES = ("best", "median", "worst")
# The lines of the tables that are shown; the others would repeat them.
SHOWN = (
    *("minimum spanning tree", "MST+Rand-2", "Bereta, 50 iterations"),
    *("lookahead, MST", "lookahead, MST, relaxed", "smith", "thompson", "dreyer"),
    *("local, fast", "neural, fast"),
)
# (caption, SVG) of each example of a method.
Panels = list[tuple[str, str]]


def exhibits(results: Results) -> dict[str, Panels]:
    """Return the examples of every method with a result on D1 that can be solved again here."""
    entries = [*BASELINES, *RANDOM_CHOICES["mst"], *CLASSICS, *NEURAL]
    methods = {label: method for label, method, _ in entries}
    methods = {label: methods[label] for label in SHOWN} | _learned()
    return {
        label: _examples(row, method)
        for label, method in methods.items()
        if (row := results.gap(DATASET, method)) is not None and _is_same_set(row)
    }


def _learned() -> dict[str, str]:
    if importlib.util.find_spec("torch") is None:
        return {}
    shipped = {model.name for model in shipped_policies()}
    return {
        label: method
        for kind, name in NAMES.items()
        for label, method, _ in distilled(
            f"{name} distilled", kind, ("plain", "refined"), home=DATASET
        )
        if parse_method(method).options["model"] in shipped
    }


def _is_same_set(row: Row) -> bool:
    """Return whether the row was measured on the instances that can be generated here."""
    points = datasets.load(DATASET, count=row.count, seed=row.seed).points
    return bool(row.examples) and content_hash(np.asarray(points)) == row.points


def _examples(row: Row, method: str) -> Panels:
    data = datasets.load(DATASET, count=row.count, seed=row.seed)
    spec = parse_method(method)
    panels = []
    for place in PLACES:
        points = data[row.examples[place]]
        optimum = solve(points, "exact")
        tree = solve(points, spec.name, seed=row.seed, **spec.options)
        gap = max(0.0, 100 * (tree.length - optimum.length) / optimum.length)
        panels.append((f"{place}: gap {gap:.3g} %", tree_picture(tree, optimum)))
    return panels
