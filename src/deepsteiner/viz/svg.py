"""A small SVG of a solution in pure Python, for notebooks and web pages.

The number of elements does not grow with n: all edges are one path, and all nodes of a kind are
one path of zero-length strokes, whose round (or square) caps are the dots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np

from ..core.errors import OptionError
from ..core.points import FloatArray
from ..core.scalars import as_whole
from ..core.solution import Solution
from .scene import EDGE_COLOUR, INK, PAPER, Scene, count_text, heading, scene_of

MARGIN = 14.0
# Height over width of the page, so that collinear points still get a page one can look at.
FLATTEST, TALLEST = 0.2, 1.5


def solution_svg(solution: Solution, width: int = 480) -> str:
    """Return the solution as an SVG document `width` pixels wide.

    >>> solution_svg(Solution([[0, 0], [3, 4]], [], [[0, 1]], 5.0)).startswith("<svg ")
    True
    """
    pixels = as_whole(width)
    if pixels is None or pixels < 64:
        raise OptionError(f"width must be a whole number of at least 64 pixels, got {width!r}")
    width = pixels
    scene = scene_of(solution)
    page = _Page.of(scene, width)
    height = page.height
    # The mean distance of n points on this page sets the size of the dots.
    spacing = math.sqrt(width * height / scene.node_count)
    dot = min(max(0.22 * spacing, 1.2), 8.0)
    stroke = min(max(0.05 * spacing, 0.4), 1.8)
    words = escape(_description(solution, scene), {'"': "&quot;"})
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{words}">',
        f"<title>{words}</title>",
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
        _edge_path(page.place(scene.segments.reshape(-1, 2)), stroke),
        _dot_path(page.place(scene.relays), 0.5 * dot, INK, "square"),
        _dot_path(page.place(scene.steiner), 0.8 * dot, INK),
        _dot_path(page.place(scene.steiner), 0.8 * dot - 1.2 * stroke, PAPER),
        _dot_path(page.place(scene.terminals), dot, INK),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def _description(solution: Solution, scene: Scene) -> str:
    counts = ", ".join(part[2:] for part in count_text(scene).split("   "))
    return f"Steiner tree: {heading(solution)}; {counts}"


@dataclass(frozen=True, slots=True)
class _Page:
    """Where the scene lies on the page, y growing downwards."""

    width: int
    height: int
    middle: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, scene: Scene, width: int) -> _Page:
        low, high = scene.box()
        size = (high - low) * np.array([1.0, scene.aspect])
        room = width - 2 * MARGIN
        stretch = size[1] / size[0] if size[0] > 0 else (TALLEST if size[1] > 0 else 0.0)
        height = round(room * min(max(stretch, FLATTEST), TALLEST) + 2 * MARGIN)
        with np.errstate(divide="ignore"):
            scale = float(np.min(np.array([room, height - 2 * MARGIN]) / size))
        scale = scale if math.isfinite(scale) else 1.0
        return cls(width, height, low / 2 + high / 2, np.array([scale, -scale * scene.aspect]))

    def place(self, nodes: FloatArray) -> FloatArray:
        """Return the nodes in pixels."""
        centre = np.array([self.width / 2, self.height / 2])
        return np.asarray((nodes - self.middle) * self.scale + centre, dtype=np.float64)


def _edge_path(ends: FloatArray, stroke: float) -> str:
    if len(ends) == 0:
        return ""
    x, y = ends.round(2).T.tolist()
    moves = "".join(f"M{x[i]:g} {y[i]:g}L{x[i + 1]:g} {y[i + 1]:g}" for i in range(0, len(x), 2))
    return (
        f'<path d="{moves}" fill="none" stroke="{EDGE_COLOUR}" stroke-width="{stroke:.2f}" '
        f'stroke-linecap="round"/>'
    )


def _dot_path(nodes: FloatArray, size: float, colour: str, cap: str = "round") -> str:
    if len(nodes) == 0 or size <= 0:
        return ""
    moves = "".join(f"M{x:g} {y:g}h0" for x, y in nodes.round(2).tolist())
    return (
        f'<path d="{moves}" fill="none" stroke="{colour}" stroke-width="{size:.2f}" '
        f'stroke-linecap="{cap}"/>'
    )
