"""A picture for every method: its tree on the same forty points, where it differs from the best."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

import deepsteiner as ds

from .choosing import segments
from .palette import Palette, dots, lines, panels, title


@cache
def solved(method: str) -> Any:
    """Return the tree of a method on forty points."""
    return ds.solve(np.random.default_rng(7).random((40, 2)), method)


def picture(shade: Palette, method: str) -> Any:
    """Draw the tree; edges that the shortest tree does not have are orange."""
    best, solution = solved("exact"), solved(method)
    known = {tuple(np.round(np.sort(pair, axis=0).ravel(), 6)) for pair in segments(best)}
    same = np.array([tuple(np.round(np.sort(pair, axis=0).ravel(), 6)) in known
                     for pair in segments(solution)])  # fmt: skip
    figure, (ax,) = panels(shade, 1, size=4.6, height=4.7)
    lines(ax, solution.coordinates, solution.edges[same], shade.edge, 1.8)
    if (~same).any():
        lines(ax, solution.coordinates, solution.edges[~same], shade.accent, 1.8)
    dots(ax, solution.steiner_points, shade, hollow=True, size=5)
    dots(ax, solution.terminals, shade, size=5)
    ax.autoscale_view()
    gap = 100 * (solution.length / best.length - 1)
    said = (
        "the shortest tree" if gap < 1e-7 else f"{gap:.2g} % above the optimum; orange: not in it"
    )
    title(ax, f"{method}: length {solution.length:.4f}\n{said}", shade)
    return figure


def _drawing(method: str) -> Any:
    made = partial(picture, method=method)
    made.__wrapped__ = picture  # type: ignore[attr-defined]
    return made


DRAWINGS = {f"method_{name}": _drawing(name) for name in ds.methods()}
