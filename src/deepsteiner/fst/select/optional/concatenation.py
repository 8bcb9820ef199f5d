"""Concatenation with optional nodes: reduce and split, solve what is narrow, probe, then programme.

A list is reduced to blocks that meet in terminals (`reduction_kernels` says why these are problems
of their own). Narrow blocks are solved by a dynamic programme over their frontier, wide ones are
thinned by local probes first, and what is still wide goes to a linear programme.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ....core.points import FloatArray, IntArray
from ....core.trees import offsets
from ..exact.frontier_kernels import DEAD, DONE, PAUSED, STATUS, trace_back
from ..exact.prune_kernels import Blocks, incidence, merge_tree
from ..hypergraph import STRICT, Flags, Hypergraph
from .frontier_kernels import (
    Problem,
    best_order,
    decide_next,
    depart,
    prices_beside_optional,
)
from .probe_kernels import probe_all, set_up_probes
from .programme import CLOSE, MARGIN, Ask, Choice, KeepGoing, Programme
from .reduction_kernels import reduced
from .turn_kernels import WHOLE, Turns, no_turns

SLICE = 5e4
"""Partitions of one call of the dynamic programme: some 20 ms."""
TRIES = 4
"""Terminals that orders begin from."""


class Level(NamedTuple):
    """How hard a block is tried: local probes (none at first), then the dynamic programme.

    `work` and `widest` are the estimated steps, and the partitions a layer, that the latter may
    cost; probes grow regions of up to `probe_trees` trees with up to `probe_partitions` partitions,
    `probes_a_call` in one call.
    """

    work: float
    widest: int
    probe_trees: int = 0
    probe_partitions: int = 0
    probes_a_call: int = 0


LEVELS = (
    Level(4e5, 100_000),
    Level(3e6, 200_000, 100, 500, 4),
    Level(3e7, 400_000, 200, 2000, 1),
)


def concatenate(
    leaves: list[IntArray], length: FloatArray, size: int, terminals: int,
    keep_going: KeepGoing | None = None, *, ceiling: float = np.inf, turns: Turns | None = None,
    special: FloatArray | None = None,
) -> Choice:  # fmt: skip
    """Choose trees of least total length that connect all terminals.

    Parameters
    ----------
    leaves
        The nodes of each tree.
    length
        The length of each.
    size, terminals
        The number of nodes, and how many of them, the first ones, are terminals.
    keep_going
        Called as (phase, done, total, bound) now and then; False stops.
    ceiling
        Longer trees are of no use: the bound holds for those that are not longer.
    turns
        The directions of edges at corners, where optional nodes are corners.
    special
        Special distances of the nodes, where nothing that connects the terminals, in the list or
        not, is shorter than the shortest choice: `frontier_kernels.Problem` has more.

    Returns
    -------
    Choice
        With nothing picked where it was stopped, or where nothing connects the terminals; the
        bound is infinite then.
    """
    if not leaves:
        return Choice(np.empty(0, np.int64), np.inf, np.inf, False, 0)
    ask = Ask(size, terminals, ceiling, turns)
    choice = _Search(leaves, length, ask, special, keep_going).run()
    if _optional_ends(leaves, choice.picked, size, terminals):
        # The list lacks what would be left without a node that only one tree needs.
        return Programme(leaves, length, ask).run(keep_going)
    return choice


def _optional_ends(leaves: list[IntArray], picked: IntArray, size: int, terminals: int) -> bool:
    """Whether some optional node has only one of the picked trees."""
    own = [leaves[k] for k in picked.tolist()]
    count = np.bincount(np.concatenate([np.empty(0, np.int64), *own]), minlength=size)
    return bool((count[terminals:] == 1).any())


@dataclass(frozen=True)
class _Part:
    """A list of its own: its trees and nodes in the whole one, and its least possible length."""

    graph: Hypergraph
    optional: Flags
    turns: Turns
    trees: IntArray
    names: IntArray
    level: int = 0
    is_new: bool = True  # the dynamic programme of this level has not been tried

    @property
    def bound(self) -> float:
        """Each terminal but one pays its price."""
        prices = prices_beside_optional(self.graph, self.optional)
        return float(prices.sum() - prices.max(initial=0.0))


@dataclass
class _Open:
    """Parts still to be solved, the easiest first, and the sum of their bounds."""

    heap: list[tuple[int, int, int, float, _Part]] = field(default_factory=list)
    bound: float = 0.0
    opened: int = 0

    def push(self, part: _Part) -> None:
        bound = part.bound
        stage = 2 * part.level + (not part.is_new)
        heapq.heappush(self.heap, (stage, len(part.trees), self.opened, bound, part))
        self.opened += 1
        self.bound += bound

    def pop(self) -> _Part:
        *_, bound, part = heapq.heappop(self.heap)
        self.bound = self.bound - bound if self.heap else 0.0
        return part


class _Search:
    """One run: what is picked for good, what that costs at least, and what is open."""

    def __init__(
        self,
        leaves: list[IntArray],
        length: FloatArray,
        ask: Ask,
        special: FloatArray | None,
        keep_going: KeepGoing | None,
    ) -> None:
        start = offsets([len(one) for one in leaves])
        self.graph = Hypergraph(ask.size, start, np.concatenate(leaves), length)
        self.ask, self.keep_going = ask, keep_going
        self.special = np.empty((0, 0)) if special is None else special
        self.picked = np.zeros(len(leaves), np.bool_)
        self.bound = 0.0  # of what is picked
        self.rounds = 0
        self.stopped = self.dead = False
        self.open = _Open()

    def run(self) -> Choice:
        graph, size = self.graph, self.ask.size
        optional = np.arange(size) >= self.ask.terminals
        turns = self.ask.turns or no_turns(len(graph.terminals), size)
        whole = _Part(
            graph, optional, turns, np.arange(len(graph.length)), np.arange(size), is_new=False
        )
        self._split(whole, np.zeros(len(graph.length), np.bool_), np.ones_like(self.picked))
        while self.open.heap and not self.stopped and not self.dead:
            part = self.open.pop()
            if part.is_new:
                self._narrow(part)
            elif part.level + 1 < len(LEVELS):
                self._probe(replace(part, level=part.level + 1))
            else:
                self._program(part)
        none = np.empty(0, np.int64)
        if self.dead:
            return Choice(none, np.inf, np.inf, False, self.rounds)
        if self.stopped:
            return Choice(none, np.inf, self.bound + self.open.bound, False, self.rounds)
        found = float(graph.length[self.picked].sum())
        bound = min(self.bound, found)
        proven = bound >= found * (1.0 - CLOSE)
        return Choice(np.flatnonzero(self.picked), found, bound, proven, self.rounds)

    def _most(self) -> float:
        """What the part that is worked on may cost to matter."""
        return self.ask.ceiling * (1.0 + MARGIN) - self.bound - self.open.bound

    def _go_on(self, bound: float) -> bool:
        """Report; `bound` is that of the part that is worked on."""
        total = self.bound + self.open.bound + bound
        if self.keep_going is not None:
            going = self.keep_going("choosing full trees", self.rounds, 0, total)
            self.stopped = self.stopped or not going
        return not self.stopped

    def _take(self, part: _Part, flags: Flags) -> None:
        self.picked[part.trees[flags]] = True
        self.bound += float(part.graph.length[flags].sum())

    def _split(self, part: _Part, chosen: Flags, alive: Flags) -> None:
        """Take what is chosen and what every solution takes; open what is left, in blocks."""
        graph = part.graph
        optional, merged = part.optional.copy(), np.arange(graph.n)
        for f in np.flatnonzero(chosen):
            alive[f] = False
            merge_tree(merged, graph.terminals, graph.start[f], graph.start[f + 1])
            optional[graph.terminals[graph.start[f] : graph.start[f + 1]]] = False
        blocks = reduced(graph, alive, chosen, merged, optional, part.turns)
        if blocks.number < 0:
            self.dead = True
            return
        self._take(part, chosen)
        for block in _parts(part, blocks, optional):
            self.open.push(block)

    def _narrow(self, part: _Part) -> None:
        """Solve a part by the dynamic programme where its frontier is narrow enough."""
        graph, level = part.graph, LEVELS[part.level]
        at = incidence(graph, np.ones(len(part.trees), np.bool_))
        order, work = best_order(graph, at, part.optional, TRIES, level.work)
        if work > level.work:
            self.open.push(replace(part, is_new=False))
            return
        picked = np.zeros(len(part.trees), np.bool_)
        prices = prices_beside_optional(graph, part.optional)
        problem = Problem(
            graph, order, picked.copy(), part.optional, prices, self.special, part.names
        )
        room = self._most() * STRICT - prices.sum()
        progress = depart(problem, np.diff(at.first), room, int((~part.optional).sum()))
        while True:
            progress = decide_next(problem, progress, SLICE, level.widest)
            status = progress.record[STATUS]
            if not self._go_on(part.bound):
                self.open.push(part)
                return
            if status != PAUSED:
                break
        if status == DONE:
            trace_back(progress, picked)
            self._take(part, picked)
        elif status == DEAD:
            self.dead = True
        else:
            self.open.push(replace(part, is_new=False))

    def _probe(self, part: _Part) -> None:
        """Local probes all over a part, then what is left of it."""
        level, graph = LEVELS[part.level], part.graph
        alive = np.ones(len(part.trees), np.bool_)
        probes = set_up_probes(
            graph, part.optional, self.special, part.names, self._most() * STRICT, alive
        )
        at = decided = 0
        while at < graph.n and decided >= 0:
            at, decided = probe_all(
                probes, level.probe_trees, level.probe_partitions, at, level.probes_a_call
            )
            if not self._go_on(part.bound):
                self.open.push(part)
                return
        if decided < 0:
            self.dead = True
            return
        self._split(part, probes.forced, alive)

    def _program(self, part: _Part) -> None:
        """Solve a part by cutting planes and branching."""
        graph, optional = part.graph, part.optional
        order = np.argsort(optional, kind="stable")
        number = np.argsort(order)
        leaves = np.split(number[graph.terminals], graph.start[1:-1])
        terminals = int((~optional).sum())
        turns = Turns(part.turns.direction, part.turns.free[order])
        ask = Ask(graph.n, terminals, self._most(), turns)
        before = self.rounds

        def go_on(phase: str, done: int, total: int, bound: float) -> bool:
            self.rounds = before + done
            return self._go_on(bound)

        choice = Programme(leaves, graph.length, ask).run(go_on)
        self.rounds = before + choice.rounds
        self.bound += choice.lower_bound
        if len(choice.picked):
            self.picked[part.trees[choice.picked]] = True
        elif np.isinf(choice.lower_bound):
            self.dead = True
        else:
            self.stopped = True


def _parts(part: _Part, blocks: Blocks, optional: Flags) -> Iterator[_Part]:
    """Return the blocks of a part as lists of their own."""
    for b in range(blocks.number):
        low, high = blocks.first[b], blocks.first[b + 1]
        trees = blocks.trees[low:high]
        own = blocks.names.items[blocks.names.first[b] : blocks.names.first[b + 1]]
        begin = blocks.begin[low : high + 1]
        start = part.graph.start
        slots = np.concatenate([np.arange(start[f], start[f + 1]) for f in trees])
        graph = Hypergraph(
            len(own), begin - begin[0], blocks.local[begin[0] : begin[-1]], part.graph.length[trees]
        )
        free = np.where(optional[own], part.turns.free[own], WHOLE)
        yield _Part(
            graph, optional[own], Turns(part.turns.direction[slots], free),
            part.trees[trees], part.names[own], part.level,
        )  # fmt: skip
