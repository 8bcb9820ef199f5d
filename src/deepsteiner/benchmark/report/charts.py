"""Small charts as SVG text: scatter and lines on linear or logarithmic axes.

Colours come from the page's style sheet (classes `c0` ... `c8`, `axis`, `grid`), so that a chart
is legible on light and dark paper.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

LEFT, RIGHT, TOP, BOTTOM = 64.0, 24.0, 16.0, 46.0
LETTER, LINE = 6.1, 13.0  # size of the labels' letters, in pixels
# Where a label may stand beside its point, the best places first.
DISTANCES = (8.0, 16.0, 26.0, 38.0, 52.0)
DIRECTIONS = ((1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1), (0, -1), (0, 1))
# Left, upper, right and lower edge.
Box = tuple[float, float, float, float]


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
            label = escape(mark.label)
            parts.append(_element("text", "label", label, x=tx, y=ty, text_anchor=anchor))
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
        parts.append(_element("polyline", f"line c{curve.colour}", points=path))
        ends.append((*spots[-1], curve))
    ends.sort(key=lambda end: end[1])
    for place, (x, y, curve) in zip(_spread([y for _, y, _ in ends], height), ends, strict=True):
        leader = f"M{x:.1f} {y:.1f}L{column - 6:.1f} {place:.1f}"
        kind, label = f"label c{curve.colour}", escape(curve.label)
        parts.append(_element("path", f"leader c{curve.colour}", d=leader))
        parts.append(_element("text", kind, label, x=column, y=place + 4))
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
    text: str, x: float, y: float, taken: Sequence[Box], size: tuple[int, int]
) -> tuple[float, float, str, Box]:
    """Return the first place around a point where its label covers nothing, or else the first."""
    wide, spots = len(text) * LETTER, []
    for distance, (dx, dy) in itertools.product(DISTANCES, DIRECTIONS):
        tx, ty = x + dx * min(distance, 12.0), y + 4 + dy * distance
        anchor, left = {1: ("start", tx), -1: ("end", tx - wide), 0: ("middle", tx - wide / 2)}[dx]
        box = (left, ty - LINE + 3, left + wide, ty + 3)
        spots.append((tx, ty, anchor, box))
        inside = box[0] > LEFT and box[2] < size[0] - 2 and box[1] >= TOP
        if inside and box[3] < size[1] - BOTTOM and not any(_overlap(box, t) for t in taken):
            return spots[-1]
    return spots[0]


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _shape(mark: Mark, x: float, y: float) -> str:
    title = f"<title>{escape(mark.label)}: {mark.x:.3g} ms, {mark.y:.3g} %</title>"
    kind = f"mark c{mark.colour}"
    if mark.shape == "square":
        return _element("rect", kind, title, x=x - 4, y=y - 4, width=8, height=8)
    if mark.shape == "diamond":
        path = f"M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z"
        return _element("path", kind, title, d=path)
    return _element("circle", kind, title, cx=x, cy=y, r=4.5)


def _frame(x_axis: Axis, y_axis: Axis, size: tuple[int, int]) -> list[str]:
    parts = []
    left, right, low, high = x_axis.start, x_axis.end, y_axis.start, y_axis.end
    for value in x_axis.ticks():
        x = x_axis.place(value)
        parts.append(_element("line", "grid", x1=x, y1=low, x2=x, y2=high))
        parts.append(_tick(x, low + 16, "middle", value))
    for value in y_axis.ticks():
        y = y_axis.place(value)
        parts.append(_element("line", "grid", x1=left, y1=y, x2=right, y2=y))
        parts.append(_tick(left - 7, y + 4, "end", value))
    below = {"x": (left + right) / 2, "y": size[1] - 8}
    beside = {"transform": f"translate(14 {(low + high) / 2:.1f}) rotate(-90)"}
    for axis, place in ((x_axis, below), (y_axis, beside)):
        title = escape(axis.title)
        parts.append(_element("text", "title", title, **place, text_anchor="middle"))
    return parts


def _tick(x: float, y: float, anchor: str, value: float) -> str:
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return _element("text", "tick", text, x=x, y=y, text_anchor=anchor)


def _element(tag: str, kind: str, inside: str = "", **attributes: Any) -> str:
    """Return an element of the class `kind`; coordinates get one decimal."""
    said = "".join(
        f' {name.replace("_", "-")}="{f"{value:.1f}" if isinstance(value, float) else value}"'
        for name, value in attributes.items()
    )
    return f'<{tag}{said} class="{kind}"' + (f">{inside}</{tag}>" if inside else "/>")


def _document(parts: Sequence[str], size: tuple[int, int]) -> str:
    body = "".join(parts)
    return (
        f'<svg viewBox="0 0 {size[0]} {size[1]}" class="chart" role="img" '
        f'xmlns="http://www.w3.org/2000/svg">{body}</svg>'
    )
