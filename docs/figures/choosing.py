"""Concatenation: the linear programme, round by round; and the search where no proof is wanted."""

from __future__ import annotations

from typing import Any

import numpy as np

import deepsteiner as ds

from .palette import Palette, chart, dots, lines, panels, title, tree
from .trees import traced


def rounds(shade: Palette) -> Any:
    """The value of the linear programme climbs to the length of the tree."""
    found = [one for one in traced(60, 3).info["trace"] if one["stage"] == "round"]
    figure, ax = chart(shade, 7.0, 3.2)
    ax.plot([one["value"] for one in found], "o-", color=shade.edge, label="linear programme")
    ax.plot([one["length"] for one in found], "s-", color=shade.accent, markersize=4,
            label="best tree so far")  # fmt: skip
    ax.set_xlabel("round: solve, look for violated sets, add their rows")
    ax.set_ylabel("length")
    ax.legend(frameon=False, labelcolor=shade.ink)
    return figure


def violated(shade: Palette) -> Any:
    """Three rounds: what the linear programme takes, and a set that it leaves apart."""
    solution = traced(60, 3)
    listed = solution.info["trace"][0]["trees"]
    found = [one for one in solution.info["trace"] if one["stage"] == "round"]
    chosen = [found[0], found[len(found) // 2], found[-1]]
    figure, axes = panels(shade, 3, size=3.4, height=3.9)
    for ax, one in zip(axes, chosen, strict=True):
        for index, value in one["x"]:
            part = listed[index]
            nodes = np.array([solution.terminals[k] for k in part["terminals"]]
                             + part["steiner_points"])  # fmt: skip
            whole = value > 0.999
            lines(ax, nodes, part["edges"], shade.edge if whole else shade.accent,
                  1.8 if whole else 0.8 + 1.4 * value)  # fmt: skip
        dots(ax, solution.terminals, shade, size=3.6)
        for members in one["sets"][:1]:
            ring = solution.terminals[members]
            ax.plot(*ring.T, "o", markersize=11, markerfacecolor="none",
                    markeredgecolor=shade.good, markeredgewidth=1.6)  # fmt: skip
        number = found.index(one) + 1
        said = f"{len(one['sets'])} violated sets" if one["sets"] else "no set is violated"
        title(ax, f"round {number}: {one['value']:.4f}\n{said}", shade)
    return figure


def search(shade: Palette) -> Any:
    """From the spanning tree to the optimum: what each step of the search wins."""
    points = np.random.default_rng(8).random((120, 2))
    best = ds.solve(points, "exact")
    runs = [
        ("spanning tree", ds.solve(points, "mst")),
        ("smith", ds.solve(points, "smith")),
        ("local, fast", ds.solve(points, "local", effort="fast")),
        ("local", ds.solve(points, "local")),
    ]
    optimal = {tuple(np.round(np.sort(pair, axis=0).ravel(), 6)) for pair in segments(best)}
    figure, axes = panels(shade, 4, size=2.7, height=3.2)
    for ax, (name, solution) in zip(axes, runs, strict=True):
        same = np.array([tuple(np.round(np.sort(pair, axis=0).ravel(), 6)) in optimal
                         for pair in segments(solution)])  # fmt: skip
        lines(ax, solution.coordinates, solution.edges[same], shade.edge, 1.3)
        if (~same).any():
            lines(ax, solution.coordinates, solution.edges[~same], shade.accent, 1.6)
        dots(ax, solution.terminals, shade, size=2.6)
        gap = 100 * (solution.length / best.length - 1)
        title(
            ax,
            f"{name}\n{gap:.2g} % above the optimum" if gap > 1e-7 else f"{name}\noptimal",
            shade,
        )
        ax.autoscale_view()
    return figure


def segments(solution: Any) -> Any:
    """Return the ends of every edge."""
    return solution.coordinates[solution.edges]


def hero(shade: Palette) -> Any:
    """The picture of the first page: a hundred points to proof."""
    solution = ds.solve(np.random.default_rng(4).random((100, 2)), "exact")
    figure, (ax,) = panels(shade, 1, size=5.6, height=5.2)
    tree(ax, solution, shade, size=5)
    return figure


DRAWINGS = {"rounds": rounds, "violated": violated, "search": search, "hero": hero}
