"""The marks of the gap-versus-time chart."""

from __future__ import annotations

from ..tables.entries import CANDIDATES, NAMES, distilled, lookahead
from ..tables.paper import TABLE1, TABLE2
from ..tables.results import Results
from .charts import Mark

DATASET = "D1"
CLASSICAL, LEARNED_CPU, LEARNED_GPU, PRINTED = range(4)
METHODS = {
    "MST": "mst",
    "Rand-1": "rand1",
    "MST+Rand-2": "rand2",
    "lookahead": lookahead(),
    "lookahead, relaxed": "greedy",
    "lookahead, Grid": lookahead(CANDIDATES["grid"]),
    **{name: name for name in ("smith", "thompson", "dreyer")},
    "bereta 10": "bereta:iterations=10",
    "bereta 50": "bereta",
    "local fast": "local:effort=fast",
    "local": "local",
    "neural fast": "neural:effort=fast",
    "neural": "neural",
}
# The others would crowd the chart.
SHOWN_USES = ("plain", "refined", "x8 refined")
# Printed both with a gap and with a time.
PAPER_NAMES = {
    "mst": "MST",
    "bereta-10": "Bereta 10",
    "bereta-50": "Bereta 50",
    **{f"{kind}-first-selection": f"{NAMES[kind]}+First-sel." for kind in NAMES},
}


def gap_time_marks(results: Results) -> list[Mark]:
    """Return every method with a time and a gap above zero on D1, and the paper's."""
    found = [(label, method, True, CLASSICAL, "circle") for label, method in METHODS.items()]
    for kind, name in NAMES.items():
        for label, method, _ in distilled(f"{name} distilled", kind, SHOWN_USES):
            found.append((label, method, True, LEARNED_CPU, "circle"))
            found.append((label, method, False, LEARNED_GPU, "square"))
    marks = []
    for label, method, cpu, colour, shape in found:
        row, timed = results.gap(DATASET, method), results.timing(DATASET, method, cpu=cpu)
        if row is not None and timed is not None and timed.batch_ms and row.gap_mean > 0.0:
            marks.append(Mark(timed.batch_ms, row.gap_mean, label, colour, shape))
    for key, label in PAPER_NAMES.items():
        gap, time = TABLE1[key][0], TABLE2[key][0]
        if gap is not None and time is not None:
            marks.append(Mark(time, gap, f"paper: {label}", PRINTED, "diamond"))
    return marks
