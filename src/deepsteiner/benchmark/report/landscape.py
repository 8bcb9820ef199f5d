"""The marks of the gap-versus-time chart."""

from __future__ import annotations

from typing import Any

from ..rows import Row
from ..tables.paper import TABLE1, TABLE2
from ..tables.results import Results
from ..tables.table_main import NAMES, USE_WORDS, policy_options
from .charts import Mark

DATASET = "D1"
CLASSICAL, LEARNED_CPU, LEARNED_GPU, PRINTED = range(4)
METHODS: list[tuple[str, str, dict[str, Any]]] = [
    ("MST", "mst", {}),
    ("Rand-1", "rand1", {}),
    ("MST+Rand-2", "rand2", {}),
    ("lookahead", "greedy", {"relax": False}),
    ("lookahead, relaxed", "greedy", {}),
    ("lookahead, Grid", "greedy", {"candidates": "grid", "extent": "unit", "relax": False}),
    ("smith", "smith", {}),
    ("thompson", "thompson", {}),
    ("dreyer", "dreyer", {}),
    ("bereta 10", "bereta", {"iterations": 10}),
    ("bereta 50", "bereta", {}),
    ("local fast", "local", {"effort": "fast"}),
    ("local", "local", {}),
    ("neural fast", "neural", {"effort": "fast"}),
    ("neural", "neural", {}),
]
# The others would crowd the chart.
SHOWN_USES = ("plain", "refined", "x8 refined")
# Printed both with a gap and with a time.
PAPER_NAMES = {
    "mst": "paper: MST",
    "bereta-10": "paper: Bereta 10",
    "bereta-50": "paper: Bereta 50",
    "mst-first_selection": "paper: MST+First-sel.",
    "knn-first_selection": "paper: KNN+First-sel.",
    "grid-first_selection": "paper: Grid+First-sel.",
}


def gap_time_marks(results: Results) -> list[Mark]:
    """Return every method with a time and a gap above zero on D1, and the paper's."""
    marks = []
    for label, method, options in METHODS:
        timed = results.timing(DATASET, method, options, cpu=True)
        marks += _mark(label, results.gap(DATASET, method, options), timed, CLASSICAL, "circle")
    for kind, name in NAMES.items():
        for use in SHOWN_USES:
            words = USE_WORDS[use]
            options = policy_options(kind, DATASET, use)
            row = results.gap(DATASET, "policy", options)
            label = f"{name} distilled{words}"
            for cpu, colour, shape in (
                (True, LEARNED_CPU, "circle"),
                (False, LEARNED_GPU, "square"),
            ):
                timed = results.timing(DATASET, "policy", options, cpu=cpu)
                marks += _mark(label, row, timed, colour, shape)
    for key, label in PAPER_NAMES.items():
        gap, time = TABLE1[key][0].value, TABLE2[key][0].value
        if gap is not None and time is not None:
            marks.append(Mark(time, gap, label, PRINTED, "diamond"))
    return marks


def _mark(label: str, gap: Row | None, timed: Row | None, colour: int, shape: str) -> list[Mark]:
    if gap is None or timed is None or not timed.batch_ms or not gap.gap_mean > 0.0:
        return []
    return [Mark(timed.batch_ms, gap.gap_mean, label, colour, shape)]
