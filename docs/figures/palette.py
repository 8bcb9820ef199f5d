"""Colours for light and for dark pages, and axes without a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure


@dataclass(frozen=True)
class Palette:
    """The colours of one picture."""

    ink: str
    quiet: str
    faint: str
    paper: str
    edge: str
    accent: str
    good: str
    fill: str
    ramp: str


PALETTES = {
    "light": Palette("#16181c", "#666b73", "#c4c9d0", "#ffffff", "#2b6ca3", "#c2571a", "#2f7d4f",
                     "#e8eef5", "viridis_r"),
    "dark": Palette("#e9ebee", "#a2a9b3", "#4a515c", "#14181e", "#6fb1e8", "#f0985a", "#6cc48f",
                    "#222b36", "plasma"),
}  # fmt: skip


def panels(
    shade: Palette, count: int = 1, *, size: float = 3.3, height: float | None = None
) -> Any:
    """Return a figure and its bare axes side by side."""
    figure = Figure(figsize=(size * count, height or size), layout="constrained")
    figure.patch.set_alpha(0.0)
    axes = [figure.add_subplot(1, count, k + 1) for k in range(count)]
    for ax in axes:
        ax.set_aspect("equal")
        ax.set_axis_off()
    return figure, axes


def chart(shade: Palette, width: float = 7.0, height: float = 4.2) -> Any:
    """Return a figure with one pair of axes for a chart."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0.0)
    ax = figure.add_subplot()
    ax.patch.set_alpha(0.0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(shade.quiet)
    ax.tick_params(colors=shade.quiet, which="both", labelsize=9)
    ax.xaxis.label.set_color(shade.ink)
    ax.yaxis.label.set_color(shade.ink)
    ax.grid(color=shade.faint, linewidth=0.5, alpha=0.6)
    return figure, ax


def lines(ax: Any, nodes: Any, edges: Any, colour: str, width: float = 1.8, **more: Any) -> None:
    """Draw edges over nodes."""
    from matplotlib.collections import LineCollection

    nodes = np.asarray(nodes)
    made = LineCollection(list(nodes[np.asarray(edges)]), colors=colour, linewidths=width,
                          capstyle="round", **more)  # fmt: skip
    ax.add_collection(made)


def dots(ax: Any, points: Any, shade: Palette, *, hollow: bool = False, size: float = 6.0) -> None:
    """Draw terminals as filled dots, Steiner points as hollow ones."""
    points = np.asarray(points).reshape(-1, 2)
    face = shade.paper if hollow else shade.ink
    ax.plot(*points.T, "o", color=shade.ink, markersize=size * (0.75 if hollow else 1.0),
            markerfacecolor=face, markeredgewidth=1.2 if hollow else 0, zorder=5)  # fmt: skip


def label(
    ax: Any, where: Any, text: str, shade: Palette, *, shift: Any = (6, 6), **more: Any
) -> None:
    """Write beside a place."""
    ax.annotate(text, where, xytext=shift, textcoords="offset points",
                color=more.pop("color", shade.ink), fontsize=more.pop("size", 10), **more)  # fmt: skip


def title(ax: Any, text: str, shade: Palette) -> None:
    """Write a small heading, its second line quieter."""
    first, _, second = text.partition("\n")
    ax.set_title(first, loc="left", color=shade.ink, fontsize=10.5, pad=18 if second else 6)
    if second:
        ax.annotate(second, (0, 1), xytext=(0, 5), xycoords="axes fraction",
                    textcoords="offset points", color=shade.quiet, fontsize=9)  # fmt: skip


def tree(ax: Any, solution: Any, shade: Palette, *, size: float = 5.0, width: float = 1.6) -> None:
    """Draw a solution."""
    for polygon in solution.obstacles:
        ax.fill(*np.asarray(polygon[0]).T, facecolor=shade.faint, edgecolor=shade.quiet,
                linewidth=0.7, alpha=0.7, zorder=0)  # fmt: skip
    lines(ax, solution.coordinates, solution.edges, shade.edge, width)
    dots(ax, solution.steiner_points, shade, hollow=True, size=size)
    dots(ax, solution.terminals, shade, size=size)
    ax.autoscale_view()
    ax.margins(0.04)
