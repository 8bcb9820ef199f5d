"""Trees around obstacles, and the rounds that lead there."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import deepsteiner as ds

from .palette import Palette, dots, lines, panels, title, tree


@cache
def scene() -> tuple[Any, Any]:
    """Return terminals and obstacles: ponds in the unit square, terminals on dry land."""
    rng = np.random.default_rng(12)
    places = np.array([[0.3, 0.32], [0.68, 0.62], [0.34, 0.78], [0.8, 0.2]])
    ponds = []
    for x, y in places:
        turn = np.linspace(0, 2 * np.pi, 8)[:-1] + rng.uniform(0, 1)
        reach = 0.1 * rng.uniform(0.8, 1.35, len(turn))
        ponds.append(np.c_[x + reach * np.cos(turn), y + reach * np.sin(turn)])
    free: list[Any] = []
    while len(free) < 14:
        one = rng.random(2)
        if (np.hypot(*(places - one).T) > 0.17).all():
            free.append(one)
    return np.array(free), ponds


def lazy(shade: Palette) -> Any:
    """The tree without obstacles, the obstacles it crosses, the tree around them."""
    points, ponds = scene()
    plain = ds.solve(points, "exact")
    around = ds.solve(points, "exact", obstacles=ponds, trace=True)
    found = [one for one in around.info["trace"] if one["stage"] == "round"]
    figure, axes = panels(shade, 2, size=3.9, height=4.8)
    ax = axes[0]
    for ring in ponds:
        hit = crosses(plain, ring)
        ax.fill(*ring.T, facecolor=shade.accent if hit else shade.faint, alpha=0.55 if hit else 0.7)
    lines(ax, plain.coordinates, plain.edges, shade.edge, 1.7)
    dots(ax, plain.steiner_points, shade, hollow=True, size=5)
    dots(ax, plain.terminals, shade, size=5)
    title(
        ax, f"round 1: as if nothing were there\nno tree is shorter than {plain.length:.4f}", shade
    )
    tree(axes[1], around, shade)
    if len(around.bends):
        axes[1].plot(*around.bends.T, "D", color=shade.accent, markersize=5, zorder=6)
    word = f"after round {len(found)}: around what it crossed"
    title(axes[1], f"{word}\nlength {around.length:.4f}, {around.status}", shade)
    for ax in axes:
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
    return figure


def crosses(solution: Any, ring: Any) -> bool:
    """Say whether an edge goes through a polygon."""
    from shapely.geometry import LineString, Polygon

    inside = Polygon(ring).buffer(-1e-6)
    return any(LineString(pair).intersects(inside) for pair in solution.coordinates[solution.edges])


DRAWINGS = {"lazy": lazy}
