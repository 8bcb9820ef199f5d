"""Full Steiner trees: the Fermat point, Simpson lines, Melzak's construction, full components."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import deepsteiner as ds

from .palette import Palette, dots, label, lines, panels, title, tree

TURN = np.array([[0.5, -np.sqrt(3) / 2], [np.sqrt(3) / 2, 0.5]])


def equilateral(a: Any, b: Any) -> Any:
    """Return the corner of the equilateral triangle to the right of the way from a to b."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    return a + TURN.T @ (b - a)


def circle(a: Any, b: Any, e: Any) -> tuple[Any, float]:
    """Return centre and radius of the circle through the corners of an equilateral triangle."""
    centre = (np.asarray(a) + b + e) / 3
    return centre, float(np.hypot(*(centre - a)))


def arc(a: Any, b: Any, e: Any, count: int = 80) -> Any:
    """Return the 120 degree arc over a, b, opposite e."""
    centre, radius = circle(a, b, e)
    first, last = (np.arctan2(*(p - centre)[::-1]) for p in (np.asarray(a), np.asarray(b)))
    away = np.arctan2(*(centre - e)[::-1])
    half = np.angle(np.exp(1j * (last - first))) / 2
    turn = np.linspace(-abs(half), abs(half), count)
    return centre + radius * np.c_[np.cos(away + turn), np.sin(away + turn)]


def three(shade: Palette) -> Any:
    """Three terminals: the spanning tree, the Fermat point, and how a Simpson line finds it."""
    a, b, c = np.array([[0.0, 0.0], [1.0, 0.0], [0.62, 0.95]])
    figure, axes = panels(shade, 3, size=3.1, height=3.4)
    spanning, best = ds.solve([a, b, c], "mst"), ds.solve([a, b, c], "exact")
    for ax, solution, text in (
        (axes[0], spanning, "spanning tree"),
        (axes[1], best, "with a Steiner point"),
    ):
        tree(ax, solution, shade, size=7)
        title(ax, f"{text}\nlength {solution.length:.4f}", shade)
    ax = axes[2]
    e = equilateral(a, b)
    centre, radius = circle(a, b, e)
    turn = np.linspace(0, 2 * np.pi, 200)
    ax.plot(*(centre[:, None] + radius * np.array([np.cos(turn), np.sin(turn)])), color=shade.faint)
    ax.plot(*arc(a, b, e).T, color=shade.good, linewidth=2.2)
    lines(ax, [a, b, e], [[0, 1], [1, 2], [2, 0]], shade.quiet, 0.9)
    lines(ax, [e, c], [[0, 1]], shade.accent, 1.6)
    lines(ax, [a, b, c, *best.steiner_points], [[0, 3], [1, 3], [2, 3]], shade.edge, 2.2)
    dots(ax, [a, b, c], shade, size=7)
    dots(ax, best.steiner_points, shade, hollow=True, size=7)
    for where, text, shift in (
        (a, "a", (-14, -2)),
        (b, "b", (7, -2)),
        (c, "c", (7, 2)),
        (e, "e", (7, -4)),
    ):
        label(ax, where, text, shade, shift=shift)
    title(ax, f"the Simpson line e–c\nlength {np.hypot(*(e - c)):.4f}", shade)
    return figure


def four(shade: Palette) -> Any:
    """Melzak: four terminals become three, then two."""
    points = np.array([[0.0, 0.0], [0.15, 0.85], [1.25, 0.95], [1.4, 0.05]])
    a, b, c, d = points
    left, right = equilateral(b, a), equilateral(d, c)
    best = ds.solve(points, "exact")
    figure, axes = panels(shade, 3, size=3.3, height=2.8)
    steps = (
        "two pairs become e₁ and e₂\ntheir Simpson line is as long as the tree",
        "where it meets the arcs\nlie the Steiner points",
        f"the full Steiner tree\nlength {best.length:.4f} = |e₁e₂| = {np.hypot(*(left - right)):.4f}",
    )
    for k, (ax, text) in enumerate(zip(axes, steps, strict=True)):
        if k < 2:
            lines(ax, [a, b, left], [[0, 1], [1, 2], [2, 0]], shade.quiet, 0.9)
            lines(ax, [c, d, right], [[0, 1], [1, 2], [2, 0]], shade.quiet, 0.9)
            lines(ax, [left, right], [[0, 1]], shade.accent, 1.6)
            label(ax, left, "e₁", shade, shift=(-6, 8))
            label(ax, right, "e₂", shade, shift=(-6, 8))
        if k == 1:
            ax.plot(*arc(a, b, left).T, color=shade.good, linewidth=2.2)
            ax.plot(*arc(c, d, right).T, color=shade.good, linewidth=2.2)
        if k:
            lines(ax, best.coordinates, best.edges, shade.edge, 2.2)
            dots(ax, best.steiner_points, shade, hollow=True, size=7)
        dots(ax, points, shade, size=7)
        ax.set_xlim(left[0] - 0.12, right[0] + 0.12)
        ax.set_ylim(-0.25, 1.25)
        title(ax, text, shade)
    return figure


@cache
def traced(n: int = 40, seed: int = 3) -> Any:
    """Return points solved to proof with a trace."""
    return ds.solve(np.random.default_rng(seed).random((n, 2)), "exact", trace=True)


def components(solution: Any) -> list[tuple[list[int], Any]]:
    """Return the full components of a tree: terminals and edges of each."""
    n, edges = len(solution.terminals), solution.edges
    parent = list(range(len(edges)))

    def root(k: int) -> int:
        while parent[k] != k:
            k = parent[k]
        return k

    at: dict[int, int] = {}
    for k, ends in enumerate(edges):
        for node in ends:
            if node >= n:  # edges that meet at a Steiner point are of one component
                parent[root(k)] = root(at.setdefault(int(node), k))
    groups: dict[int, list[int]] = {}
    for k in range(len(edges)):
        groups.setdefault(root(k), []).append(k)
    found = []
    for members in groups.values():
        ends = {int(node) for k in members for node in edges[k] if node < n}
        found.append((sorted(ends), edges[members]))
    return sorted(found, key=lambda one: len(one[0]))


def parts(shade: Palette) -> Any:
    """A shortest tree falls apart into full Steiner trees at its terminals."""
    from matplotlib import colormaps

    solution = traced()
    figure, (ax,) = panels(shade, 1, size=6.2, height=5.4)
    sizes = sorted({len(ends) for ends, _ in components(solution)})
    ramp = colormaps[shade.ramp](np.linspace(0.35, 0.95, len(sizes)))
    for ends, edges in components(solution):
        lines(ax, solution.coordinates, edges, ramp[sizes.index(len(ends))], 2.6)
    dots(ax, solution.steiner_points, shade, hollow=True, size=5)
    dots(ax, solution.terminals, shade, size=5)
    counts = [len(ends) for ends, _ in components(solution)]
    for size, colour in zip(sizes, ramp, strict=True):
        said = f"{counts.count(size)} of {size} terminals"
        ax.plot([], [], color=colour, linewidth=2.6, label=said)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, labelcolor=shade.ink)
    return figure


DRAWINGS = {"three": three, "four": four, "parts": parts}
