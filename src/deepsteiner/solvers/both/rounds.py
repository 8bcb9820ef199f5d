"""Rounds of a proof among obstacles where a network is joined: obstacles in play, lists, choices.

Nodes are terminals, parts of the network, and convex corners of the obstacles in play. A corner on
the network is a place of its part. Leaving out obstacles can only shorten the tree, so the shortest
tree of a round is a lower bound, and one that crosses nothing is the shortest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.points import FloatArray, IntArray
from ...plane.plane import as_complex, as_pairs
from .ground import FREE, Graph, Ground

if TYPE_CHECKING:
    from ...fst.enumerate.corners.landscape_kernels import Landscape
    from ...fst.enumerate.corners.segments import SegmentTrees


@dataclass(frozen=True)
class Field:
    """What trees of a round are made of.

    Attributes
    ----------
    ground
        Leaves and segments for the generator.
    node
        The node of each leaf: terminals, parts to be joined, other parts, corners.
    segment_node
        The node of each segment.
    count
        The number of nodes.
    seen
        Which leaves see each other.
    """

    ground: Landscape
    node: IntArray
    segment_node: IntArray
    count: int
    seen: Any


def field_of(ground: Ground, active: set[int]) -> Field:
    """Return terminals, the network and the corners of the obstacles in play."""
    from ...fst.enumerate.corners.block_kernels import in_blocks
    from ...fst.enumerate.corners.landscape_kernels import WHOLE, Landscape
    from ...fst.enumerate.networks.site import leaves_of
    from ...plane.contact_kernels import chained
    from ...plane.geodesic_kernels import prim, special_distances
    from ...plane.sight_kernels import sight

    case, plane = ground.case, ground.plane
    n = len(case.free)
    places, node, *_ = leaves_of(case.layout)
    walls, corners = plane.walls_of(active), plane.corners.of(active)
    part = ground.network.part_at(corners.places) if len(corners.places) else np.empty(0, np.int64)
    on = (part >= 0) & (ground.node_of_part[part] >= 0)
    known = {(u, p) for u, p in zip(node.tolist(), places.tolist(), strict=True)}
    touched = [
        (int(ground.node_of_part[p]), complex(*place))
        for p, place in zip(part[on].tolist(), corners.places[on].tolist(), strict=True)
    ]
    touched = [one for one in touched if one not in known]
    taken = set(places[:n].tolist())
    fresh = ~on & np.array([one not in taken for one in as_complex(corners.places).tolist()], bool)
    count = case.count + int(fresh.sum())
    network = np.array([place for _, place in touched], np.complex128)
    places = np.concatenate((places, network, as_complex(corners.places[fresh])))
    node = np.concatenate((
        node, np.array([u for u, _ in touched], np.int64), np.arange(case.count, count)
    )).astype(np.int64)  # fmt: skip
    seen = sight(walls, places, 0, len(places))
    layout = case.layout
    owner = np.repeat(np.arange(case.count), np.diff(layout.first))
    distance = _distances(places, node, seen, (layout.tail, layout.head, owner), walls, count)
    chains = chained(distance, case.mandatory)
    edges, lengths = prim(chains, case.mandatory)
    # No edge is longer than the longest link of a spanning tree of what every tree must have.
    longest = float(lengths.max())
    between = np.minimum(special_distances(chains, edges, lengths), longest)
    np.fill_diagonal(between, -1.0)
    special = np.ascontiguousarray(between[np.ix_(node, node)])
    plain = len(places) - int(fresh.sum())
    first = np.full(case.count, -1)
    np.maximum.at(first, node[node < case.count], np.flatnonzero(node < case.count))
    made = Landscape(
        places,
        special,
        np.concatenate((np.zeros(plain), corners.side[fresh])),
        np.concatenate((np.full(plain, WHOLE), corners.free[fresh])),
        n,
        in_blocks(walls),
        longest,
        np.argsort(places[:n].real, kind="stable"),
        layout.tail,
        layout.head,
        first[owner],
        len(layout.tail) > 0,
    )
    return Field(made, node, owner, count, seen)


def _distances(
    places: Any, node: IntArray, seen: Any, segments: tuple[Any, Any, IntArray], walls: Any,
    count: int,
) -> FloatArray:  # fmt: skip
    """Return the lengths of straight free ways between nodes; infinite where there is none."""
    from ...plane.joining.links import foot_of
    from ...plane.sight_kernels import all_see

    distance = np.full((count, count), np.inf)
    rows, columns = np.nonzero(seen)
    np.minimum.at(distance, (node[rows], node[columns]), np.abs(places[rows] - places[columns]))
    tail, head, owner = segments
    if len(tail):
        one, two = np.divmod(np.arange(len(places) * len(tail)), len(tail))
        apart = node[one] != owner[two]
        one, two = one[apart], two[apart]
        spots = as_pairs(places)
        feet = as_complex(foot_of(spots[one], as_pairs(tail)[two], as_pairs(head)[two]))
        away = np.abs(places[one] - feet)
        near = away < distance[node[one], owner[two]]
        one, two, feet, away = one[near], two[near], feet[near], away[near]
        size = len(places)
        ends = np.stack((one, size + np.arange(len(feet))), axis=1)
        clear = all_see(walls, np.concatenate((places, feet)), ends)
        one, two, away = node[one[clear]], owner[two[clear]], away[clear]
        np.minimum.at(distance, (one, two), away)
        np.minimum.at(distance, (two, one), away)
    np.fill_diagonal(distance, 0.0)
    return distance


def nodes_and_lengths(field: Field, trees: SegmentTrees) -> tuple[list[IntArray], FloatArray]:
    """Return the nodes and the length of every tree."""
    nodes = [field.node[leaves] for leaves in trees.corners.leaves]
    nodes += [
        np.append(field.node[leaves], field.segment_node[k])
        for leaves, k in zip(trees.leaves, trees.segments, strict=True)
    ]
    return nodes, np.concatenate((trees.corners.length, np.array(trees.length)))


def union(ground: Ground, field: Field, trees: SegmentTrees, picked: IntArray) -> Graph:
    """Return some trees as one graph, terminals first."""
    case, places = ground.case, as_pairs(field.ground.places)
    points = ground.run.points
    n, own, plain = len(points), len(case.free), len(trees.corners)
    parts = np.full(field.count, FREE)
    parts[own : case.count] = case.parts
    # Leaves: terminals keep their numbers, all others follow.
    number = np.concatenate((case.free, n + np.arange(len(places) - own)))
    nodes, owner = [points, places[own:]], [ground.on, parts[field.node[own:]]]
    edges, count = [], n + len(places) - own
    for k in picked.tolist():
        if k < plain:
            leaves, more = trees.corners.leaves[k], trees.corners.steiner[k]
            links, ends = trees.corners.edges[k], 0
        else:
            leaves, more = trees.leaves[k - plain], trees.places[k - plain]
            links, ends = trees.edges[k - plain], 1
        names = np.concatenate((number[leaves], count + np.arange(len(more))))
        whose = np.full(len(more), FREE)
        if ends:
            whose[0] = parts[field.segment_node[trees.segments[k - plain]]]
        nodes.append(more)
        owner.append(whose)
        edges.append(names[links])
        count += len(more)
    return Graph(np.concatenate(nodes), np.concatenate(owner), np.concatenate(edges))
