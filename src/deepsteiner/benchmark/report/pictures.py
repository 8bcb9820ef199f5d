"""Pictures of points, candidates and trees as SVG text, coloured by the page's style sheet."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...core.points import FloatArray, IntArray
from ...core.solution import Solution
from ...geometry.candidates import arcs, grid_points, pairs_of

MARGIN = 0.08
# Figure 1's instance: few points, spread so that arcs do not cover each other.
FIGURE_POINTS = np.array(
    [[0.10, 0.28], [0.42, 0.47], [0.17, 0.80], [0.56, 0.88], [0.86, 0.62], [0.66, 0.12]]
)
FIGURE_NAMES = "ABCDEF"
FIGURE_NODE = 1  # B, whose neighbours the middle panel shows
FIGURE_K_STAR, FIGURE_NEIGHBORS, FIGURE_GRID = 9, 3, 10


class Sheet:
    """A square drawing whose coordinates are those of the points."""

    def __init__(self, low: FloatArray, high: FloatArray, label: str) -> None:
        side = float((high - low).max()) or 1.0
        self.side = side * (1 + 2 * MARGIN)
        self.corner = (low + high) / 2 - self.side / 2
        self.label = label
        self.parts: list[str] = []

    def place(self, points: FloatArray) -> FloatArray:
        """Return points in the drawing's coordinates, 0 to 100, y downwards."""
        inside = (np.atleast_2d(points) - self.corner) / self.side * 100
        inside[:, 1] = 100 - inside[:, 1]
        return inside

    def edges(self, nodes: FloatArray, edges: IntArray, kind: str) -> None:
        """Draw segments."""
        at = self.place(nodes)
        moves = "".join(
            f"M{at[a, 0]:.2f} {at[a, 1]:.2f}L{at[b, 0]:.2f} {at[b, 1]:.2f}" for a, b in edges
        )
        if moves:
            self.parts.append(f'<path d="{moves}" class="{kind}"/>')

    def arcs(self, nodes: FloatArray, pairs: Iterable[IntArray]) -> None:
        """Draw both 120-degree arcs over each pair."""
        at = self.place(nodes)
        moves = ""
        for a, b in pairs:
            radius = float(np.hypot(*(at[a] - at[b]))) / np.sqrt(3.0)
            for sweep in (0, 1):
                moves += (
                    f"M{at[a, 0]:.2f} {at[a, 1]:.2f}A{radius:.2f} {radius:.2f} 0 0 {sweep} "
                    f"{at[b, 0]:.2f} {at[b, 1]:.2f}"
                )
        self.parts.append(f'<path d="{moves}" class="arc"/>')

    def dots(self, points: FloatArray, radius: float, kind: str) -> None:
        """Draw a dot at every point."""
        if len(points):
            self.parts += [
                f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{radius}" class="{kind}"/>'
                for x, y in self.place(points)
            ]

    def names(self, points: FloatArray, names: str) -> None:
        """Write a letter beside every point."""
        for (x, y), name in zip(self.place(points), names, strict=True):
            self.parts.append(
                f'<text x="{x + 2.6:.2f}" y="{y - 2.2:.2f}" class="name">{name}</text>'
            )

    def svg(self) -> str:
        """Return the drawing."""
        body = "".join(self.parts)
        return (
            f'<svg viewBox="0 0 100 100" class="sheet" role="img" aria-label="{self.label}" '
            f'xmlns="http://www.w3.org/2000/svg">{body}</svg>'
        )


def figure1() -> list[tuple[str, str]]:
    """Return the three panels of the paper's Figure 1: (caption, SVG)."""
    points = FIGURE_POINTS
    low, high = np.zeros(2), np.ones(2)
    grid = Sheet(low, high, "grid candidates")
    grid.dots(grid_points(low, high, FIGURE_GRID), 0.8, "candidate")
    near = pairs_of(points, "knn", FIGURE_NEIGHBORS)
    own = near[near[:, 0] == FIGURE_NODE]
    neighbours = Sheet(low, high, "KNN candidates of node B")
    tree = pairs_of(points, "mst", 0)
    spanning = Sheet(low, high, "MST candidates")
    for sheet, pairs in ((neighbours, own), (spanning, tree)):
        sheet.arcs(points, pairs)
        sheet.edges(points, pairs, "tree")
        sheet.dots(arcs(points, pairs, FIGURE_K_STAR), 0.8, "candidate")
    for sheet in (grid, neighbours, spanning):
        sheet.dots(points, 1.7, "terminal")
        sheet.names(points, FIGURE_NAMES)
    return [
        (f"Grid: {FIGURE_GRID} × {FIGURE_GRID} points", grid.svg()),
        (f"KNN: arcs between B and its {FIGURE_NEIGHBORS} nearest neighbours", neighbours.svg()),
        ("MST: arcs over the edges of the spanning tree", spanning.svg()),
    ]


def tree_picture(solution: Solution, optimum: Solution) -> str:
    """Return a tree over a pale picture of the optimal one."""
    both = np.concatenate((solution.coordinates, optimum.coordinates))
    sheet = Sheet(both.min(axis=0), both.max(axis=0), f"tree of {solution.method}")
    sheet.edges(optimum.coordinates, optimum.edges, "optimum")
    sheet.edges(solution.coordinates, solution.edges, "tree")
    sheet.dots(solution.steiner_points, 1.3, "steiner")
    sheet.dots(solution.terminals, 1.7, "terminal")
    return sheet.svg()
