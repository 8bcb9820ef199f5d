"""Charts made from stored rows."""

from __future__ import annotations

from typing import Any

from .palette import Palette, chart

SHAPES = "osD^vP*XhdpH8<>"
# What stands in the chart: label, method, the options that the row must have.
SHOWN = [
    ("mst", "mst", {}),
    ("thompson", "thompson", {}),
    ("smith", "smith", {}),
    ("dreyer", "dreyer", {}),
    ("greedy", "greedy", {}),
    ("local, fast", "local", {"effort": "fast"}),
    ("local", "local", {}),
    ("local, best", "local", {"effort": "best"}),
    ("neural, fast", "neural", {"effort": "fast"}),
    ("neural", "neural", {}),
    ("neural, best", "neural", {"effort": "best"}),
    ("exact", "exact", {}),
]
FLOOR = 1e-5
# Where a label to the right of its mark would lie on another mark.
LABEL_SHIFTS = {"local, fast": (-62, -3), "neural, fast": (9, -3)}


def gap_against_time(shade: Palette, dataset: str = "uniform-100") -> Any:
    """Mean gap against the time of one instance, one mark for every method."""
    from deepsteiner.benchmark.rows import stored_rows

    rows = [row for row in stored_rows() if row.dataset == dataset and row.device == "cpu"]
    figure, ax = chart(shade, 7.4, 4.6)
    ax.set_xscale("log")
    ax.set_yscale("log")
    for (name, method, options), shape in zip(SHOWN, SHAPES, strict=False):
        fitting = [row for row in rows if row.method == method and row.options == options]
        if not fitting:
            continue
        row = fitting[-1]
        x, y = row.single_ms or row.batch_ms, max(row.gap_mean, FLOOR)
        colour = (
            shade.good
            if method == "exact"
            else shade.edge
            if method in ("local", "neural")
            else shade.quiet
        )
        ax.plot(x, y, shape, color=colour, markersize=8)
        said = f"{name} (proven)" if method == "exact" else name
        ax.annotate(
            said,
            (x, y),
            xytext=LABEL_SHIFTS.get(name, (8, -3)),
            textcoords="offset points",
            color=shade.ink,
            fontsize=9,
        )
    ax.set_xlabel("milliseconds for one instance, one core")
    ax.set_ylabel("mean gap to the optimum, %")
    low, high = ax.get_xlim()
    ax.set_xlim(low, high * 3)
    return figure


def exact_times(shade: Palette) -> Any:
    """The time to a proof by size, beside GeoSteiner's."""
    from deepsteiner.benchmark.timings import GEOSTEINER_MS, stored_timings

    rows = {row.n: row.scaled_ms for row in stored_timings()
            if row.method == "exact" and row.dataset == "uniform" and row.call == "solve"}  # fmt: skip
    sizes = [n for n in GEOSTEINER_MS if n in rows]
    figure, ax = chart(shade, 7.0, 3.8)
    ax.plot(
        sizes, [GEOSTEINER_MS[n] for n in sizes], "s--", color=shade.quiet, label="GeoSteiner 5.3"
    )
    ax.plot(sizes, [rows[n] for n in sizes], "o-", color=shade.edge, label="exact")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("uniform points")
    ax.set_ylabel("ms to a proof, one thread")
    ax.legend(frameon=False, labelcolor=shade.ink)
    return figure


DRAWINGS = {"gap_against_time": gap_against_time, "exact_times": exact_times}
