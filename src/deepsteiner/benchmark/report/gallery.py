"""Examples for the report: each method's best, median and worst instance beside the optimum."""

from __future__ import annotations

import importlib.util

import numpy as np

from ... import datasets
from ...api import solve
from ...core.points import FloatArray
from ..models import shipped_policies
from ..optima import content_hash
from ..specs import MethodSpec, parse_method
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


def exhibits(results: Results) -> dict[str, list[tuple[str, str]]]:
    """Return (caption, SVG) of the examples of every method, by its label.

    Shown are methods with a result on D1, on the instances that are generated here.
    """
    entries = [*BASELINES, *RANDOM_CHOICES["mst"], *CLASSICS, *NEURAL]
    methods = {label: method for label, method, _ in entries}
    methods = {label: methods[label] for label in SHOWN} | _learned()
    found = {}
    for label, method in methods.items():
        row = results.gap(DATASET, method)
        if row is None or not row.examples:
            continue
        data = datasets.load(DATASET, count=row.count, seed=row.seed)
        if content_hash(np.asarray(data.points)) == row.points:
            spec, seed = parse_method(method), row.seed
            found[label] = [_example(one, data[row.examples[one]], spec, seed) for one in PLACES]
    return found


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


def _example(place: str, points: FloatArray, method: MethodSpec, seed: int) -> tuple[str, str]:
    """Return the caption and the picture of one instance."""
    optimum = solve(points, "exact")
    tree = solve(points, method.name, seed=seed, **method.options)
    gap = max(0.0, 100 * (tree.length - optimum.length) / optimum.length)
    return f"{place}: gap {gap:.3g} %", tree_picture(tree, optimum)
