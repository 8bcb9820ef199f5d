"""How many relays are needed at least.

Join terminals within one radius of each other: k groups are left. Take any network of m relays
whose hops are at most the radius R, and a spanning tree of it that keeps the links inside groups.

*Length.* It has k + m - 1 other hops, of total length at most (k + m - 1) R, and they connect the
groups; so (k + m - 1) R is at least the length S of a shortest tree of the groups, in which moving
between terminals of a group is free. Hence m >= S / R - k + 1.

S is found from full Steiner trees (`fst.groups`). Where that takes too long, S >= 0.82416 M, M
being the length of the spanning tree's edges between groups: the bound of Chung and Graham (1985)
holds for each full Steiner tree by itself.

*Degrees.* Among the spanning trees take a shortest one: no two of its hops meet at less than 60
degrees, and some such tree has at most five at each relay. Cut it at the terminals. A part with q
relays has at most 3 q + 2 terminals, and at most t q where t is the most groups that one relay can
hear; it joins one group less than it has terminals, which is at most `SHARE[t]` q. Since all parts
together join k groups, m >= (k - 1) / SHARE[t].

*Covering.* See `covering`: relays must be in certain rings around the groups.

Obstacles only rule networks out: the bounds hold with them.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.points import FloatArray, IntArray
from ..run.monitor import Monitor
from ..solvers.exact import STEINER_RATIO
from .covering import relays_in_rings
from .local_kernels import ROUNDING

SHARE = {1: 1.0, 2: 2.0, 3: 3.0, 4: 3.5, 5: 4.0}
"""The most that a part joins per relay: (min(t q, 3 q + 2) - 1) / q at most, whatever q is."""
LISTED = 400
"""Groups up to which the shortest tree of the groups is proven."""
MANY_PAIRS = 20_000
"""Pairs of near terminals up to which hearing is looked into."""
PROVEN = 1e-9
"""What proofs of lengths are good for, relatively."""


def groups_of(points: FloatArray, edges: IntArray, radius: float) -> tuple[IntArray, IntArray]:
    """Return the group of each point, numbered from 0, and the spanning edges between groups.

    `edges` are those of a minimum spanning tree; links up to the radius make the groups.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(points)
    lengths = np.hypot(*(points[edges[:, 0]] - points[edges[:, 1]]).T)
    short = lengths * (1.0 - ROUNDING) <= radius
    inner = edges[short]
    graph = coo_array((np.ones(len(inner)), (inner[:, 0], inner[:, 1])), shape=(n, n))
    return connected_components(graph, directed=False)[1].astype(np.int64), edges[~short]


def relays_needed(points: FloatArray, radius: float, monitor: Monitor) -> int:
    """Return a number of relays that no network of the points has less of."""
    from ..geometry.spanning_trees import minimum_spanning_tree

    if len(points) == 1:
        return 0
    group, between = groups_of(points, minimum_spanning_tree(points), radius)
    k = len(between) + 1
    if k == 1:
        return 0
    shortest = _shortest_tree_of_groups(points, group, between, monitor)
    by_length = math.ceil(shortest / radius * (1.0 - PROVEN) - PROVEN) - k + 1
    by_degree = math.ceil((k - 1) / SHARE[_most_heard(points, group, radius)] - PROVEN)
    by_covering = relays_in_rings(points, group, radius)
    return max(by_length, by_degree, by_covering, 1)


def _shortest_tree_of_groups(
    points: FloatArray, group: IntArray, between: IntArray, monitor: Monitor
) -> float:
    """Return a lower bound for the length of a shortest tree of the groups."""
    spanning = float(np.hypot(*(points[between[:, 0]] - points[between[:, 1]]).T).sum())
    known = spanning if len(between) == 1 else STEINER_RATIO * spanning
    if len(between) == 1 or len(between) >= LISTED or len(points) > 4 * LISTED:
        return known
    from ..fst.enumerate.complete.generate import generate
    from ..fst.groups import shortest_for_groups

    trees = generate(points, keep_going=lambda phase, done, total: monitor.report(phase))
    if not trees.complete:
        return known
    choice, _ = shortest_for_groups(trees, group, lambda phase, *_: monitor.report(phase))
    return max(known, choice.lower_bound)


def _most_heard(points: FloatArray, group: IntArray, radius: float) -> int:
    """Return the most groups, up to five, that one place has within the radius."""
    from scipy.spatial import cKDTree

    reach = radius * (1.0 + 2.0 * ROUNDING)
    pairs = cKDTree(points).query_pairs(2.0 * reach, output_type="ndarray")
    pairs = pairs[group[pairs[:, 0]] != group[pairs[:, 1]]]
    if len(pairs) == 0:
        return 1
    if len(pairs) > MANY_PAIRS:
        return 5
    # A place that hears most can be moved until it is one radius from two of those it hears.
    a, b = points[pairs[:, 0]], points[pairs[:, 1]]
    half, middle = (b - a) / 2.0, (a + b) / 2.0
    far = np.hypot(half[:, 0], half[:, 1])
    aside = np.sqrt(np.maximum(radius**2 - far**2, 0.0)) / far
    turned = np.stack((-half[:, 1], half[:, 0]), axis=1) * aside[:, None]
    places = np.concatenate((middle + turned, middle - turned))
    heard = cKDTree(points).query_ball_point(places, reach * (1.0 + 1e-9))
    return min(5, max(2, *(len(np.unique(group[some])) for some in heard)))
