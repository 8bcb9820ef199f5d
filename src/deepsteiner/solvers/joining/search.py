"""`local` where there is an existing network: windows of a spanning tree, solved exactly.

The tree begins as the spanning tree with parts of the network as nodes. What lies between parts is
solved by plain `local`, the places where it joins the network as points. Then windows, some pieces
of the tree that hang together, are replaced by the shortest tree that connects the same: full
Steiner trees over the window's nodes and the parts nearby, complete (`fst.enumerate.networks`). No
step makes the tree longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.errors import InternalError, OptionError
from ...core.points import FloatArray, IntArray
from ...plane.plane import as_pairs
from ...run.method import Run, Tree
from ...run.monitor import Monitor
from .case import Case, Piece, spanning, total, without_bare_parts

FAST = "fast"
BETTER = 1e-12
"""A window must be shorter by more than this, in units of the frame, to be taken."""
MOST_LEAVES = 160
"""Windows with more places to join are made smaller."""


@dataclass(frozen=True)
class Effort:
    """How windows are chosen: their size in nodes, and how often all of the tree is covered."""

    size: int
    passes: int


EFFORTS = {FAST: Effort(9, 1), "default": Effort(14, 2), "best": Effort(22, 3)}


def solve_local(run: Run, options: Any) -> Tree:
    """Return a good tree that joins the network, not longer than the spanning tree."""
    if options.start is not None:
        raise OptionError("local takes no start where there is an existing network")
    case = Case.of(run)
    run.monitor.report("start")
    pieces = spanning(case)
    pieces = improved(case, pieces, options.effort)
    length = total(pieces)
    run.monitor.report("done", 1, 1, length)
    if run.trace is not None:
        run.trace.append({"step": "windows", "length": length * run.frame.unit})
    return case.tree(pieces)


def improved(case: Case, pieces: list[Piece], effort: str) -> list[Piece]:
    """Return a shorter tree: what is between parts by `local`, then windows.

    Where there is none, the pieces are returned as they are: the same ones in another order could
    add up to a bit more.
    """
    monitor, before = case.run.monitor, total(pieces)
    if not monitor.report("between parts", 0, 0, before):
        return pieces
    search = _Windows(case, _between(case, pieces), EFFORTS[effort].size)
    for turn in range(EFFORTS[effort].passes):
        if not search.cover(turn):
            break
    found = without_bare_parts(search.pieces(), case.mandatory, case.count)
    return found if before - total(found) > BETTER else pieces


def _between(case: Case, pieces: list[Piece]) -> list[Piece]:
    """Solve every set of terminals that links connect without the network by plain `local`."""
    from .. import exact, local

    free = len(case.free)
    root = list(range(free))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for one in pieces:
        a, b = one.nodes.tolist()
        if max(a, b) < free:
            root[find(a)] = find(b)
    groups: dict[int, list[Piece]] = {}
    result = []
    for one in pieces:
        inner = [u for u in one.nodes.tolist() if u < free]
        if inner:
            groups.setdefault(find(inner[0]), []).append(one)
        else:
            result.append(one)
    for group in groups.values():
        nodes, places = _ends(group, free)
        if len(nodes) < 3:
            result += group
            continue
        run = Run(places, case.run.frame, Monitor(), case.run.seed)
        small = len(nodes) <= exact.BATCH_LIMIT
        method: Any = exact if small else local
        tree = method.solve(run, method.Options())
        found = _split(nodes, places, tree)
        result += found if total(found) < total(group) else group
    return result


def _ends(group: list[Piece], free: int) -> tuple[IntArray, FloatArray]:
    """Return the leaves of some edges: every terminal once, every place on the network."""
    seen: dict[tuple[int, float, float], int] = {}
    for one in group:
        for u, (x, y) in zip(one.nodes.tolist(), one.spots.tolist(), strict=True):
            seen.setdefault((u, x, y), len(seen))
    keys = list(seen)
    return np.array([u for u, _, _ in keys]), np.array([(x, y) for _, x, y in keys])


def _split(nodes: IntArray, places: FloatArray, tree: Tree) -> list[Piece]:
    """Return a tree over points as full Steiner trees over their nodes."""
    from ...fst.component_kernels import components

    start, leaves, _, steiner, links = components(places, tree.steiner, tree.edges)
    found = []
    for f in range(len(start) - 1):
        low, high = int(start[f]), int(start[f + 1])
        own = leaves[low:high]
        inner = steiner[low - 2 * f : high - 2 * (f + 1)]
        edges = links[2 * low - 3 * f : 2 * high - 3 * (f + 1)]
        found.append(Piece(nodes[own], np.concatenate((places[own], inner)), edges))
    return found


class _Windows:
    """A tree as pieces by number, and the pieces at every node."""

    def __init__(self, case: Case, pieces: list[Piece], size: int) -> None:
        from scipy.spatial import cKDTree

        self.case, self.size = case, size
        self.all: dict[int, Piece] = dict(enumerate(pieces))
        self.at: list[set[int]] = [set() for _ in range(case.count)]
        for k, one in self.all.items():
            for u in one.nodes.tolist():
                self.at[u].add(k)
        self.next = len(pieces)
        layout = case.layout
        self.owner = np.repeat(np.arange(case.count), np.diff(layout.first))
        middles = as_pairs(0.5 * (layout.tail + layout.head))
        self.reach = float(0.5 * np.abs(layout.head - layout.tail).max(initial=0.0))
        self.index = cKDTree(middles)
        self.tried: set[tuple[int, ...]] = set()

    def pieces(self) -> list[Piece]:
        """Return the tree."""
        return list(self.all.values())

    def cover(self, turn: int) -> bool:
        """Solve windows until every node was in one; False where a limit ends it."""
        done = np.zeros(self.case.count, np.bool_)
        order = range(self.case.count) if turn % 2 == 0 else range(self.case.count - 1, -1, -1)
        length = total(self.pieces())
        for seed in order:
            if done[seed] or not self.at[seed]:
                continue
            window = self._window(seed)
            nodes = {u for k in window for u in self.all[k].nodes.tolist()}
            done[list(nodes)] = True
            if not self.case.run.monitor.report("windows", int(done.sum()), len(done), length):
                return False
            key = tuple(sorted(window))
            if key in self.tried:
                continue
            self.tried.add(key)
            length -= self._solve(window)
        return True

    def _window(self, seed: int) -> list[int]:
        """Return pieces around a node, nearest first in the tree, up to the size of a window.

        Only the pieces of a part that are near one another are taken from it.
        """
        place = self._place(seed)
        taken: list[int] = []
        nodes: set[int] = {seed}
        waiting = [(0.0, seed)]
        while waiting:
            waiting.sort(reverse=True)
            _, node = waiting.pop()
            near = sorted((self._away(self.all[k], place), k) for k in self.at[node])
            for _, k in near:
                one = self.all[k]
                if k in taken:
                    continue
                fresh = [u for u in one.nodes.tolist() if u not in nodes]
                if taken and len(nodes) + len(fresh) > self.size:
                    continue
                taken.append(k)
                nodes.update(fresh)
                spots = dict(zip(one.nodes.tolist(), one.spots.tolist(), strict=False))
                waiting.extend((float(np.hypot(*(spots[u] - place))), u) for u in fresh)
        return taken

    def _place(self, node: int) -> FloatArray:
        if node < len(self.case.free):
            return np.asarray(as_pairs(self.case.layout.places[node : node + 1])[0])
        one = self.all[min(self.at[node])]
        return np.asarray(one.spots[one.nodes.tolist().index(node)])

    @staticmethod
    def _away(one: Piece, place: FloatArray) -> float:
        return float(np.hypot(*(one.spots - place).T).min())

    def _solve(self, window: list[int]) -> float:
        """Replace a window by the shortest tree of the same nodes; return how much that saves."""
        from ...fst.enumerate.networks.generate import generate
        from ...fst.enumerate.networks.site import site_of
        from ...fst.select.optional.concatenation import concatenate
        from .proof import chosen

        before = total([self.all[k] for k in window])
        local = self._local(window, before)
        if local is None:
            return 0.0
        layout, mandatory, names = local
        site, distance = site_of(layout, mandatory)
        if len(site.layout.places) > MOST_LEAVES:
            return 0.0
        stopped = self.case.run.monitor
        trees = generate(site, layout, distance, lambda *_: stopped.report("windows"))
        if not trees.complete:
            return 0.0
        choice = concatenate(trees.nodes, trees.length, len(names), mandatory)
        if not len(choice.picked):
            return 0.0
        found = [
            Piece(self._true_nodes(one, layout, names), one.spots, one.edges)
            for one in chosen(trees, choice.picked)
        ]
        saved = before - total(found)
        if saved <= BETTER:
            return 0.0
        for k in window:
            for u in self.all.pop(k).nodes.tolist():
                self.at[u].discard(k)
        for one in found:
            self.all[self.next] = one
            for u in one.nodes.tolist():
                self.at[u].add(self.next)
            self.next += 1
        return saved

    def _local(self, window: list[int], reach: float) -> Any:
        """Return the nodes of a window as a problem of its own: layout, mandatory nodes, names.

        Nodes that the rest of the tree connects are one. Parts nearby that the tree does not use
        are optional; those that it uses elsewhere belong to the node that they hang on.
        """
        inside = set(window)
        nodes = sorted({u for k in window for u in self.all[k].nodes.tolist()})
        spots = np.concatenate([self.all[k].spots for k in window])
        low, high = spots.min(axis=0), spots.max(axis=0)
        margin = max(0.5 * float((high - low).max()), 1e-9)
        layout, case = self.case.layout, self.case
        middle, radius = (low + high) / 2, float(np.hypot(*(high - low))) / 2 + margin + self.reach
        rows = np.sort(np.array(self.index.query_ball_point(middle, radius), dtype=np.int64))
        ends = np.stack((as_pairs(layout.tail[rows]), as_pairs(layout.head[rows])))
        box = ((ends.min(axis=0) <= high + margin) & (ends.max(axis=0) >= low - margin)).all(axis=1)
        rows = rows[box]
        parts = np.unique(self.owner[rows]).tolist()
        number: dict[int, int] = {}  # of nodes of the whole problem
        names: list[list[int]] = []
        for u in nodes:
            number[u] = len(names)
            names.append([u])
        optional = []
        for p in parts:
            if p in number:
                continue
            if not self.at[p]:
                optional.append(p)
            else:
                number[p] = number[self._home(p, set(nodes), inside)]
                names[number[p]].append(p)
        # A part of the window that holds nothing else together may be left out.
        bare = [
            u for u in nodes
            if u >= case.mandatory and not (self.at[u] - inside) and names[number[u]] == [u]
        ]  # fmt: skip
        kept = [names[number[u]] for u in nodes if u not in bare]
        names = kept + [[u] for u in bare] + [[p] for p in optional]
        mandatory = len(kept)
        if mandatory < 2:
            return None
        number = {u: k for k, some in enumerate(names) for u in some}
        free = [u for u in nodes if u < len(case.free)]
        own = np.array([number[int(u)] for u in self.owner[rows]], dtype=np.int64)
        from ...fst.enumerate.networks.site import layout_of

        made = layout_of(
            layout.places[free], np.array([number[u] for u in free], dtype=np.int64),
            layout.tail[rows], layout.head[rows], own, len(names),
        )  # fmt: skip
        # Segments of a part of the window may lie outside: where it is joined must be there.
        for u in nodes:
            k = number[u]
            if u >= len(case.free) and made.first[k] == made.first[k + 1]:
                return None
        return made, mandatory, names

    def _home(self, part: int, nodes: set[int], inside: set[int]) -> int:
        """Return the node of a window on which a part hangs that the tree uses elsewhere.

        Without the window's pieces the tree falls apart, one node of the window in each part.
        """
        seen, stack = {part}, [part]
        while stack:
            node = stack.pop()
            if node in nodes:
                return node
            for k in self.at[node] - inside:
                fresh = [u for u in self.all[k].nodes.tolist() if u not in seen]
                seen.update(fresh)
                stack += fresh
        raise InternalError("a piece of a tree does not hang together with the rest")

    def _true_nodes(self, one: Piece, layout: Any, names: list[list[int]]) -> IntArray:
        """Return the nodes of a piece in the whole problem: of a group, the one that it ends on."""
        case, found = self.case, []
        for k, spot in zip(one.nodes.tolist(), one.spots.tolist(), strict=False):
            best = names[k][0]
            if len(names[k]) > 1:
                place = complex(*spot)
                best = min(names[k], key=lambda u: self._distance(u, place, case))
            found.append(best)
        return np.array(found, dtype=np.int64)

    @staticmethod
    def _distance(node: int, place: complex, case: Case) -> float:
        layout = case.layout
        if node < len(case.free):
            return float(abs(layout.places[node] - place))
        if layout.first[node] == layout.first[node + 1]:
            return np.inf
        from ...plane.contact_kernels import nearest_in

        return float(abs(nearest_in(layout, node, place) - place))
