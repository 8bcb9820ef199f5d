"""A small SVG of a solution in pure Python, for notebooks and web pages.

The number of elements does not grow with n: all edges are one path, and all nodes of a kind are
one path of zero-length strokes, whose round (or square) caps are the dots.
"""

from __future__ import annotations

import math
from xml.sax.saxutils import escape

import numpy as np

from ..core.errors import OptionError
from ..core.points import FloatArray
from ..core.scalars import as_whole
from ..core.solution import Solution
from .scene import EDGE_COLOUR, INK, PAPER, QUIET, count_text, heading, scene_of

MARGIN = 14.0
# Height over width of the page, so that collinear points still get a page one can look at.
FLATTEST, TALLEST = 0.2, 1.5


def solution_svg(solution: Solution, width: int = 480) -> str:
    """Return a picture of a solution as an SVG document.

    Parameters
    ----------
    solution : Solution
        What to draw.
    width : int, optional
        The width of the picture in pixels, at least 64. The height follows from the solution.

    Returns
    -------
    str
        The document, which needs no other file.

    Raises
    ------
    OptionError
        If the width is not a whole number of at least 64.

    Examples
    --------
    >>> from deepsteiner import Solution
    >>> tree = Solution([[0, 0], [3, 4]], [], [[0, 1]], 5.0)
    >>> solution_svg(tree, width=300)[:60]
    '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="'
    """
    pixels = as_whole(width)
    if pixels is None or pixels < 64:
        raise OptionError(f"width must be a whole number of at least 64 pixels, got {width!r}")
    scene = scene_of(solution)
    middle, size = scene.box()
    room = pixels - 2 * MARGIN
    stretch = size[1] / size[0] if size[0] > 0 else (TALLEST if size[1] > 0 else 0.0)
    height = round(room * min(max(stretch, FLATTEST), TALLEST) + 2 * MARGIN)
    with np.errstate(divide="ignore"):
        scale = float(np.min(np.array([room, height - 2 * MARGIN]) / size))
    scale = scale if math.isfinite(scale) else 1.0

    def place(nodes: FloatArray) -> list[list[float]]:
        """Return the nodes in pixels, y growing downwards."""
        moved = (nodes - middle) * np.array([scale, -scale * scene.aspect])
        return list((moved + np.array([pixels / 2, height / 2])).round(2).tolist())

    # The mean distance of n points on this page sets the size of the dots.
    spacing = math.sqrt(pixels * height / scene.node_count)
    dot = min(max(0.22 * spacing, 1.2), 8.0)
    stroke = min(max(0.05 * spacing, 0.4), 1.8)
    counts = ", ".join(part[2:] for part in count_text(scene).split("   "))
    words = escape(f"Steiner tree: {heading(solution)}; {counts}", {'"': "&quot;"})
    ends = place(scene.segments.reshape(-1, 2))
    edges = "".join(
        f"M{x:g} {y:g}L{u:g} {v:g}" for (x, y), (u, v) in zip(ends[::2], ends[1::2], strict=True)
    )
    steiner = _dots(place(scene.steiner))
    outlines, soft = (
        "".join(
            "M" + "L".join(f"{x:g} {y:g}" for x, y in place(ring)) + "Z"
            for polygon in polygons
            for ring in polygon
        )
        for polygons in (scene.obstacles, scene.regions)
    )
    lines = "".join(
        "M" + "L".join(f"{x:g} {y:g}" for x, y in place(line)) for line in scene.existing
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{pixels}" height="{height}" '
        f'viewBox="0 0 {pixels} {height}" role="img" aria-label="{words}">',
        f"<title>{words}</title>",
        f'<rect width="{pixels}" height="{height}" fill="{PAPER}"/>',
        _soft_area(soft),
        _area(outlines),
        _path(lines, QUIET, 0.6 * stroke),
        _path(edges, EDGE_COLOUR, stroke),
        _path(_dots(place(scene.bends)), EDGE_COLOUR, 0.5 * dot, "square"),
        _path(_dots(place(scene.joints)), QUIET, 0.45 * dot, "square"),
        _path(_dots(place(scene.relays)), INK, 0.5 * dot, "square"),
        _path(steiner, INK, 0.8 * dot),
        _path(steiner, PAPER, 0.8 * dot - 1.2 * stroke),
        _path(_dots(place(scene.terminals)), INK, dot),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def _area(outlines: str) -> str:
    """Return obstacles, hatched; holes are left white."""
    if not outlines:
        return ""
    return (
        '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">'
        f'<path d="M0 6L6 0" stroke="{QUIET}" stroke-width="0.7"/></pattern></defs>'
        f'<path d="{outlines}" fill="url(#hatch)" fill-rule="evenodd" stroke="{QUIET}" '
        'stroke-width="0.8"/>'
    )


def _soft_area(outlines: str) -> str:
    """Return soft regions, lightly tinted."""
    if not outlines:
        return ""
    return (
        f'<path d="{outlines}" fill="{QUIET}" fill-opacity="0.15" fill-rule="evenodd" '
        f'stroke="{QUIET}" stroke-width="0.4" stroke-opacity="0.6"/>'
    )


def _dots(nodes: list[list[float]]) -> str:
    return "".join(f"M{x:g} {y:g}h0" for x, y in nodes)


def _path(moves: str, colour: str, width: float, cap: str = "round") -> str:
    if not moves or width <= 0:
        return ""
    return (
        f'<path d="{moves}" fill="none" stroke="{colour}" stroke-width="{width:.2f}" '
        f'stroke-linecap="{cap}"/>'
    )
