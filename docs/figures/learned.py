"""The learned policy, one step after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

import deepsteiner as ds

from .palette import Palette, dots, lines, panels, title


def steps(shade: Palette) -> Any:
    """What the policy sees, how likely it finds each candidate, and which one it takes."""
    from matplotlib.colors import LinearSegmentedColormap

    points = np.random.default_rng(5).random((8, 2))
    solution = ds.solve(points, "policy", trace=True)
    ramp = LinearSegmentedColormap.from_list("likely", [shade.faint, shade.edge, shade.accent])
    record = solution.info["trace"][:3]
    figure, axes = panels(shade, len(record) + 1, size=2.9, height=3.6)
    added: list[Any] = []
    for number, (ax, step) in enumerate(zip(axes, record, strict=False), start=1):
        now = ds.solve(np.array([*points, *added]), "mst")
        lines(ax, now.coordinates, now.edges, shade.quiet, 1.2)
        likely = np.array(step["probabilities"])
        order = np.argsort(likely)
        where, share = np.array(step["candidates"])[order], (likely / likely.max())[order] ** 0.3
        ax.scatter(*where.T, s=4 + 26 * share, c=share, cmap=ramp, zorder=3)
        dots(ax, points, shade, size=5)
        if added:
            dots(ax, added, shade, hollow=True, size=6)
        ax.plot(*step["chosen"], "o", markersize=13, markerfacecolor="none",
                markeredgecolor=shade.accent, markeredgewidth=1.8, zorder=6)  # fmt: skip
        end = "kept" if step["kept"] else "not kept: the tree got longer"
        title(
            ax, f"step {number}: {len(where)} candidates\nlength {step['length']:.4f}, {end}", shade
        )
        if step["kept"]:
            added.append(step["chosen"])
    lines(axes[-1], solution.coordinates, solution.edges, shade.edge, 1.7)
    dots(axes[-1], solution.steiner_points, shade, hollow=True, size=6)
    dots(axes[-1], points, shade, size=5)
    best = ds.solve(points, "exact").length
    above = 100 * (solution.length / best - 1)
    title(axes[-1], f"the tree\nlength {solution.length:.4f}, {above:.2f} % above optimal", shade)
    for ax in axes:
        ax.autoscale_view()
        ax.margins(0.06)
    return figure


DRAWINGS = {"steps": steps}
