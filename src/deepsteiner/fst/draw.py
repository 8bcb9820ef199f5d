"""A picture of the list of full Steiner trees: what the proof had to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..viz.plot import plot_points
from .trees import FullTrees

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_full_trees(trees: FullTrees, ax: Axes | None = None, *, chosen: Any = None) -> Axes:
    """Draw every full Steiner tree of a list as thin lines, darker the larger it is.

    `chosen` lists the trees to draw bold on top, such as a concatenation's selection. The
    coordinates are those of the list: centred and scaled by a power of two.
    """
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    ax = plot_points(trees.points, ax)
    sizes = np.diff(trees.start)
    shades = colormaps["viridis"](np.clip((7 - sizes) / 5, 0, 1))
    for bold in (False, True):
        listed = range(len(trees)) if not bold else np.asarray([] if chosen is None else chosen)
        segments, colours = [], []
        for index in listed:
            terminals, steiner, edges = trees.tree(int(index))
            nodes = np.concatenate((trees.points[terminals], steiner))
            segments.append(nodes[edges])
            colours += [shades[index]] * len(edges)
        if segments:
            width = 2.2 if bold else 0.7
            lines = LineCollection(list(np.concatenate(segments)), colors=colours, linewidths=width)
            ax.add_collection(lines)
    ax.set_title(f"{len(trees):,} full Steiner trees over {len(trees.points):,} points", loc="left")
    return ax
