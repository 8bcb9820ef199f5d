"""Trees among obstacles that join existing networks: what they stand on, and how they are tidied.

A tree is kept as a graph over terminals and further nodes, some of which lie on parts of the
network; a part is one node, wherever edges end on it. Tidying takes out what closes a cycle, leads
nowhere or can be skipped, and ends every edge at the nearest place of its part that it sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...core.points import FloatArray, IntArray
from ...core.trees import tree_length
from ...plane.joining.links import SAME, foot_of
from ...plane.networks import Joinable, Network
from ...plane.plane import Plane
from ...run.method import Run, Tree
from ..around.repair import straightened
from ..joining.case import Case, kruskal
from .relaxation import Slide, full_trees, relaxed

FREE = -1
"""The owner of a node that lies on no part."""
NEARER = 1e-13
"""An edge must become shorter by more than this, in units of the frame, to end elsewhere."""
ROUNDS = 4
"""How often a tree is tidied before it is taken as it is."""


@dataclass(frozen=True)
class Graph:
    """A tree: nodes, terminals first; the part that each lies on, FREE for none; edges."""

    nodes: FloatArray
    owner: IntArray
    edges: IntArray

    @cached_property
    def length(self) -> float:
        """The sum of its edges."""
        return tree_length(self.nodes, self.edges)


@dataclass(frozen=True)
class Ground:
    """Terminals, obstacles and the network of a run.

    Attributes
    ----------
    run
        The run.
    case
        Terminals and parts as nodes of a spanning tree.
    """

    run: Run
    case: Case

    @classmethod
    def of(cls, run: Run) -> Ground:
        """Return the ground of a run."""
        return cls(run, Case.of(run))

    @property
    def plane(self) -> Plane:
        """The obstacles."""
        plane: Plane = self.run.plane
        return plane

    @property
    def network(self) -> Network:
        """The network, joined outside of the obstacles only."""
        network: Network = self.run.network
        return network

    @cached_property
    def on(self) -> IntArray:
        """The part that each terminal lies on, FREE for none."""
        return self.network.part_at(self.run.points)

    @cached_property
    def node_of_part(self) -> IntArray:
        """The node of each part; -1 where it is out of reach."""
        number = np.full(len(self.network), -1)
        number[self.case.parts] = len(self.case.free) + np.arange(len(self.case.parts))
        return number

    @cached_property
    def asked(self) -> frozenset[int]:
        """The parts that every tree must join."""
        most = self.case.mandatory - len(self.case.free)
        return frozenset(self.case.parts[:most].tolist())

    @cached_property
    def _rows_of_part(self) -> dict[int, Joinable]:
        """Where each part can be joined."""
        where = self.network.joinable
        found = {}
        for part in np.union1d(where.parts, where.owners).tolist():
            rows, alone = where.parts == part, where.owners == part
            found[part] = Joinable(
                where.tails[rows], where.heads[rows], where.parts[rows],
                where.places[alone], where.owners[alone],
            )  # fmt: skip
        return found

    def bare(self, nodes: FloatArray, tree: Tree) -> Graph:
        """Return a tree that was made without obstacles; `nodes` are the points it was made for."""
        n = len(self.run.points)
        every = np.concatenate((nodes, tree.steiner, tree.joints))
        owner = np.full(len(every), FREE)
        owner[:n] = self.on
        if len(tree.joints):
            owner[len(every) - len(tree.joints) :] = self.network.part_at(tree.joints)
        return Graph(every, owner, tree.edges)

    def tidied(self, graph: Graph) -> Graph:
        """Return a tree without what nothing needs, its edges ending where that is nearest."""
        for _ in range(ROUNDS):
            before = graph.length
            graph = self._slid(self._straight(self._pruned(graph)))
            if graph.length >= before - NEARER:
                break
        return graph

    def _pruned(self, graph: Graph) -> Graph:
        """Take out what closes a cycle, then what ends nowhere, again and again."""
        n, size = len(self.run.points), len(graph.nodes)
        name = np.where(graph.owner == FREE, np.arange(size), size + graph.owner)
        edges, count = graph.edges, size + len(self.network)
        lengths = np.hypot(*(graph.nodes[edges[:, 0]] - graph.nodes[edges[:, 1]]).T)
        apart = name[edges[:, 0]] != name[edges[:, 1]]
        edges, lengths = edges[apart], lengths[apart]
        edges = edges[np.sort(np.array(kruskal(name[edges], lengths, count), dtype=np.int64))]
        kept = np.zeros(count, np.bool_)
        kept[:n] = True
        kept[size + np.array(sorted(self.asked), dtype=np.int64)] = True
        while True:
            degree = np.bincount(name[edges].ravel(), minlength=count)
            loose = ((degree < 2) & ~kept)[name[edges]].any(axis=1)
            if not loose.any():
                return Graph(graph.nodes, graph.owner, edges)
            edges = edges[~loose]

    def _straight(self, graph: Graph) -> Graph:
        """Skip nodes that edges need not go through."""
        n, size = len(self.run.points), len(graph.nodes)
        used = np.zeros(size, np.bool_)
        used[graph.edges] = True
        used[:n] = True
        order = np.flatnonzero(used)
        order = order[np.argsort((order >= n) & (graph.owner[order] == FREE), kind="stable")]
        fixed = int(((order < n) | (graph.owner[order] != FREE)).sum())
        number = np.empty(size, np.int64)
        number[order] = np.arange(len(order))
        best = straightened(self.plane, graph.nodes[order], fixed, number[graph.edges])
        nodes = np.concatenate((graph.nodes[order[:fixed]], best.steiner, best.bends))
        owner = np.full(len(nodes), FREE)
        owner[:fixed] = graph.owner[order[:fixed]]
        return Graph(nodes, owner, best.edges)

    def _slid(self, graph: Graph) -> Graph:
        """End every edge to a part at the nearest place of it that the other end sees."""
        n = len(self.run.points)
        nodes = [(float(x), float(y)) for x, y in graph.nodes]
        owner = graph.owner.tolist()
        number = {(owner[v], nodes[v]): v for v in range(len(nodes)) if owner[v] != FREE}
        edges = graph.edges.copy()
        for row in range(len(edges)):
            for side in (0, 1):
                joint, other = int(edges[row, side]), int(edges[row, 1 - side])
                part = owner[joint]
                if part == FREE:
                    continue
                place = self.nearest(part, np.array(nodes[other]), np.array(nodes[joint]))
                if place is None:
                    continue
                key = part, (float(place[0]), float(place[1]))
                if key not in number:
                    number[key] = len(nodes)
                    nodes.append(key[1])
                    owner.append(part)
                edges[row, side] = number[key]
        used = np.zeros(len(nodes), np.bool_)
        used[:n] = True
        used[edges] = True
        renumbered = np.cumsum(used) - 1
        every = np.array(nodes).reshape(-1, 2)[used]
        return Graph(every, np.array(owner, dtype=np.int64)[used], renumbered[edges])

    def nearest(self, part: int, spot: FloatArray, known: FloatArray) -> FloatArray | None:
        """Return the nearest place of a part that a spot sees, None where a known one is it."""
        where = self._rows_of_part[part]
        feet = where.places
        if len(where.tails):
            feet = np.concatenate((foot_of(spot, where.tails, where.heads), feet))
        away = np.hypot(*(feet - spot).T)
        limit = float(np.hypot(*(known - spot))) - NEARER
        for k in np.argsort(away, kind="stable").tolist():
            if away[k] >= limit:
                return None
            if self.plane.sees(spot, feet[k]):
                return np.asarray(feet[k])
        return None

    def relaxed(self, graph: Graph, clear_only: bool) -> Graph:
        """Return a tree whose full Steiner trees are as short as their topology allows.

        Edges may then cross obstacles, unless only trees that do not are asked for.
        """
        n, corners = len(self.run.points), self.plane.corner_places
        nodes = graph.nodes.copy()
        steiner = np.array([
            v >= n and graph.owner[v] == FREE and tuple(place) not in corners
            for v, place in enumerate(nodes.tolist())
        ], dtype=np.bool_)  # fmt: skip
        # Joints with several edges are one place for all of them: they stay.
        degree = np.bincount(graph.edges.ravel(), minlength=len(nodes))
        for rows in full_trees(graph.edges, steiner):
            inside = np.unique(graph.edges[rows])
            number = np.full(len(nodes), -1)
            number[inside] = np.arange(len(inside))
            slides = {}
            for v in inside.tolist():
                if v >= n and graph.owner[v] != FREE and degree[v] == 1:
                    slide = self._slide(int(graph.owner[v]), nodes[v])
                    if slide is not None:
                        slides[int(number[v])] = slide
            links = number[graph.edges[rows]]
            found = relaxed(nodes[inside], links, steiner[inside], slides)
            if found is not None and (not clear_only or self.plane.clear(found, links).all()):
                moved = steiner[inside]
                moved[list(slides)] = True
                nodes[inside[moved]] = found[moved]
        return Graph(nodes, graph.owner, graph.edges)

    def _slide(self, part: int, place: FloatArray) -> Slide | None:
        """Return the segment inside which a place of a part is; None at its ends."""
        where = self._rows_of_part[part]
        if not len(where.tails):
            return None
        away = np.hypot(*(foot_of(place, where.tails, where.heads) - place).T)
        ends = np.minimum(np.hypot(*(where.tails - place).T), np.hypot(*(where.heads - place).T))
        row = int(np.argmin(np.where(ends > SAME, away, np.inf)))
        if away[row] > SAME or ends.min() <= SAME:
            return None
        return Slide(where.tails[row], where.heads[row])

    def bends(self, graph: Graph) -> FloatArray:
        """Return the corners in use off the network."""
        n, corners = len(self.run.points), self.plane.corner_places
        rows = [
            v for v in range(n, len(graph.nodes))
            if graph.owner[v] == FREE and tuple(graph.nodes[v].tolist()) in corners
        ]  # fmt: skip
        return graph.nodes[rows].reshape(-1, 2)

    def tree(self, graph: Graph, **claims: Any) -> Tree:
        """Return a tree as a method's answer; terminals on the network get joints."""
        n, corners = len(self.run.points), self.plane.corner_places
        kind = np.array([
            (0 if v < n else 3) if graph.owner[v] != FREE
            else 0 if v < n
            else 2 if tuple(place) in corners
            else 1
            for v, place in enumerate(graph.nodes.tolist())
        ])  # fmt: skip
        order = np.argsort(kind, kind="stable")
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        edges = number[graph.edges]
        joints = [graph.nodes[v] for v in order[kind[order] == 3]]
        first = len(order) - len(joints)
        known = {(float(x), float(y)): first + k for k, (x, y) in enumerate(joints)}
        ties = []
        for t in np.flatnonzero(self.on != FREE).tolist():
            place = (float(self.run.points[t, 0]), float(self.run.points[t, 1]))
            if place not in known:
                known[place] = first + len(joints)
                joints.append(self.run.points[t])
            edges = np.where(edges == t, known[place], edges)
            ties.append((t, known[place]))
        return Tree(
            graph.nodes[order[kind[order] == 1]],
            np.concatenate((edges, np.array(ties, dtype=np.int64).reshape(-1, 2))),
            bends=graph.nodes[order[kind[order] == 2]],
            joints=np.array(joints).reshape(-1, 2),
            **claims,
        )
