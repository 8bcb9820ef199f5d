"""The rows that the programme of a concatenation with optional nodes begins with.

The spanning equation, degrees, what trees that meet at a corner mean for each other (see
`turn_kernels`), and the sets of two nodes. Of these last rows, with one that is below y_v for two
nodes and for every v, x_F <= y_v follows for all trees that share two nodes with another.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from ....core.points import FloatArray, IntArray
from ....core.trees import offsets
from ..exact.cutting.subtour_kernels import Inequalities
from ..hypergraph import Hypergraph
from .turn_kernels import SLACK, THIRD, WHOLE, Turns, owners


@dataclass
class _Collected:
    """Rows as they are found."""

    columns: list[IntArray] = field(default_factory=list)
    values: list[FloatArray] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)

    def add(self, columns: IntArray, values: FloatArray, lower: float, upper: float) -> None:
        self.columns.append(columns)
        self.values.append(values)
        self.lower.append(lower)
        self.upper.append(upper)

    def at_most(self, some: IntArray, others: IntArray) -> None:
        """The sum of some columns is at most the sum of others."""
        values = np.append(np.ones(len(some)), -np.ones(len(others)))
        self.add(np.append(some, others), values, -np.inf, 0.0)

    def rows(self) -> Inequalities:
        return Inequalities(
            offsets([len(one) for one in self.columns]),
            np.concatenate(self.columns),
            np.concatenate(self.values),
            np.array(self.lower),
            np.array(self.upper),
        )


def first_rows(graph: Hypergraph, column: IntArray, turns: Turns) -> tuple[Inequalities, int]:
    """Return rows to begin with, and how many of them, the first ones, must stay.

    `column` has the column of y_v for every node, -1 for terminals. The rows after those that must
    stay are inequalities of sets, which are found again where they are violated.
    """
    found = _Collected()
    m, n = graph.length.size, graph.n
    optional = column[column >= 0]
    found.add(
        np.append(np.arange(m), optional),
        np.append(np.diff(graph.start) - 1.0, -np.ones(len(optional))),
        n - len(optional) - 1.0,
        n - len(optional) - 1.0,
    )
    owner = owners(graph)
    order = np.argsort(graph.terminals, kind="stable")
    slots = np.split(order, np.cumsum(np.bincount(graph.terminals, minlength=n))[:-1])
    pairs = _shared_pairs(graph)
    bounded = {(f, v) for pair, trees in pairs.items() for v in pair for f in trees}
    for v, own in enumerate(slots):
        trees, y = owner[own], column[v : v + 1]
        if y[0] < 0:
            found.add(trees, np.ones(len(trees)), 1.0, np.inf)
            continue
        found.add(np.append(trees, y), np.append(np.ones(len(trees)), -2.0), 0.0, np.inf)
        rest = set(trees.tolist())
        if turns.free[v] < WHOLE:
            rest -= _turn_rows(found, trees, turns.direction[own], float(turns.free[v]), y)
        for f in sorted(rest):
            if (f, v) not in bounded:
                found.at_most(np.array([f]), y)
    must_stay = len(found.lower)
    for (u, v), sharing in pairs.items():
        # The inequality of the set {u, v}, at most y of either.
        free = [c for c in (column[u], column[v]) if c >= 0]
        for c in free:
            found.at_most(np.array(sharing), np.array([c]))
        if not free:
            found.add(np.array(sharing), np.ones(len(sharing)), -np.inf, 1.0)
    return found.rows(), must_stay


def _turn_rows(
    found: _Collected, trees: IntArray, direction: FloatArray, free: float, y: IntArray
) -> set[int]:
    """Add what follows from directions at a corner; return the trees with x <= y there."""
    covered: set[int] = set()
    for t in (direction, free - direction):  # counted from either wall
        low = t < THIRD - SLACK
        high = np.isnan(t) | (t >= math.pi - SLACK)
        found.at_most(y, trees[high])
        if not low.any():
            continue
        found.at_most(trees[low], y)
        covered |= set(trees[low].tolist())
        last = trees[high].size
        for least in np.sort(t[low]):
            beyond = np.isnan(t) | (t >= least + math.pi - SLACK)
            if beyond.sum() < last:
                last = beyond.sum()
                found.at_most(trees[low & (t >= least)], trees[beyond])
    return covered


def _shared_pairs(graph: Hypergraph) -> dict[tuple[int, int], list[int]]:
    """Pairs of nodes that several trees share, and these trees."""
    start, nodes = graph.start.tolist(), graph.terminals.tolist()
    shared: dict[tuple[int, int], list[int]] = {}
    for f in range(graph.length.size):
        members = sorted(nodes[start[f] : start[f + 1]])
        for pair in itertools.combinations(members, 2):
            shared.setdefault(pair, []).append(f)
    return {pair: trees for pair, trees in shared.items() if len(trees) > 1}
