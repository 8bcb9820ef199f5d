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
    scene_of,
    scene_of_points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The formats of pictures, with what each says of its making: a date or a version.
FIGURE_FORMATS = {"png": "Software", "pdf": "CreationDate", "svg": "Date"}
FRAME_COLOUR = "#c8ccd2"
RESOLUTION = 160
# Diameter of a terminal, in points, where there are few.
LARGEST_DOT = 8.0
# Above this many nodes a vector file holds the drawing as an image: viewers choke on the rest.
MOST_VECTOR_NODES = 20_000


def plot_solution(solution: Solution, ax: Axes | None = None) -> Axes:
    """Draw a solution.

    Terminals are filled circles, Steiner points hollow ones, relays small squares, bends small
    diamonds; obstacles are hatched, soft regions tinted, existing networks thin grey lines with
    small grey squares where the tree joins them.

    Parameters
    ----------
    solution : Solution
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a figure of its own. Pass ``ax=plt.gca()`` to draw into a pyplot
        window.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from deepsteiner import solve
    >>> ax = plot_solution(solve([[0, 0], [3, 0], [3, 4]], "mst"))
    >>> ax.get_title(loc="left")
    'mst, length 7'
    """
    scene = scene_of(solution)
    ax = _draw(scene, ax or _new_axes(scene))
    return _titled(ax, f"{heading(solution)}\n{count_text(scene)}")


def plot_points(points: Any, ax: Axes | None = None) -> Axes:
    """Draw points alone.

    Parameters
    ----------
    points : array_like
        The points, of shape (n, 2). Those that carry a CRS are drawn as longitude and latitude.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Those axes, so that more can be drawn on them.

    Examples
    --------
    >>> plot_points([[0, 0], [3, 0], [3, 4]]).get_title(loc="left")
    '3 points'
    """
    scene = scene_of_points(as_points(points), crs=getattr(points, "crs", None))
    return _titled(_draw(scene, ax or _new_axes(scene)), f"{len(scene.terminals):,} points")


def compare(
    solutions: Sequence[Solution], *, titles: Sequence[str] | None = None, columns: int = 0
) -> Figure:
    """Draw solutions side by side on one figure.

    Parameters
    ----------
    solutions : sequence of Solution
        What to draw, at least one.
    titles : sequence of str, optional
        One for each solution; by default its method, length and gap. What follows a line break is
        written smaller.
    columns : int, optional
        How many stand in a row. By default the figure is about as high as it is wide.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    OptionError
        If there are no solutions, or the number of titles is not that of the solutions.

    Examples
    --------
    >>> from deepsteiner import solve
    >>> points = [[0, 0], [3, 0], [3, 4], [0, 4]]
    >>> figure = compare([solve(points, "mst"), solve(points, "exact")])
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['mst', 'exact']
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
    for index, scene in enumerate(scenes):
        ax = _draw(scene, figure.add_subplot(rows, columns, index + 1), size_for=most_nodes)
        ax.set_axis_off()
        title = titles[index] if titles is not None else heading(solutions[index], stacked=True)
        _titled(ax, title, size=9.5)
    return figure


def save_figure(
    solution: Solution | Figure, target: str | Path | IO[bytes], format: str | None = None
) -> None:
    """Write the picture of a solution, or a figure; the same input gives the same bytes.

    Parameters
    ----------
    solution : Solution or matplotlib.figure.Figure
        What to write.
    target : str, Path or binary stream
        Where to write it.
    format : {"png", "pdf", "svg"}, optional
        By default the suffix of the path.

    Raises
    ------
    FormatError
        If the format is none of those.

    Examples
    --------
    >>> import io
    >>> from deepsteiner import solve
    >>> picture = io.BytesIO()
    >>> save_figure(solve([[0, 0], [3, 0], [3, 4]]), picture, "png")
    >>> picture.getvalue()[1:4]
    b'PNG'
    """
    import matplotlib

    kind = (format or (Path(target).suffix[1:] if isinstance(target, (str, Path)) else "")).lower()
    if kind not in FIGURE_FORMATS:
        raise FormatError(f"a picture is written as png, pdf or svg, got {kind or 'no format'!r}")
    figure = figure_of(plot_solution(solution)) if isinstance(solution, Solution) else solution
    # Dates and random ids would make every file differ from the last.
    dated: Any = {FIGURE_FORMATS[kind]: None}
    with matplotlib.rc_context({"svg.hashsalt": "deepsteiner", "svg.fonttype": "path"}):
        figure.savefig(target, format=kind, metadata=dated)


def figure_of(ax: Axes) -> Figure:
    """Return the figure that axes stand on.

    Examples
    --------
    >>> figure_of(plot_points([[0, 0], [1, 1]])).get_size_inches().round(1).tolist()
    [6.0, 6.6]
    """
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
    _, (width, height) = scene.box()
    if width == 0:
        return 1.0 if height == 0 else math.inf
    return float(height / width)


def _draw(scene: Scene, ax: Axes, size_for: int | None = None) -> Axes:
    """Draw a scene, with marks of the size that suits `size_for` nodes (default: its own)."""
    from matplotlib.collections import LineCollection

    _set_frame(scene, ax)
    _draw_obstacles(scene, ax)
    dot, line = _sizes(scene, ax, size_for or scene.node_count)
    huge = scene.node_count > MOST_VECTOR_NODES
    if scene.existing:
        lines = LineCollection(
            list(scene.existing), colors=QUIET, linewidths=0.6 * line, zorder=0.5
        )
        ax.add_collection(lines, autolim=False)
        ax.update_datalim(np.concatenate(scene.existing))
    edges = LineCollection(list(scene.segments), colors=EDGE_COLOUR, linewidths=line, zorder=1)
    edges.set(capstyle="round", rasterized=huge)
    ax.add_collection(edges, autolim=False)
    if len(scene.bends):
        ax.plot(*scene.bends.T, "D", color=EDGE_COLOUR, markersize=0.45 * dot, zorder=2)
    if len(scene.joints):
        ax.plot(*scene.joints.T, "s", color=QUIET, markersize=0.4 * dot, zorder=2)
    marks = (
        (scene.relays, "s", 0.45 * dot, INK),
        (scene.steiner, "o", 0.75 * dot, PAPER),
        (scene.terminals, "o", dot, INK),
    )
    for order, (nodes, marker, size, face) in enumerate(marks, start=2):
        (drawn,) = ax.plot(*nodes.T, marker, color=INK, markersize=size, zorder=order)
        drawn.set(markerfacecolor=face, rasterized=huge, clip_on=False, in_layout=False)
        drawn.set(markeredgewidth=0 if face == INK else min(0.16 * dot, 1.0))
    return ax


def _draw_obstacles(scene: Scene, ax: Axes) -> None:
    """Hatch the obstacles and tint the soft regions; holes are left white."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    hard: dict[str, Any] = {"facecolor": "none", "edgecolor": QUIET, "hatch": "////", "lw": 0.6}
    soft: dict[str, Any] = {"facecolor": QUIET, "alpha": 0.15, "edgecolor": QUIET, "lw": 0.4}
    for polygons, style in ((scene.regions, soft), (scene.obstacles, hard)):
        for polygon in polygons:
            whole = Outline.make_compound_path(*(Outline(ring, closed=True) for ring in polygon))
            ax.add_patch(PathPatch(whole, **style))


def _sizes(scene: Scene, ax: Axes, n: int) -> tuple[float, float]:
    """Return the diameter of a terminal and the width of an edge in points."""
    box = ax.get_window_extent()
    room = np.array([box.width, box.height]) * 72 / ax.figure.dpi
    _, extent = scene.box()
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
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FRAME_COLOUR)
    ax.tick_params(colors=QUIET, labelsize=8, width=0.6, length=3)
    ax.locator_params(nbins=6)
    if scene.geographic:
        ax.set_xlabel("longitude", color=QUIET, fontsize=9)
        ax.set_ylabel("latitude", color=QUIET, fontsize=9)


def _titled(ax: Axes, title: str, size: float = 11.0) -> Axes:
    """Write the first line as the axes' title and the others, quieter, between it and the frame."""
    first, _, second = title.partition("\n")
    pad = 6 + (1.35 * size if second else 0)
    ax.set_title(first, loc="left", fontsize=size, color=INK, pad=pad)
    if second:
        above: dict[str, Any] = {"xytext": (0, 6), "textcoords": "offset points"}
        words = ax.annotate(second, (0, 1), xycoords="axes fraction", **above)
        words.set(fontsize=0.85 * size, color=QUIET, annotation_clip=False)
    return ax
