"""Full Steiner trees through soft regions, listed and selected from.

Full Steiner trees of the bare plane over terminals, over terminals and one corner, and over
terminals and the corners of one region are moved to their best places among the regions; so are
straight edges between all these nodes, and the pieces of trees that are known come with them. The
cheapest tree that the list allows is chosen by the concatenation with optional nodes: good in the
whole plane at once, where windows only see a part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...core.points import FloatArray, IntArray
from ...plane.plane import as_complex
from ...plane.shapes import load_shapely
from ...plane.soft import Soft
from ...run.method import Run
from .soft_relaxation import ROUGH, Web, relaxed

if TYPE_CHECKING:
    from ...fst.enumerate.nearby.ground import Ground

MOST_LISTED = 150
"""Terminals and corners up to which trees are listed."""
LARGEST = 6
"""Terminals and corners of a listed tree."""
AROUND = 16
"""Terminals, the nearest ones, that trees over a corner are listed with."""
CLOSE, MOST_PAIRS = 1.8, 12
"""How many bottlenecks two nodes of a listed tree are apart, and how many such pairs a node has."""
SLICE = 100
"""Trees that are moved between two reports."""
MARGIN = 1e-9


@dataclass(frozen=True)
class Piece:
    """A tree over some nodes: its leaves come first among its places."""

    leaves: tuple[int, ...]
    places: FloatArray
    edges: IntArray

    @property
    def key(self) -> tuple[int, ...]:
        """The set of its leaves."""
        return tuple(sorted(self.leaves))


@dataclass
class Pool:
    """Terminals, then corners; and the cheapest piece that is known for each set of them."""

    run: Run
    soft: Soft
    nodes: FloatArray
    cost: dict[tuple[int, ...], float] = field(default_factory=dict)
    piece: dict[tuple[int, ...], Piece] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run, soft: Soft) -> Pool | None:
        """Return an empty pool; None where there is too much to be listed."""
        known = set(map(tuple, run.points.tolist()))
        corners = np.array(sorted(soft.corners - known)).reshape(-1, 2)
        nodes = np.concatenate((run.points, corners))
        return cls(run, soft, nodes) if len(nodes) <= MOST_LISTED else None

    def add(self, piece: Piece, cost: float) -> None:
        """Take a piece in, where it is the cheapest of its leaves."""
        if cost < self.cost.get(piece.key, np.inf):
            self.cost[piece.key], self.piece[piece.key] = cost, piece

    def add_tree(self, web: Web) -> None:
        """Take in the pieces of a tree."""
        number = {tuple(one): v for v, one in enumerate(self.nodes.tolist())}
        name = [number.get(tuple(one), -1) for one in web.nodes.tolist()]
        costs = self.soft.costs(web.nodes, web.edges)
        for rows in _pieces(web.edges, name):
            order = sorted(np.unique(web.edges[rows]).tolist(), key=lambda v: name[v] < 0)
            place = {v: k for k, v in enumerate(order)}
            leaves = tuple(name[v] for v in order if name[v] >= 0)
            edges = np.array([[place[a], place[b]] for a, b in web.edges[rows].tolist()])
            self.add(Piece(leaves, web.nodes[order], edges), float(costs[rows].sum()))

    def add_listed(self) -> bool:
        """Take in listed trees and edges that may be of use; whether nothing stopped it."""
        tried: set[tuple[int, ...]] = set()
        for pieces in (self._edges(), *self._listed()):
            fresh = {one.key: one for one in pieces if one.key not in tried}
            tried |= set(fresh)
            if not self._add_cheap(list(fresh.values())):
                return False
        return True

    @cached_property
    def ways(self) -> FloatArray:
        """The costs of cheap ways between all nodes, along straight edges."""
        from ...plane.soft_kernels import cheapest_ways, pair_costs

        places = as_complex(self.nodes)
        total: FloatArray = cheapest_ways(pair_costs(self.soft.ground, places, places))[0]
        return total

    @cached_property
    def special(self) -> FloatArray:
        """Special distances along these ways: the edges of the ways are listed, too."""
        from ...plane.geodesic_kernels import prim, special_distances

        found: FloatArray = special_distances(self.ways, *prim(self.ways, len(self.run.points)))
        return found

    def _edges(self) -> list[Piece]:
        """Return straight edges no longer than the stages of another way."""
        gap = np.hypot(*(self.nodes[:, None] - self.nodes[None]).transpose(2, 0, 1))
        one, two = np.nonzero(np.triu(gap <= self.special * (1.0 + MARGIN), 1))
        return [
            Piece((a, b), self.nodes[[a, b]], np.array([[0, 1]]))
            for a, b in zip(one.tolist(), two.tolist(), strict=True)
        ]

    def _listed(self) -> Iterator[list[Piece]]:
        """Yield full Steiner trees of terminals, and of terminals with some corners."""
        n = len(self.run.points)
        if n > 2:
            yield _full_trees(self.nodes, np.arange(n), np.empty(0, np.int64), self.ways)
        for corners in self._corner_groups():
            middle = self.nodes[corners].mean(axis=0)
            away = np.hypot(*(self.nodes[:n] - middle).T)
            near = np.sort(np.argsort(away, kind="stable")[:AROUND])
            if len(near) + len(corners) > 2:
                yield _full_trees(self.nodes, near, corners, self.ways)

    def _corner_groups(self) -> Iterator[IntArray]:
        """Yield every corner alone, and the corners of every region and obstacle together."""
        n = len(self.run.points)
        number = {tuple(one): n + v for v, one in enumerate(self.nodes[n:].tolist())}
        for v in number.values():
            yield np.array([v])
        for shape in (*(one for one, _ in self.soft.faces), *self.soft.plane.polygons):
            ring = map(tuple, load_shapely().get_coordinates(shape).tolist())
            corners = sorted({number[one] for one in ring if one in number})
            if corners:
                yield np.array(corners)

    def _add_cheap(self, pieces: list[Piece]) -> bool:
        """Move trees to their best places, and take in those that beat edges between leaves."""
        from ...plane.soft_web_kernels import relaxed_costs

        worth = np.array([_spanned(self.special, one.leaves) for one in pieces]) * (1.0 + MARGIN)
        bare = np.array(
            [np.abs(np.diff(as_complex(one.places)[one.edges])).sum() for one in pieces]
        )
        chosen = np.flatnonzero(bare <= worth).tolist()
        if not chosen:
            return True
        pieces, worth = [pieces[k] for k in chosen], worth[chosen]
        start = np.concatenate(([0], np.cumsum([len(one.leaves) for one in pieces])))
        leaves = np.concatenate([one.leaves for one in pieces]).astype(np.int64)
        steiner = np.concatenate([one.places[len(one.leaves) :] for one in pieces])
        links = np.concatenate([one.edges for one in pieces])
        rows = (as_complex(self.nodes), start, leaves, as_complex(steiner), links, worth)
        for first in range(0, len(pieces), SLICE):
            last = min(first + SLICE, len(pieces))
            costs = relaxed_costs(self.soft.ground, *rows, first, last, *ROUGH)
            for k in np.flatnonzero(costs <= worth[first:last]).tolist():
                self.add(pieces[first + k], float(costs[k]))
            if not self.run.monitor.report("listing trees", len(self.cost), 0):
                return False
        return True

    def cheapest(self, ceiling: float) -> Web | None:
        """Return the cheapest tree of pieces, at its best places.

        None where the choice was stopped, or where each tree costs more than the ceiling.
        """
        from ...fst.select.optional.concatenation import concatenate

        keys = list(self.cost)
        choice = concatenate(
            [np.array(key) for key in keys], np.array(list(self.cost.values())),
            len(self.nodes), len(self.run.points),
            lambda phase, done, total, _: self.run.monitor.report(phase, done, total),
            ceiling=ceiling, special=self.special,
        )  # fmt: skip
        if not len(choice.picked):
            return None
        return self._union(self.piece[keys[k]] for k in choice.picked.tolist())

    def _union(self, pieces: Iterable[Piece]) -> Web:
        """Return some pieces as one tree at its best places."""
        nodes, edges, count = [self.nodes], [np.empty((0, 2), np.int64)], len(self.nodes)
        for piece in pieces:
            k = len(piece.leaves)
            web = relaxed(self.soft, piece.places, k, piece.edges, ROUGH)
            number = np.concatenate((piece.leaves, count + np.arange(len(web.nodes) - k)))
            nodes.append(web.nodes[k:])
            edges.append(number.astype(np.int64)[web.edges])
            count += len(web.nodes) - k
        everything, links = np.concatenate(nodes), np.concatenate(edges)
        return relaxed(self.soft, everything, len(self.run.points), links)


def _spanned(special: FloatArray, leaves: tuple[int, ...]) -> float:
    """Return the length of the spanning tree of some leaves under special distances."""
    if len(leaves) == 2:
        return float(special[leaves])
    from ...plane.geodesic_kernels import prim

    table = np.ascontiguousarray(special[np.ix_(leaves, leaves)])
    return float(prim(table, len(leaves))[1].sum())


def _pieces(edges: IntArray, name: list[int]) -> list[IntArray]:
    """Return the edges of each piece of a tree that is cut at the nodes that have a name."""
    from ...core.tree_kernels import find

    root = np.arange(len(edges))
    first: dict[int, int] = {}
    for row, ends in enumerate(edges.tolist()):
        for v in ends:
            if name[v] < 0:
                root[find(root, row)] = find(root, first.setdefault(v, row))
    group: dict[int, list[int]] = {}
    for row in range(len(edges)):
        group.setdefault(int(find(root, row)), []).append(row)
    return [np.array(rows) for rows in group.values()]


def _ground(nodes: FloatArray, names: IntArray, n: int, total: FloatArray) -> Ground:
    """Return the ground of a list over terminals, n of them, and corners.

    Bottlenecks are costs of ways, broken at terminals only: corners hang on the nearest one.
    """
    from ...fst.enumerate.nearby.neighbour_kernels import bottleneck_tree
    from ...fst.enumerate.nearby.small_listing_kernels import with_close_pairs
    from ...plane.geodesic_kernels import prim

    points = np.ascontiguousarray(nodes[names])
    table = np.ascontiguousarray(total[np.ix_(names, names)])
    edges, lengths = prim(table, n)
    corners = np.arange(n, len(names))
    nearest = np.argmin(table[corners, :n], axis=1)
    edges = np.concatenate((edges, np.stack((nearest, corners), axis=1)))
    lengths = np.concatenate((lengths, table[corners, nearest]))
    order = np.argsort(lengths, kind="stable")
    edges, lengths = np.ascontiguousarray(edges[order]), lengths[order]
    tree = bottleneck_tree(points, edges)._replace(length=np.append(lengths, np.inf))
    pairs = np.stack(np.triu_indices(len(names), 1), axis=1)
    gap = np.hypot(*(points[pairs[:, 0]] - points[pairs[:, 1]]).T)
    pairs = np.ascontiguousarray(pairs[np.argsort(gap, kind="stable")])
    ground: Ground = with_close_pairs(points, edges, tree, pairs, CLOSE, CLOSE, MOST_PAIRS)
    return ground


def _full_trees(
    nodes: FloatArray, terminals: IntArray, corners: IntArray, total: FloatArray
) -> list[Piece]:
    """Return full Steiner trees of three and more of some nodes, with a corner where there are."""
    from ...fst.enumerate.nearby.small_listing_kernels import list_on
    from ...fst.union_kernels import caterpillar_edges

    names = np.concatenate((terminals, corners))
    trees = list_on(_ground(nodes, names, len(terminals), total), LARGEST)
    edges = caterpillar_edges(trees.start)
    found = []
    for f in range(len(trees.length)):
        low, high = int(trees.start[f]), int(trees.start[f + 1])
        leaves = trees.terminals[low:high]
        if high - low < 3 or (len(corners) and leaves.max() < len(terminals)):
            continue
        steiner = trees.steiner[low - 2 * f : high - 2 * (f + 1)]
        links = edges[2 * low - 3 * f : 2 * high - 3 * (f + 1)]
        places = np.concatenate((nodes[names[leaves]], steiner))
        found.append(Piece(tuple(names[leaves].tolist()), places, links))
    return found
