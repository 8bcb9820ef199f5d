"""What to branch on: whether two terminals are in one FST.

Fixing a single FST splits a problem badly: without it, one of ten like it serves as well. In a
tree two terminals are together in one FST or in none, because two FSTs share at most one terminal.
That is a question whose both answers say much (Ryan and Foster, 1981, asked it in scheduling).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...hypergraph import Floats, Hypergraph, Ints, Rows

CANDIDATES = 12  # pairs that are tried
ROUGHLY = 1e-6  # a sum of x that is no farther from a whole number is one


class Group(NamedTuple):
    """FSTs of which a tree has one or none.

    pair: the two terminals they have in common; twice the same number for a single FST, as -1 - f.
    columns: all of them.
    value: the sum of x over them.
    """

    pair: tuple[int, int]
    columns: Ints
    value: float


def fractional_groups(graph: Hypergraph, at: Rows, x: Floats) -> list[Group]:
    """Groups worth trying, those near one half first; no two pairs share a terminal.

    Where x is fractional and no pair is, single FSTs; nothing where x is whole.
    """
    pairs = _pair_sums(graph, x)
    groups: list[Group] = []
    taken: set[int] = set()
    for (u, v), value in sorted(pairs.items(), key=lambda item: (abs(item[1] - 0.5), item[0])):
        if len(groups) == CANDIDATES or abs(value - 0.5) > 0.5 - ROUGHLY:
            break
        if u not in taken and v not in taken:
            taken |= {u, v}
            groups.append(Group((u, v), _columns_of(at, u, v), value))
    if not groups:
        fractional = np.flatnonzero((x > ROUGHLY) & (x < 1.0 - ROUGHLY))
        for f in fractional[np.argsort(np.abs(x[fractional] - 0.5), kind="stable")][:CANDIDATES]:
            groups.append(Group((-1 - int(f), -1 - int(f)), np.array([f]), float(x[f])))
    return groups


def _pair_sums(graph: Hypergraph, x: Floats) -> dict[tuple[int, int], float]:
    """For every two terminals that some fractional FST has in common, x over all that do."""
    used = np.flatnonzero(x > ROUGHLY)
    sums: dict[tuple[int, int], float] = {}
    for f in used:
        members = np.sort(graph.terminals[graph.start[f] : graph.start[f + 1]]).tolist()
        for k, u in enumerate(members):
            for v in members[k + 1 :]:
                sums[u, v] = sums.get((u, v), 0.0) + float(x[f])
    return sums


def _columns_of(at: Rows, u: int, v: int) -> Ints:
    """The FSTs that have both terminals."""
    return np.intersect1d(
        at.items[at.first[u] : at.first[u + 1]], at.items[at.first[v] : at.first[v + 1]]
    )
