"""Full Steiner trees found on the way, and the best tree that is made of them.

Windows improve a tree piece by piece and keep what is best in each; a shorter tree may take from
several windows what was not the best in any. So all that windows list is kept, with the full
Steiner trees of the bare plane that no obstacle crosses, and one programme chooses among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core.points import FloatArray, IntArray
from ...core.tree_kernels import find
from ...core.trees import tree_length
from ...plane.plane import as_pairs
from ...run.method import Run
from .repair import Best, plane_of, straightened

if TYPE_CHECKING:
    from ...fst.enumerate.corners.generate import CornerTrees
    from ...fst.enumerate.corners.landscape_kernels import Landscape

MOST_POINTS = 500
"""Points up to which there is a pool: beyond, one programme for all would take too long."""


class Piece(NamedTuple):
    """A full Steiner tree: numbers of its leaves, its Steiner points, edges over both."""

    leaves: IntArray
    steiner: FloatArray
    edges: IntArray
    length: float


class Pool:
    """Full Steiner trees over terminals and corners, the shortest of each set of leaves."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.plane = plane_of(run)
        self.places: list[tuple[float, float]] = [(float(x), float(y)) for x, y in run.points]
        self.number = {place: k for k, place in enumerate(self.places)}
        self.pieces: dict[tuple[int, ...], Piece] = {}

    def add_bare(self) -> None:
        """Take in what the bare plane offers."""
        from ...fst.enumerate.complete.generate import generate

        if len(self.run.points) >= 3:
            monitor = self.run.monitor
            trees = generate(
                self.run.points,
                keep_going=lambda *_: monitor.report("windows"),
            )
            self._add(Piece(*trees.tree(k), 0.0) for k in range(len(trees)))

    def add_window(self, listed: list[tuple[Landscape, CornerTrees]]) -> None:
        """Take in lists of a window, less trees at nodes that are neither terminals nor corners."""
        for ground, trees in listed:
            self._add_list(ground, trees)

    def _add_list(self, ground: Landscape, trees: CornerTrees) -> None:
        places = [(float(x), float(y)) for x, y in as_pairs(ground.places)]
        corners = self.plane.corner_places
        number = np.array(
            [self._numbered(one) if one in self.number or one in corners else -1 for one in places]
        )
        self._add(
            Piece(number[leaves], steiner, edges, 0.0)
            for leaves, steiner, edges in zip(trees.leaves, trees.steiner, trees.edges, strict=True)
            if (number[leaves] >= 0).all()
        )

    def add_tree(self, best: Best) -> None:
        """Take in the full Steiner trees of a tree."""
        nodes = np.concatenate((self.run.points, best.steiner, best.bends))
        n, cut = len(self.run.points), len(self.run.points) + len(best.steiner)
        inner = (np.arange(len(nodes)) >= n) & (np.arange(len(nodes)) < cut)
        root = np.arange(len(nodes))
        for a, b in best.edges[inner[best.edges].all(axis=1)].tolist():
            root[find(root, a)] = find(root, b)
        parts: dict[int, list[tuple[int, int]]] = {}
        for k, (a, b) in enumerate(best.edges.tolist()):
            held = a if inner[a] else b
            parts.setdefault(int(find(root, held)) if inner[held] else -1 - k, []).append((a, b))
        self._add(self._part(nodes, inner, np.array(edges)) for edges in parts.values())

    def _part(self, nodes: FloatArray, inner: np.ndarray, edges: IntArray) -> Piece:
        held = np.unique(edges)
        order = np.concatenate((held[~inner[held]], held[inner[held]]))
        local = {int(v): k for k, v in enumerate(order)}
        leaves = held[~inner[held]]
        numbers = [self._numbered((float(x), float(y))) for x, y in nodes[leaves]]
        links = np.array([(local[a], local[b]) for a, b in edges.tolist()])
        return Piece(np.array(numbers), nodes[order[len(leaves) :]], links, 0.0)

    def _numbered(self, place: tuple[float, float]) -> int:
        if place not in self.number:
            self.number[place] = len(self.places)
            self.places.append(place)
        return self.number[place]

    def _add(self, pieces: Iterator[Piece]) -> None:
        """Take in what crosses no obstacle.

        A terminal may stand on a corner: what joins the two, or has both for leaves, is no tree.
        """
        fresh, nodes, edges, count = [], [], [], 0
        for piece in pieces:
            if len(np.unique(piece.leaves)) < len(piece.leaves):
                continue
            places = np.concatenate((self._at(piece.leaves), piece.steiner))
            fresh.append(piece._replace(length=tree_length(places, piece.edges)))
            nodes.append(places)
            edges.append(piece.edges + count)
            count += len(places)
        if not fresh:
            return
        clear = self.plane.clear(np.concatenate(nodes), np.concatenate(edges))
        ends = np.cumsum([len(one) for one in edges])
        for piece, free in zip(fresh, np.split(clear, ends[:-1]), strict=True):
            key = tuple(sorted(piece.leaves.tolist()))
            known = self.pieces.get(key)
            if free.all() and (known is None or piece.length < known.length):
                self.pieces[key] = piece

    def _at(self, leaves: IntArray) -> FloatArray:
        return np.array([self.places[k] for k in leaves.tolist()]).reshape(-1, 2)

    def best(self, known: Best) -> Best:
        """Return the shortest tree of the pool where it is shorter than a known one."""
        from ...fst.select.optional.concatenation import concatenate

        pieces = list(self.pieces.values())
        n = len(self.run.points)
        choice = concatenate(
            [one.leaves for one in pieces], np.array([one.length for one in pieces]),
            len(self.places), n,
            lambda phase, done, total, _: self.run.monitor.report(phase, done, total, known.length),
            ceiling=known.length,
        )  # fmt: skip
        if not len(choice.picked):
            return known
        nodes, edges, count = [np.array(self.places)], [], len(self.places)
        for k in choice.picked.tolist():
            piece = pieces[k]
            number = np.concatenate((piece.leaves, count + np.arange(len(piece.steiner))))
            nodes.append(piece.steiner)
            edges.append(number[piece.edges])
            count += len(piece.steiner)
        found = straightened(self.plane, np.concatenate(nodes), n, np.concatenate(edges))
        return found if found.length < known.length else known
