"""Figures with matplotlib, without touching pyplot: nothing is registered or left open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..core.errors import FormatError, OptionError
from ..core.points import as_points
from ..core.solution import Solution
from .scene import (
    EDGE_COLOUR,
    INK,
    PAPER,
    QUIET,
    Scene,
    count_text,
    heading,
    length_text,
    quality_text,
    scene_of,
    scene_of_points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE_FORMATS = ("png", "pdf", "svg")
RESOLUTION = 160
# Diameter of a terminal, in points, where there are few.
LARGEST_DOT = 8.0
# Above this many nodes a vector file holds the drawing as an image: viewers choke on the rest.
MOST_VECTOR_NODES = 20_000


def plot_solution(solution: Solution, ax: Axes | None = None) -> Axes:
    """Draw a solution and return the axes; without `ax` on a figure of its own.

    Terminals are filled circles, Steiner points hollow ones, relays small squares. Pass
    `ax=plt.gca()` to draw into a pyplot window.
    """
    scene = scene_of(solution)
    ax = _new_axes(scene) if ax is None else ax
    _draw(scene, ax)
    _write_title(ax, heading(solution), count_text(scene))
    return ax


def plot_points(points: Any, ax: Axes | None = None) -> Axes:
    """Draw points alone and return the axes; points that carry a CRS are drawn as lon/lat."""
    scene = scene_of_points(as_points(points), crs=getattr(points, "crs", None))
    ax = _new_axes(scene) if ax is None else ax
    _draw(scene, ax)
    _write_title(ax, f"{len(scene.terminals):,} points", "")
    return ax


def compare(
    solutions: Sequence[Solution], *, titles: Sequence[str] | None = None, columns: int = 0
) -> Figure:
    """Draw solutions side by side on one figure, each under its title (method and length).

    `columns` 0 chooses a layout that is about as high as it is wide.
    """
    if not solutions:
        raise OptionError("compare needs at least one solution")
    if titles is not None and len(titles) != len(solutions):
        raise OptionError(f"compare got {len(solutions)} solutions but {len(titles)} titles")
    columns = columns or min(len(solutions), max(2, math.ceil(math.sqrt(len(solutions)))), 4)
    rows = math.ceil(len(solutions) / columns)
    scenes = [scene_of(solution) for solution in solutions]
    shape = min(max(_height_over_width(scenes[0]), 0.4), 1.3)
    figure = _new_figure(3.1 * columns, (3.1 * shape + 0.55) * rows)
    most_nodes = max(scene.node_count for scene in scenes)
    for index, (solution, scene) in enumerate(zip(solutions, scenes, strict=True)):
        ax = figure.add_subplot(rows, columns, index + 1)
        _draw(scene, ax, size_for=most_nodes)
        ax.set_axis_off()
        lines = (titles[index] if titles is not None else _short_title(solution)).split("\n")
        _write_title(ax, lines[0], "\n".join(lines[1:]), size=9.5)
    return figure


def save_figure(
    solution: Solution | Figure, target: str | Path | IO[bytes], format: str | None = None
) -> None:
    """Write a solution's picture (or a figure) as png, pdf or svg; the same input, the same bytes.

    `format` defaults to the suffix of the path.
    """
    import matplotlib

    kind = (format or (Path(target).suffix[1:] if isinstance(target, (str, Path)) else "")).lower()
    if kind not in FIGURE_FORMATS:
        raise FormatError(f"a picture is written as png, pdf or svg, got {kind or 'no format'!r}")
    figure = figure_of(plot_solution(solution)) if isinstance(solution, Solution) else solution
    # Dates and random ids would make every file differ from the last.
    metadata: dict[str, Any] = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None},
        "svg": {"Date": None},
    }[kind]
    with matplotlib.rc_context({"svg.hashsalt": "deepsteiner", "svg.fonttype": "path"}):
        figure.savefig(target, format=kind, metadata=metadata)


def figure_of(ax: Axes) -> Figure:
    """Return the figure that axes stand on."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise OptionError("the axes belong to no figure")
    return figure


def _new_figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=RESOLUTION, facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _new_axes(scene: Scene) -> Axes:
    # Twelve inches hold ten thousand nodes at a size that can still be told apart.
    side = min(max(6.0, 6.0 * (scene.node_count / 1500) ** 0.35), 12.0)
    shape = min(max(_height_over_width(scene), 0.25), 1.25)
    return _new_figure(side, side * shape + 0.6).add_subplot()


def _height_over_width(scene: Scene) -> float:
    low, high = scene.box()
    width, height = high - low
    if width == 0:
        return 1.0 if height == 0 else math.inf
    return float(height * scene.aspect / width)


def _draw(scene: Scene, ax: Axes, size_for: int | None = None) -> None:
    """Draw a scene, with marks of the size that suits `size_for` nodes (default: its own)."""
    from matplotlib.collections import LineCollection

    _set_frame(scene, ax)
    dot, line = _sizes(scene, ax, size_for or scene.node_count)
    huge = scene.node_count > MOST_VECTOR_NODES
    ax.add_collection(
        LineCollection(
            list(scene.segments),
            colors=EDGE_COLOUR,
            linewidths=line,
            capstyle="round",
            zorder=1,
            rasterized=huge,
        ),
        autolim=False,
    )
    marks = (
        (scene.relays, "s", 0.45 * dot, INK, 2),
        (scene.steiner, "o", 0.75 * dot, PAPER, 3),
        (scene.terminals, "o", dot, INK, 4),
    )
    for nodes, marker, size, face, order in marks:
        (drawn,) = ax.plot(
            nodes[:, 0],
            nodes[:, 1],
            linestyle="none",
            marker=marker,
            markersize=size,
            markerfacecolor=face,
            markeredgecolor=INK,
            markeredgewidth=0 if face == INK else min(0.16 * dot, 1.0),
            zorder=order,
            rasterized=huge,
            clip_on=False,
        )
        drawn.set_in_layout(False)


def _sizes(scene: Scene, ax: Axes, n: int) -> tuple[float, float]:
    """Return the diameter of a terminal and the width of an edge in points."""
    box = ax.get_window_extent()
    room = np.array([box.width, box.height]) * 72 / ax.figure.dpi
    low, high = scene.box()
    extent = (high - low) * np.array([1.0, scene.aspect])
    if extent.max() == 0:
        return LARGEST_DOT, 0.2 * LARGEST_DOT
    width, height = extent * (room / np.maximum(extent, 1e-9 * extent.max())).min()
    # Nodes on a line are spread over a length, others over an area.
    spacing = max(math.sqrt(width * height / n), max(width, height) / n)
    dot = min(max(min(0.3 * spacing, 0.9 * math.sqrt(spacing)), 1.0), LARGEST_DOT)
    return dot, min(max(0.2 * dot, 0.35), 1.6)


def _set_frame(scene: Scene, ax: Axes) -> None:
    ax.margins(0.04)
    ax.set_aspect(scene.aspect, adjustable="datalim")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color("#c8ccd2")
    ax.tick_params(colors=QUIET, labelsize=8, width=0.6, length=3)
    ax.locator_params(nbins=6)
    if scene.geographic:
        ax.set_xlabel("longitude", color=QUIET, fontsize=9)
        ax.set_ylabel("latitude", color=QUIET, fontsize=9)


def _write_title(ax: Axes, first: str, second: str, size: float = 11.0) -> None:
    # The heading is the axes' title; the quieter line under it hangs just above the frame.
    ax.set_title(
        first, loc="left", fontsize=size, color=INK, pad=6 + (1.35 * size if second else 0)
    )
    if second:
        ax.annotate(
            second,
            (0, 1),
            xycoords="axes fraction",
            xytext=(0, 6),
            textcoords="offset points",
            fontsize=0.85 * size,
            color=QUIET,
            annotation_clip=False,
        )


def _short_title(solution: Solution) -> str:
    lines = (solution.method or "tree", f"length {length_text(solution)}", quality_text(solution))
    return f"{lines[0]}\n" + ", ".join(line for line in lines[1:] if line)
