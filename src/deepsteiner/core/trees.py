"""Checks and measures of trees given as plain arrays, one at a time or a whole batch at once."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .errors import TreeError
from .points import FloatArray, IntArray

# Relative disagreement allowed between a stored length and the sum over the edges.
LENGTH_TOLERANCE = 1e-9
# Angles at Steiner points may differ from 120 degrees by this many radians, plus what rounding
# of the coordinates themselves does to an edge of that length.
ANGLE_TOLERANCE = 1e-6
# Steiner points are known to this many roundings of the largest coordinate: the constructions that
# place them have several steps, and refinement calls positions equal that are closer than that.
POSITION_ROUNDINGS = 64
# Coordinates with fewer digits than this, relative to the extent, cannot hold a Steiner point next
# to its neighbour: both may be rounded to the same place.
COARSE = 1e-10
# Edges measured at once: few enough to stay in the processor's cache.
_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class PackedTrees:
    """B trees in flat arrays: tree b owns the rows between its start offsets.

    Edges use each tree's own indices: its n terminals are 0..n-1, its Steiner points follow. A
    tree with n terminals and s Steiner points has n + s - 1 edges.
    """

    terminals: FloatArray
    terminal_start: IntArray
    steiner: FloatArray
    steiner_start: IntArray
    edges: IntArray

    def __len__(self) -> int:
        return len(self.terminal_start) - 1

    @cached_property
    def node_start(self) -> IntArray:
        """Where each tree's nodes begin when all nodes stand in one array."""
        return self.terminal_start + self.steiner_start

    @cached_property
    def edge_start(self) -> IntArray:
        """Where each tree's edges begin."""
        return self.node_start - np.arange(len(self) + 1)

    @cached_property
    def coordinates(self) -> FloatArray:
        """All nodes in one array, tree after tree, terminals before Steiner points."""
        terminal_count, steiner_count = np.diff(self.terminal_start), np.diff(self.steiner_start)
        result = np.empty((int(self.node_start[-1]), 2))
        result[ranges(self.node_start[:-1], terminal_count)] = self.terminals
        result[ranges(self.node_start[:-1] + terminal_count, steiner_count)] = self.steiner
        return result

    @cached_property
    def flat_edges(self) -> IntArray:
        """The edges over `coordinates`."""
        offset = np.repeat(self.node_start[:-1], np.diff(self.edge_start))
        return self.edges + offset[:, None]

    def lengths(self) -> FloatArray:
        """Return the length of every tree."""
        edge_lengths = np.empty(len(self.edges))
        for first in range(0, len(self.edges), _AT_ONCE):
            ends = self.coordinates[self.flat_edges[first : first + _AT_ONCE]]
            difference = ends[:, 0] - ends[:, 1]
            span = edge_lengths[first : first + _AT_ONCE]
            span[:] = np.hypot(difference[:, 0], difference[:, 1])
        owner = np.repeat(np.arange(len(self)), np.diff(self.edge_start))
        sums = np.bincount(owner, weights=edge_lengths, minlength=len(self))
        return sums.astype(np.float64)  # without edges bincount counts in integers

    def check(self) -> None:
        """Raise TreeError, naming the instance, unless every member is a spanning tree."""
        if len(self) == 0:
            return
        self._check_ranges()
        if self._component_count() == len(self):
            return
        for index in range(len(self)):
            one = self.member(index)
            if one._component_count() != 1:
                raise TreeError(f"{self._name(index)}the edges do not connect all points")

    def member(self, index: int) -> PackedTrees:
        """Return tree `index` as a batch of one."""
        t, s, e = self.terminal_start, self.steiner_start, self.edge_start
        return pack_one(
            self.terminals[t[index] : t[index + 1]],
            self.steiner[s[index] : s[index + 1]],
            self.edges[e[index] : e[index + 1]],
        )

    def _check_ranges(self) -> None:
        if self.edges.shape != (int(self.edge_start[-1]), 2):
            raise TreeError(
                f"a tree over these points has {int(self.edge_start[-1])} edges, "
                f"got an array of shape {self.edges.shape}"
            )
        node_count = np.repeat(np.diff(self.node_start), np.diff(self.edge_start))
        bad = ((self.edges < 0) | (self.edges >= node_count[:, None])).any(axis=1)
        if bad.any():
            row = int(np.argmax(bad))
            index = int(np.searchsorted(self.edge_start, row, side="right")) - 1
            raise TreeError(
                f"{self._name(index)}edge {self.edges[row].tolist()} names a node that does not "
                f"exist; nodes are 0 to {int(node_count[row]) - 1}"
            )
        if not np.isfinite(self.steiner).all():
            raise TreeError("a Steiner point has a coordinate that is not finite")

    def _name(self, index: int) -> str:
        return f"instance {index}: " if len(self) > 1 else ""

    def _component_count(self) -> int:
        # No edge leaves its own tree, so B components over all nodes mean that each of the B
        # graphs is connected; having one edge less than nodes, each is then a tree.
        size = int(self.node_start[-1])
        if "numba" in sys.modules:  # many times faster, but not worth loading for it
            from .tree_kernels import component_count

            return int(component_count(np.ascontiguousarray(self.flat_edges, np.int64), size))
        root = list(range(size))
        for first, second in self.flat_edges.tolist():
            root[_root(root, first)] = _root(root, second)
        return sum(node == above for node, above in enumerate(root))


def _root(root: list[int], node: int) -> int:
    while root[node] != node:
        root[node] = root[root[node]]
        node = root[node]
    return node


def pack_one(terminals: FloatArray, steiner: FloatArray, edges: IntArray) -> PackedTrees:
    """Return one tree in the packed form."""
    return PackedTrees(
        terminals,
        np.array([0, len(terminals)], dtype=np.int64),
        steiner,
        np.array([0, len(steiner)], dtype=np.int64),
        edges,
    )


def check_tree(terminals: FloatArray, steiner: FloatArray, edges: IntArray) -> None:
    """Raise TreeError unless the edges make the points one tree."""
    size = len(terminals) + len(steiner)
    fits = edges.shape == (size - 1, 2) and bool(np.isfinite(steiner).all())
    if fits and "numba" in sys.modules:  # many times faster, but not worth loading for it
        from .tree_kernels import is_tree

        if is_tree(edges, size):
            return
    pack_one(terminals, steiner, edges).check()  # says what is wrong


def ranges(starts: IntArray, sizes: IntArray) -> IntArray:
    """Return arange(start, start + size) for all pairs, one after the other."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.repeat(starts - (ends - sizes), sizes) + np.arange(total), dtype=np.int64)


def offsets(sizes: Any) -> IntArray:
    """Return where each of some runs of these sizes begins, one after the other, and their end.

    >>> offsets([2, 0, 3])
    array([0, 2, 2, 5])
    """
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


def tree_length(coordinates: FloatArray, edges: IntArray) -> float:
    """Return the sum of the edges' lengths."""
    difference = coordinates[edges[:, 0]] - coordinates[edges[:, 1]]
    # Summed in order, as `PackedTrees.lengths` does, so that both give the same bits.
    return float(np.cumsum(np.hypot(difference[:, 0], difference[:, 1]))[-1]) if len(edges) else 0.0


def check_strict(
    coordinates: FloatArray,
    edges: IntArray,
    terminal_count: int,
    relays: int,
    later: int = 0,
    joints: int = 0,
    crossings: bool = False,
) -> None:
    """Raise TreeError unless Steiner points have degree 3 and angles of 120 degrees.

    Where `crossings` are allowed, two straight lines may cross in a Steiner point of degree 4.

    The last `relays` points before the last `later` ones are relays on straight edges: degree 2
    and 180 degrees. Those later ones are bends, of degree 2 at least, then `joints`.
    """
    total = len(coordinates) - later
    degree = np.bincount(edges.ravel(), minlength=total + later)
    if (degree[total : total + later - joints] < 2).any():
        raise TreeError(f"node {total + int(np.argmin(degree[total:]))} is a bend without a use")
    degree = degree[:total]
    expected = np.full(total, 3)
    if crossings:
        expected[degree == 4] = 4
    expected[total - relays :] = 2
    wrong = np.flatnonzero(degree[terminal_count:] != expected[terminal_count:]) + terminal_count
    if len(wrong):
        node = int(wrong[0])
        kind = "relay" if node >= total - relays else "Steiner point"
        raise TreeError(
            f"node {node} is a {kind} of degree {int(degree[node])}, not {int(expected[node])}"
        )
    _check_angles(coordinates, edges, terminal_count, expected)


def _check_angles(
    coordinates: FloatArray, edges: IntArray, terminal_count: int, expected: IntArray
) -> None:
    both = np.concatenate((edges, edges[:, ::-1]))
    both = both[(both[:, 0] >= terminal_count) & (both[:, 0] < len(expected))]
    vector = coordinates[both[:, 1]] - coordinates[both[:, 0]]
    norm = np.hypot(vector[:, 0], vector[:, 1])
    spacing = np.spacing(np.abs(coordinates).max())
    if (norm == 0).any() and spacing < COARSE * np.ptp(coordinates, axis=0).max():
        node = int(both[np.argmax(norm == 0), 0])
        raise TreeError(f"node {node} is a Steiner point that coincides with its neighbour")
    # At 120 degrees (180 for relays and where lines cross) the unit vectors sum to zero; the sum
    # measures the error.
    sums = np.zeros((len(coordinates), 2))
    allowed = np.full(len(coordinates), ANGLE_TOLERANCE)
    with np.errstate(divide="ignore", invalid="ignore"):
        np.add.at(sums, both[:, 0], np.where(norm > 0, vector.T / norm, 0.0).T)
        # Infinite at edges of no length.
        np.add.at(allowed, both[:, 0], POSITION_ROUNDINGS * spacing / norm)
    error = np.hypot(sums[:, 0], sums[:, 1])
    if (error > allowed).any():
        node = int(np.argmax(error - allowed))
        angle = 120 if expected[node] == 3 else 180
        raise TreeError(
            f"node {node}: the edges do not meet at {angle} degrees (off by {error[node]:.2g} rad)"
        )


def cut_edges(nodes: FloatArray, edges: IntArray, pieces: IntArray) -> tuple[FloatArray, IntArray]:
    """Cut every edge into so many equal pieces.

    Returns the places of the cuts, which are numbered after the nodes, and the pieces as edges.

    >>> cut_edges(np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([[0, 1]]), np.array([3]))[1].tolist()
    [[0, 2], [2, 3], [3, 1]]
    """
    owner = np.repeat(np.arange(len(pieces)), pieces)
    step = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    # Piece `step` of an edge runs from its cut `step` to its cut `step + 1`.
    first_cut = len(nodes) + np.cumsum(pieces - 1) - (pieces - 1)
    tail = np.where(step == 0, edges[owner, 0], first_cut[owner] + step - 1)
    head = np.where(step == pieces[owner] - 1, edges[owner, 1], first_cut[owner] + step)
    inner = step > 0
    share = (step / pieces[owner])[inner, None]
    ends = nodes[edges[owner[inner]]]
    return ends[:, 0] * (1 - share) + ends[:, 1] * share, np.stack((tail, head), axis=1)
