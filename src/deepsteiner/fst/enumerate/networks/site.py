"""Terminals and parts of networks made into the ground that full Steiner trees grow on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.points import FloatArray, IntArray

if TYPE_CHECKING:
    from ....plane.contact_kernels import Layout
    from .site_kernels import Site

STRAIGHT = 1e-9
"""Vertices at which all free angles exceed 180 degrees by less than this are never the nearest."""


def layout_of(
    places: Any, node: IntArray, tail: Any, head: Any, owner: IntArray, count: int
) -> Layout:
    """Return points and segments, as complex numbers, with their nodes."""
    from ....plane.contact_kernels import Layout

    order = np.argsort(owner, kind="stable")
    first = np.searchsorted(owner[order], np.arange(count + 1))
    return Layout(
        np.ascontiguousarray(places, np.complex128),
        np.ascontiguousarray(node, np.int64),
        np.ascontiguousarray(tail[order], np.complex128),
        np.ascontiguousarray(head[order], np.complex128),
        np.ascontiguousarray(first, np.int64),
    )


def site_of(bare: Layout, mandatory: int) -> tuple[Site, FloatArray]:
    """Return the ground over points and segments, and the distances of all pairs of nodes.

    Parameters
    ----------
    bare
        The terminals and the segments.
    mandatory
        How many of the nodes, the first ones, every tree must have. There are two at least.
    """
    from ....plane.contact_kernels import chained, node_distances
    from ....plane.geodesic_kernels import prim, special_distances
    from .site_kernels import Site

    distance = node_distances(bare)
    chains = chained(distance, mandatory)
    edges, lengths = prim(chains, mandatory)
    # In a shortest tree both sides of an edge have a mandatory node, so that no edge is longer
    # than the longest link of a spanning tree of these.
    longest = float(lengths.max())
    special = np.minimum(special_distances(chains, edges, lengths), longest)
    np.fill_diagonal(special, -1.0)
    places, node, start, spokes = leaves_of(bare)
    layout = bare._replace(places=places, node=node)
    return Site(layout, start, spokes, special, mandatory, longest), distance


def leaves_of(bare: Layout) -> tuple[Any, IntArray, IntArray, Any]:
    """Return the terminals, then vertices that can be leaves; nodes; spokes in compressed rows."""
    from .site_kernels import widest_gap

    owner = np.repeat(np.arange(len(bare.first) - 1), np.diff(bare.first))
    ends = np.concatenate((bare.tail, bare.head))
    ways = np.concatenate((bare.head - bare.tail, bare.tail - bare.head))
    ways = ways / np.abs(ways)
    keys = np.stack((np.tile(owner, 2), ends.real, ends.imag), axis=1)
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    begin = np.searchsorted(which.ravel()[order], np.arange(len(first) + 1))
    places, node = [bare.places], [bare.node]
    spokes, counts = [np.empty(0, np.complex128)], [np.zeros(len(bare.places), np.int64)]
    for k, row in enumerate(first.tolist()):
        own = np.ascontiguousarray(ways[order[begin[k] : begin[k + 1]]])
        if widest_gap(own) > np.pi + STRAIGHT:
            places.append(ends[row : row + 1])
            node.append(np.tile(owner, 2)[row : row + 1])
            spokes.append(own)
            counts.append(np.array([len(own)]))
    start = np.concatenate(([0], np.cumsum(np.concatenate(counts))))
    return np.concatenate(places), np.concatenate(node), start, np.concatenate(spokes)
