"""What lists of nearby full Steiner trees are made from, as kernels take it."""

from __future__ import annotations

from typing import NamedTuple

from ....core.points import Array


class Bottlenecks(NamedTuple):
    """The minimum spanning tree in the order in which its edges join parts: see `merge_tree`.

    up, rank: the merge tree over the terminals.
    length: that of every edge, by length, and infinity.
    """

    up: Array
    rank: Array
    length: Array


class ClosePairs(NamedTuple):
    """Pairs of terminals that may be in one small full Steiner tree.

    ends: (m, 2), the terminals of each pair.
    bound: their bottleneck distances.
    first, rows: the pairs at terminal v are ``rows[first[v] : first[v + 1]]``.
    """

    ends: Array
    bound: Array
    first: Array
    rows: Array


class Ground(NamedTuple):
    """Terminals with their spanning tree, bottleneck distances and close pairs.

    points: (n, 2), the terminals.
    tree: (n - 1, 2), the edges of a minimum spanning tree by length.
    tree_lengths: their lengths.
    bottlenecks: what bottleneck distances are read from.
    pairs: the pairs that may share a Steiner point.
    cross: the pairs that may hang on adjacent ones.
    """

    points: Array
    tree: Array
    tree_lengths: Array
    bottlenecks: Bottlenecks
    pairs: ClosePairs
    cross: ClosePairs


class Found(NamedTuple):
    """Full Steiner trees of k terminals, one a row; their Steiner points form paths.

    names: (m, k), the terminals in the order in which they hang on the path.
    places: (m, 2 k - 4), x and y of the Steiner points along the path.
    length: (m,).
    """

    names: Array
    places: Array
    length: Array


class TreeList(NamedTuple):
    """`FullTrees` whose Steiner points form paths.

    points: (n, 2), the terminals.
    start, terminals: tree f joins ``terminals[start[f] : start[f + 1]]``.
    length: that of every tree.
    steiner: the Steiner points of tree f begin at row ``start[f] - 2 * f``.
    """

    points: Array
    start: Array
    terminals: Array
    length: Array
    steiner: Array
