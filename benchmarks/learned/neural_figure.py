"""What gap-versus-time curves say: who is better at equal time, in words and as a figure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import REFERENCE_CALIBRATION, print_table

# Gaps below this many percent count as this much: they are rounding, and logarithms need a floor.
FLOOR = 1e-5
# Gaps count as equal unless they differ by this factor; clearly, by so many standard errors too.
EQUAL, ERRORS = 1.1, 2.0
SAMPLES = 200
PAIRS = (
    ("neural, third", "local"),
    ("neural, any", "local"),
    ("neural, third", "neural, third, regression"),
    ("neural, any", "neural, any, regression"),
    ("neural, third, regression", "local"),
)
# Colour, line style and words of the curves.
LOOKS = {
    "local": ("#c2500a", "-", "local"),
    "neural, third": ("#2b6ca3", "-", "neural, pieces of at most n/3"),
    "neural, any": ("#2b6ca3", "--", "neural, pieces of any size"),
    "neural, third, regression": ("#1e7a45", "-", "regression, pieces of at most n/3"),
    "neural, any, regression": ("#1e7a45", "--", "regression, pieces of any size"),
}
MARKS = {"fast": "o", "default": "s", "best": "D"}

Rows = Sequence[dict[str, Any]]
Points = list[tuple[float, float, float]]


def scaled(row: dict[str, Any]) -> float:
    """Return a row's ms an instance at the reference calibration."""
    return float(1e3 * row["seconds"] * REFERENCE_CALIBRATION / row["calibration"])


def envelope(rows: Iterable[dict[str, Any]]) -> Points:
    """Return (ms, gap, error) of what is reached first: every gap is lower than all before it."""
    found: Points = []
    for row in sorted(rows, key=scaled):
        gap = max(row["gap"], FLOOR)
        if not found or gap < found[-1][1]:
            found.append((scaled(row), gap, row["error"]))
    return found


def at(curve: Points, ms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return gaps and errors of a curve at some times, on lines between its points on log axes."""
    times, gaps, errors = np.array(curve).T
    when = np.log(ms), np.log(times)
    return np.exp(np.interp(*when, np.log(gaps))), np.interp(*when, errors)


def compare(first: Points, second: Points) -> dict[str, float]:
    """Return the shares of time (on a log axis) in which each is lower, and the mean ratio.

    `clear` is the share in which they differ by more than two standard errors.

    From where both have a tree to the end of the longer curve; the other stays where it ended.
    """
    begin = max(first[0][0], second[0][0])
    end = max(first[-1][0], second[-1][0], begin * 1.001)
    ms = np.geomspace(begin, end, SAMPLES)
    (left, left_error), (right, right_error) = at(first, ms), at(second, ms)
    clear = np.abs(left - right) > ERRORS * np.hypot(left_error, right_error)
    ratio = left / right
    return {
        "begin": begin,
        "end": end,
        "first": float((ratio < 1 / EQUAL).mean()),
        "second": float((ratio > EQUAL).mean()),
        "clear": float((clear & (np.abs(np.log(ratio)) > math.log(EQUAL))).mean()),
        "ratio": math.exp(float(np.log(ratio).mean())),
    }


def of_curve(rows: Rows, n: int, curve: str) -> list[dict[str, Any]]:
    """Return the rows of one curve at one size."""
    return [row for row in rows if row["n"] == n and row["curve"] == curve]


def sizes_of(rows: Rows) -> list[int]:
    """Return the sizes that were measured."""
    return sorted({row["n"] for row in rows})


def print_points(rows: Rows) -> None:
    """Print where every effort of every curve ended."""
    cells: list[list[object]] = []
    for row in rows:
        if row["kind"] == "run" and row["budget"] in MARKS:
            name = row["curve"] + (f" ({row['score']})" if row["score"] else "")
            gap = f"{row['gap']:.5f} ± {row['error']:.5f}"
            saving = f"{100 * row['saving']:.4f}" if "saving" in row else ""
            cells.append([row["n"], name, row["budget"], f"{scaled(row):.3f}", gap, saving])
    print()
    print_table(["n", "curve", "effort", "ms scaled", "gap %", "saved %"], cells)


def print_verdicts(rows: Rows) -> None:
    """Print who has the lower gap at equal time, for each size and pair."""
    cells: list[list[object]] = []
    for n in sizes_of(rows):
        for names in PAIRS:
            first, second = (envelope(of_curve(rows, n, name)) for name in names)
            if not first or not second:
                continue
            seen = compare(first, second)
            better = max(("first", "second"), key=lambda key: seen[key])
            apart = abs(seen["first"] - seen["second"]) > 0.1
            winner = names[0 if better == "first" else 1] if apart else "neither"
            span = f"{seen['begin']:.3g} to {seen['end']:.3g}"
            shares = [f"{100 * seen[key]:.0f} %" for key in ("first", "second", "clear")]
            if of_curve(rows, n, names[0])[0]["count"] == 1:
                shares[-1] = "one instance"  # which has no error to compare with
            cells.append([n, *names, span, *shares, f"{seen['ratio']:.2f}", winner])
    print("\nThe lower gap at equal time; 'clear' where it is by more than two standard errors:\n")
    header = ["n", "first", "second", "ms scaled", "first lower", "second lower", "clear"]
    print_table([*header, "gap, first over second", "better"], cells)


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw a panel for every size, on logarithmic axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    from deepsteiner.viz.plot import save_figure
    from deepsteiner.viz.scene import INK, PAPER, QUIET

    rows: Rows = found["rows"]
    sizes = sizes_of(rows)
    columns = min(2, len(sizes))
    height = 3.2 * math.ceil(len(sizes) / columns) + 0.8
    figure = Figure(figsize=(4.8 * columns, height), facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    drawn = {}
    for number, n in enumerate(sizes):
        ax = figure.add_subplot(math.ceil(len(sizes) / columns), columns, number + 1)
        for curve, (colour, style, words) in LOOKS.items():
            of = of_curve(rows, n, curve)
            if of:
                ms, gaps, _ = zip(*envelope(of), strict=True)
                drawn[words] = ax.plot(ms, gaps, style, color=colour, lw=1.4)[0]
                _mark(ax, of, colour, hollow=style == "--")
        ax.set(xscale="log", yscale="log")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1.0, 3.0) if axis is ax.xaxis else (1.0,)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(NullFormatter())
        ax.set_title(_title(n), loc="left", fontsize=10, color=INK)
        threads = max(row["threads"] for row in rows if row["n"] == n)
        ax.set_xlabel(f"ms an instance, {_threads(threads, found)}, scaled", fontsize=8.5)
        ax.set_ylabel(_gap_words(rows, n), fontsize=8.5)
        ax.grid(True, which="major", color="#e3e5e8", lw=0.6)
        ax.tick_params(which="both", labelsize=8, colors=QUIET)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    efforts = [_effort_mark(effort) for effort in MARKS]
    figure.legend(
        [*drawn.values(), *efforts],
        [*drawn, *MARKS],
        loc="outside lower center",
        ncols=2 if columns == 1 else 4,
        fontsize=8,
        frameon=False,
    )
    save_figure(figure, path)


def _mark(ax: Any, rows: Iterable[dict[str, Any]], colour: str, hollow: bool) -> None:
    """Mark the points where efforts end, and, small, the budgets between them."""
    for row in rows:
        if row["kind"] != "run":
            continue
        effort = row["budget"] in MARKS
        ax.plot(
            scaled(row),
            max(row["gap"], FLOOR),
            MARKS[row["budget"]] if effort else ".",
            ms=4.5 if effort else 2.5,
            mec=colour,
            mfc="white" if hollow else colour,
            mew=0.9,
        )


def _effort_mark(effort: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], ls="", marker=MARKS[effort], mec="#666b73", mfc="#666b73", ms=4.5)


def _threads(threads: int, found: dict[str, Any]) -> str:
    words = "one thread" if threads == 1 else f"{threads} threads"
    return words if found["provenance"]["device"] == "cpu" else f"{words}, GPU scores"


def _gap_words(rows: Rows, n: int) -> str:
    words = "gap in %" if n < 20_000 else "gap to the best known, in %"
    floored = any(row["gap"] < FLOOR for row in rows if row["n"] == n)
    return f"{words} ({FLOOR:g}: none)" if floored else words


def _title(n: int) -> str:
    return f"{n:,} uniform points"
