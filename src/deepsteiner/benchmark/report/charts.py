"""Small charts as SVG text: scatter and lines on linear or logarithmic axes.

Colours come from the page's style sheet (classes `c0` ... `c8`, `axis`, `grid`), so that a chart
is legible on light and dark paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

LEFT, RIGHT, TOP, BOTTOM = 64.0, 24.0, 16.0, 46.0
LETTER, LINE = 6.1, 13.0  # size of the labels' letters, in pixels


@dataclass(frozen=True)
class Axis:
    """A scale from data to pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool
    title: str

    def place(self, value: float) -> float:
        """Return the pixel of a value."""
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return round values inside the scale."""
        # Within less than half a decade powers of ten are too far apart.
        if self.log and self.high / self.low > 3.0:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            decades = math.log10(self.high / self.low)
            digits = (1, 2, 3, 4, 5, 7) if decades < 1 else (1, 2, 5) if decades < 2 else (1,)
            found = [digit * 10.0**power for power in powers for digit in digits]
        else:
            rough = (self.high - self.low) / 5
            unit = 10 ** math.floor(math.log10(rough))
            step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= rough)
            first = math.ceil(self.low / step)
            found = [step * k for k in range(first, math.floor(self.high / step) + 1)]
        return [value for value in found if self.low * 0.999 <= value <= self.high * 1.001]


@dataclass(frozen=True)
class Mark:
    """A point of a scatter chart: position, words, colour class and shape."""

    x: float
    y: float
    label: str
    colour: int
    shape: str = "circle"


@dataclass(frozen=True)
class Curve:
    """A line of a chart."""

    label: str
    points: Sequence[tuple[float, float]]
    colour: int


def scale(
    values: Sequence[float], start: float, end: float, title: str, *, log: bool, pad: float = 1.6
) -> Axis:
    """Return an axis that holds all values with some room."""
    low, high = min(values), max(values)
    if log:
        return Axis(low / pad, high * pad, start, end, True, title)
    room = 0.05 * (high - low) or 1.0
    return Axis(low - room, high + room, start, end, False, title)


def scatter(marks: Sequence[Mark], x_title: str, y_title: str, size: tuple[int, int]) -> str:
    """Return a scatter chart on logarithmic axes, its labels kept apart."""
    width, height = size
    x_axis = scale([m.x for m in marks], LEFT, width - RIGHT, x_title, log=True, pad=3.0)
    y_axis = scale([m.y for m in marks], height - BOTTOM, TOP, y_title, log=True)
    parts = _frame(x_axis, y_axis, size)
    spots = [(x_axis.place(mark.x), y_axis.place(mark.y)) for mark in marks]
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in spots]
    for mark, (x, y) in zip(marks, spots, strict=True):
        parts.append(_shape(mark, x, y))
        if mark.label:
            tx, ty, anchor, box = _label_spot(mark.label, x, y, taken, size)
            taken.append(box)
            parts.append(
                f'<text x="{tx:.1f}" y="{ty:.1f}" text-anchor="{anchor}" class="label">'
                f"{escape(mark.label)}</text>"
            )
    return _document(parts, size)


def lines(curves: Sequence[Curve], x_title: str, y_title: str, size: tuple[int, int]) -> str:
    """Return curves over a linear x axis and a logarithmic y axis, named in a column beside."""
    width, height = size
    column = width - RIGHT - max(len(curve.label) for curve in curves) * LETTER
    xs = [x for curve in curves for x, _ in curve.points]
    ys = [y for curve in curves for _, y in curve.points if y > 0]
    x_axis = scale(xs, LEFT, column - 40, x_title, log=False)
    y_axis = scale(ys, height - BOTTOM, TOP, y_title, log=True, pad=1.2)
    parts = _frame(x_axis, y_axis, size)
    ends = []
    for curve in curves:
        spots = [(x_axis.place(x), y_axis.place(y)) for x, y in curve.points if y > 0]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline points="{path}" class="line c{curve.colour}"/>')
        ends.append((spots[-1], curve))
    ends.sort(key=lambda end: end[0][1])
    for place, ((x, y), curve) in zip(_spread([e[0][1] for e in ends], height), ends, strict=True):
        colour = f"c{curve.colour}"
        parts.append(
            f'<path d="M{x:.1f} {y:.1f}L{column - 6:.1f} {place:.1f}" class="leader {colour}"/>'
            f'<text x="{column:.1f}" y="{place + 4:.1f}" class="label {colour}">'
            f"{escape(curve.label)}</text>"
        )
    return _document(parts, size)


def _spread(places: Sequence[float], height: float) -> list[float]:
    """Return ascending places moved apart so that lines of text fit, within the page."""
    found: list[float] = []
    for place in places:
        found.append(max(place, found[-1] + LINE) if found else place)
    excess = found[-1] - (height - BOTTOM)
    if excess > 0:
        found[-1] -= excess
        for index in range(len(found) - 2, -1, -1):
            found[index] = min(found[index], found[index + 1] - LINE)
    return found


def _label_spot(
    text: str,
    x: float,
    y: float,
    taken: Sequence[tuple[float, float, float, float]],
    size: tuple[int, int],
) -> tuple[float, float, str, tuple[float, float, float, float]]:
    """Return the first place around a point where its label covers nothing."""
    wide = len(text) * LETTER
    best = None
    for distance in (8.0, 16.0, 26.0, 38.0, 52.0):
        for dx, dy in ((1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1)):
            anchor = {1: "start", -1: "end", 0: "middle"}[dx]
            tx, ty = x + dx * min(distance, 12.0), y + 4 + dy * distance
            left = {1: tx, -1: tx - wide, 0: tx - wide / 2}[dx]
            box = (left, ty - LINE + 3, left + wide, ty + 3)
            spot = (tx, ty, anchor, box)
            best = best or spot
            inside = box[0] > LEFT and box[2] < size[0] - 2 and box[1] >= TOP
            if inside and box[3] < size[1] - BOTTOM and not any(_overlap(box, t) for t in taken):
                return spot
    assert best is not None
    return best


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _shape(mark: Mark, x: float, y: float) -> str:
    kind = f'class="mark c{mark.colour}"'
    title = f"<title>{escape(mark.label)}: {mark.x:.3g} ms, {mark.y:.3g} %</title>"
    if mark.shape == "square":
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" {kind}>{title}</rect>'
    if mark.shape == "diamond":
        path = f"M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z"
        return f'<path d="{path}" {kind}>{title}</path>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {kind}>{title}</circle>'


def _frame(x_axis: Axis, y_axis: Axis, size: tuple[int, int]) -> list[str]:
    parts = []
    for value in x_axis.ticks():
        x = x_axis.place(value)
        parts.append(_grid_line(x, y_axis.start, x, y_axis.end))
        parts.append(_tick(x, y_axis.start + 16, "middle", value))
    for value in y_axis.ticks():
        y = y_axis.place(value)
        parts.append(_grid_line(x_axis.start, y, x_axis.end, y))
        parts.append(_tick(x_axis.start - 7, y + 4, "end", value))
    middle_x, middle_y = (x_axis.start + x_axis.end) / 2, (y_axis.start + y_axis.end) / 2
    parts.append(
        f'<text x="{middle_x:.1f}" y="{size[1] - 8}" text-anchor="middle" class="title">'
        f"{escape(x_axis.title)}</text>"
    )
    parts.append(
        f'<text transform="translate(14 {middle_y:.1f}) rotate(-90)" text-anchor="middle" '
        f'class="title">{escape(y_axis.title)}</text>'
    )
    return parts


def _grid_line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="grid"/>'


def _tick(x: float, y: float, anchor: str, value: float) -> str:
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="tick">{text}</text>'


def _document(parts: Sequence[str], size: tuple[int, int]) -> str:
    body = "".join(parts)
    return (
        f'<svg viewBox="0 0 {size[0]} {size[1]}" class="chart" role="img" '
        f'xmlns="http://www.w3.org/2000/svg">{body}</svg>'
    )
