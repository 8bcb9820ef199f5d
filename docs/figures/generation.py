"""Generation: what each test rules out, and what is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from .palette import Palette, chart, dots, label, lines, panels, title
from .trees import arc, equilateral, traced


def lune(shade: Palette) -> Any:
    """The lune of an edge holds no terminal."""
    u, v = np.array([0.0, 0.0]), np.array([1.0, 0.0])
    figure, axes = panels(shade, 2, size=3.6, height=3.0)
    turn = np.linspace(-np.pi / 3, np.pi / 3, 60)
    border = np.r_[np.c_[np.cos(turn), np.sin(turn)], np.c_[1 - np.cos(turn), -np.sin(turn)]]
    for ax, w, text in zip(axes, ([0.55, 0.35], [0.75, 0.95]),
                           ("a terminal in the lune:\nthe edge u–v is in no shortest tree",
                            "no terminal in the lune:\nthe test says nothing"), strict=True):  # fmt: skip
        ax.fill(*border.T, color=shade.fill, zorder=0)
        ax.plot(*border.T, color=shade.quiet, linewidth=0.8)
        inside = w[1] < 0.6
        lines(ax, [u, v], [[0, 1]], shade.accent if inside else shade.edge, 2.2,
              linestyles="--" if inside else "-")  # fmt: skip
        if inside:
            lines(ax, [u, v, w], [[0, 2], [1, 2]], shade.good, 1.6)
        dots(ax, [u, v], shade, hollow=True, size=8)
        dots(ax, [w], shade, size=8)
        for where, name, shift in ((u, "u", (-13, 4)), (v, "v", (6, 6)), (w, "w", (6, 6))):
            label(ax, where, name, shade, shift=shift)
        ax.set_xlim(-0.35, 1.35)
        ax.set_ylim(-0.95, 1.15)
        title(ax, text, shade)
    return figure


def bottleneck(shade: Palette) -> Any:
    """An edge is no longer than the longest step between its sides in the spanning tree."""
    points = np.array([[0.0, 0.1], [0.35, 0.32], [0.7, 0.38], [1.05, 0.3], [1.4, 0.08]])
    s, t = np.array([0.28, -0.25]), np.array([1.12, -0.27])
    figure, (ax,) = panels(shade, 1, size=5.6, height=3.0)
    lines(ax, points, [[k, k + 1] for k in range(4)], shade.quiet, 1.3)
    lines(ax, [points[0], s, t, points[4]], [[0, 1], [2, 3]], shade.edge, 2.0)
    lines(ax, [s, t], [[0, 1]], shade.accent, 2.2, linestyles="--")
    extra = np.array([[0.2, -0.62], [1.2, -0.62]])
    lines(ax, [s, extra[0], t, extra[1]], [[0, 1], [2, 3]], shade.edge, 2.0)
    dots(ax, [*points, *extra], shade, size=7)
    dots(ax, [s, t], shade, hollow=True, size=7)
    steps = np.hypot(*np.diff(points, axis=0).T)
    k = int(np.argmax(steps))
    lines(ax, points, [[k, k + 1]], shade.good, 3.0)
    label(ax, (points[k] + points[k + 1]) / 2, f"bottleneck {steps[k]:.2f}", shade, shift=(8, -14),
          color=shade.good)  # fmt: skip
    label(ax, (s + t) / 2, f"edge {np.hypot(*(t - s)):.2f}: too long", shade, shift=(-42, -16),
          color=shade.accent)  # fmt: skip
    ax.autoscale_view()
    ax.margins(0.08)
    return figure


def wedge(shade: Palette) -> Any:
    """Only what lies in the wedge of a branch can close it into a tree."""
    a, b = np.array([0.0, 0.0]), np.array([0.9, 0.1])
    e = equilateral(a, b)
    whole = arc(a, b, e)
    cut = whole[22:58]
    figure, (ax,) = panels(shade, 1, size=5.4, height=3.6)
    reach = 1.7
    sides = [p + (p - e) / np.hypot(*(p - e)) * reach for p in (cut[0], cut[-1])]
    ax.fill(*np.r_[cut, [sides[1], sides[0]]].T, color=shade.fill, zorder=0)
    for p, q in zip((cut[0], cut[-1]), sides, strict=True):
        lines(ax, [e, p, q], [[0, 1], [1, 2]], shade.quiet, 0.9, linestyles=":")
    ax.plot(*whole.T, color=shade.faint, linewidth=2.4)
    ax.plot(*cut.T, color=shade.good, linewidth=3.0)
    inside, outside = np.array([[0.42, 1.05], [0.66, 0.8]]), np.array([[-0.5, 0.6], [1.65, 0.5]])
    dots(ax, [a, b, *inside], shade, size=7)
    ax.plot(*outside.T, "o", color=shade.faint, markersize=7)
    for p in inside:
        lines(ax, [e, p], [[0, 1]], shade.accent, 1.2)
    label(ax, a, "a", shade, shift=(-14, -4))
    label(ax, b, "b", shade, shift=(8, -4))
    label(ax, e, "e", shade, shift=(8, -4))
    label(ax, cut[-1], "arc that is left", shade, shift=(-160, -4), color=shade.good, size=9)
    label(ax, outside[1], "cannot close it", shade, shift=(-30, 8), color=shade.quiet, size=9)
    label(ax, inside[0], "may close it", shade, shift=(6, 6), size=9)
    ax.set_xlim(-0.75, 2.0)
    ax.set_ylim(-0.9, 1.35)
    return figure


def projection(shade: Palette) -> Any:
    """The arcs of the two halves of a branch limit the arc of the whole."""
    a, b, c = np.array([0.0, 0.0]), np.array([0.75, 0.0]), np.array([1.55, 0.45])
    e = equilateral(a, b)
    f = equilateral(e, c)
    inner, outer = arc(a, b, e), arc(e, c, f)
    figure, (ax,) = panels(shade, 1, size=5.4, height=3.6)
    lines(ax, [a, b, e], [[0, 1], [1, 2], [2, 0]], shade.faint, 0.9)
    lines(ax, [e, c, f], [[0, 1], [1, 2], [2, 0]], shade.faint, 0.9)
    ax.plot(*inner.T, color=shade.edge, linewidth=2.4)
    ax.plot(*outer.T, color=shade.faint, linewidth=2.4)
    # What the inner arc, seen from its equilateral point, shows of the outer one.
    angles = np.arctan2(*(inner[[0, -1]] - e).T[::-1])
    seen = np.arctan2(*(outer - e).T[::-1])
    low, high = min(angles), max(angles)
    centre = (a + b + e) / 3
    beyond = np.hypot(*(outer - centre).T) > np.hypot(*(a - centre))
    kept = outer[(seen > low) & (seen < high) & beyond]
    ax.plot(*kept.T, color=shade.good, linewidth=3.2)
    for p in (inner[0], inner[-1]):
        way = p - e
        lines(ax, [e, e + way * 2.3], [[0, 1]], shade.quiet, 0.9, linestyles=":")
    dots(ax, [a, b, c], shade, size=7)
    for where, name, shift in ((a, "a", (-14, -2)), (b, "b", (6, -14)), (c, "c", (8, 2)),
                               (e, "e", (8, -4)), (f, "f", (8, -4))):  # fmt: skip
        label(ax, where, name, shade, shift=shift)
    label(ax, kept[len(kept) // 2], "what is left for the next\nSteiner point", shade,
          shift=(-84, 32), color=shade.good, size=9)  # fmt: skip
    ax.autoscale_view()
    ax.margins(0.06)
    return figure


def funnel(shade: Palette) -> Any:
    """How many are left after each stage, counted in a real run."""
    solution = traced()
    from .trees import components

    listed = solution.info["trace"][0]["trees"]
    stages = [
        ("pairs of branches looked at", solution.info["generation"]["candidates"]),
        ("pairs that fit and were merged", solution.info["generation"]["merges"]),
        ("branches left after all tests", solution.info["generation"]["branches"]),
        ("full Steiner trees", len(listed)),
        ("full Steiner trees in the shortest tree", len(components(solution))),
    ]
    figure, ax = chart(shade, 7.0, 2.9)
    names, counts = zip(*stages[::-1], strict=True)
    ax.barh(range(len(counts)), counts, color=shade.edge, height=0.62)
    ax.set_xscale("log")
    ax.set_xlim(1, 6 * max(counts))
    ax.set_yticks(range(len(counts)), names)
    ax.tick_params(axis="y", colors=shade.ink, length=0)
    ax.grid(visible=False, axis="y")
    for k, count in enumerate(counts):
        ax.annotate(f"{count:,}", (count, k), xytext=(5, -4), textcoords="offset points",
                    color=shade.ink, fontsize=9)  # fmt: skip
    return figure


def survivors(shade: Palette) -> Any:
    """The list that generation leaves, and what the shortest tree takes of it."""
    solution = traced()
    figure, axes = panels(shade, 2, size=3.9, height=4.2)
    listed = solution.info["trace"][0]["trees"]
    ax = axes[0]
    for one in listed:
        nodes = np.array([solution.terminals[k] for k in one["terminals"]] + one["steiner_points"])
        size = len(one["terminals"])
        colour = shade.quiet if size == 2 else shade.edge if size < 5 else shade.accent
        lines(ax, nodes, one["edges"], colour, 0.8, alpha=0.8)
    dots(ax, solution.terminals, shade, size=4)
    title(
        ax, f"{len(listed)} full Steiner trees\ngrey: two terminals, orange: five and more", shade
    )
    lines(axes[1], solution.coordinates, solution.edges, shade.edge, 1.8)
    dots(axes[1], solution.steiner_points, shade, hollow=True, size=4)
    dots(axes[1], solution.terminals, shade, size=4)
    title(axes[1], f"the shortest tree\nlength {solution.length:.4f}, proven", shade)
    return figure


DRAWINGS = {
    "lune": lune,
    "bottleneck": bottleneck,
    "wedge": wedge,
    "projection": projection,
    "funnel": funnel,
    "survivors": survivors,
}
