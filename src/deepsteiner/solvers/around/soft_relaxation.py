"""The best places of the nodes of a tree through soft regions.

For a given tree and a given sequence of walls that its edges cross, the cost is convex in the
places of the nodes: Steiner points move freely, crossings move along their walls. After each
relaxation the sequence is made anew: edges are split where they cross walls, nodes that met are
joined, crossings at a corner may turn into another wall, detours are cut short, and where two edges
pull a node strongly enough a Steiner point is put between them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.points import FloatArray, IntArray
from ...plane.plane import as_complex, as_pairs
from ...plane.routes import pruned
from ...plane.soft import Soft

ROUNDS = 40
"""How often the sequence of walls is made anew."""
SWEEPS, STILL = 120, 1e-12
"""Sweeps over all nodes in a relaxation; it ends where none moves farther."""
MET = 1e-9
"""Nodes closer than this, in units of the frame, are one."""
WORTH = 1e-6
"""The least pull, relatively, that a new Steiner point must answer."""
NUDGES = (1e-3, 3e-2)
"""How far a node at a corner is moved along a wall to see whether that is cheaper."""


@dataclass(frozen=True)
class Web:
    """A tree through soft regions: nodes, the first of which are fixed, edges and their cost."""

    nodes: FloatArray
    edges: IntArray
    cost: float


def web_of(soft: Soft, nodes: FloatArray, n: int, edges: IntArray) -> Web:
    """Return a tree without useless leaves, with its cost."""
    more, edges = pruned(nodes, n, edges)
    nodes = np.concatenate((nodes[:n], more))
    return Web(nodes, edges, float(soft.costs(nodes, edges).sum()))


def relaxed(soft: Soft, nodes: FloatArray, n: int, edges: IntArray) -> Web:
    """Return a tree with its nodes at their best places; never dearer than it was."""
    best = web_of(soft, nodes, n, edges)
    for _ in range(ROUNDS):
        found = _moved(soft, best, n)
        for change in (_cut_short, _turned, _branched):
            changed = change(soft, found, n)
            if changed.cost < found.cost:
                found = changed
        if not found.cost < best.cost * (1.0 - 1e-13):
            break
        best = found
    return best


def _moved(soft: Soft, web: Web, n: int) -> Web:
    """Split edges at walls, relax, and join nodes that met."""
    from ...plane import soft_kernels as kernels

    nodes, edges, wall = _split(soft, web, n)
    places = as_complex(nodes)
    tail, head = places.copy(), places.copy()
    kind = np.full(len(nodes), kernels.FREE)
    kind[:n] = kernels.FIXED
    on = wall >= 0
    kind[on] = kernels.ON_WALL
    tail[on], head[on] = soft.ground.soft.tail[wall[on]], soft.ground.soft.head[wall[on]]
    corner = np.array([tuple(one) in soft.corners for one in nodes.tolist()], dtype=np.bool_)
    kind[corner] = kernels.FIXED
    lengths = np.hypot(*(nodes[edges[:, 0]] - nodes[edges[:, 1]]).T)
    costs = soft.costs(nodes, edges)
    weights = np.where(lengths > 0.0, costs / np.maximum(lengths, 1e-300), 1.0)
    ends = np.concatenate((edges[:, 0], edges[:, 1]))
    others, both = np.concatenate((edges[:, 1], edges[:, 0])), np.concatenate((weights, weights))
    order = np.argsort(ends, kind="stable")
    start = np.concatenate(([0], np.cumsum(np.bincount(ends, minlength=len(nodes)))))
    flexible = kernels.Web(kind, tail, head, start, others[order], both[order])
    moved = as_pairs(kernels.relax_web(flexible, places, SWEEPS, STILL))
    found = web_of(soft, *_met(moved, n, edges))
    if found.cost < web.cost:
        return found
    return web


def _split(soft: Soft, web: Web, n: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Return nodes and edges, edges split where they cross walls; and the wall of each node, or -1.

    A node that lies on a wall belongs to it.
    """
    from ...plane.soft_kernels import NEAR, crossings

    nodes = [tuple(one) for one in web.nodes.tolist()]
    wall = [-1] * len(nodes)
    edges: list[tuple[int, int]] = []
    places = as_complex(web.nodes)
    for a, b in web.edges.tolist():
        p, q = places[a], places[b]
        shares, walls, count = crossings(soft.ground, p, q)
        tiny = NEAR / max(abs(q - p), NEAR)
        last, before = 0.0, a
        for share, one in zip(shares[:count].tolist(), walls[:count].tolist(), strict=True):
            if share < -tiny or share > 1.0 + tiny:
                continue
            if share <= 2 * tiny or share >= 1.0 - 2 * tiny:
                node = a if share < 0.5 else b
                if node >= n and wall[node] < 0:
                    wall[node] = one
                continue
            if share - last <= 2 * tiny:
                continue
            spot = p + share * (q - p)
            nodes.append((float(spot.real), float(spot.imag)))
            wall.append(one)
            edges.append((before, len(nodes) - 1))
            last, before = share, len(nodes) - 1
        edges.append((before, b))
    return np.array(nodes), np.array(edges, dtype=np.int64).reshape(-1, 2), np.array(wall)


def _met(nodes: FloatArray, n: int, edges: IntArray) -> tuple[FloatArray, int, IntArray]:
    """Join nodes that met; the fixed one stays, else the first."""
    from ...core.tree_kernels import find

    lengths = np.hypot(*(nodes[edges[:, 0]] - nodes[edges[:, 1]]).T)
    root = np.arange(len(nodes))
    for a, b in edges[lengths <= MET].tolist():
        one, two = sorted((int(find(root, a)), int(find(root, b))))
        if two >= n:
            root[two] = one
    root = np.array([find(root, v) for v in range(len(nodes))])
    edges = root[edges]
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    used, numbers = np.unique(np.concatenate((np.arange(n), edges.ravel())), return_inverse=True)
    return nodes[used], n, numbers[n:].reshape(-1, 2)


def _beside(web: Web) -> list[list[int]]:
    beside: list[list[int]] = [[] for _ in web.nodes]
    for a, b in web.edges.tolist():
        beside[a].append(b)
        beside[b].append(a)
    return beside


def _rewired(
    soft: Soft, web: Web, n: int, gone: set[tuple[int, int]], more: list[list[int]],
    nodes: FloatArray,
) -> Web:  # fmt: skip
    kept = [one for one in web.edges.tolist() if (min(one), max(one)) not in gone]
    return web_of(soft, nodes, n, np.array(kept + more, dtype=np.int64).reshape(-1, 2))


def _cut_short(soft: Soft, web: Web, n: int) -> Web:
    """Leave out nodes of degree 2 where the straight way is not dearer."""
    beside = _beside(web)
    passed = [v for v in range(n, len(web.nodes)) if len(beside[v]) == 2]
    if not passed:
        return web
    direct = soft.costs(web.nodes, np.array([beside[v] for v in passed]))
    legs = soft.costs(
        web.nodes, np.array([(v, other) for v in passed for other in beside[v]], dtype=np.int64)
    ).reshape(-1, 2)
    gone: set[tuple[int, int]] = set()
    more: list[list[int]] = []
    touched: set[int] = set()
    for v, straight, around in zip(passed, direct, legs.sum(axis=1), strict=True):
        a, b = beside[v]
        if straight <= around * (1.0 + 1e-14) and not touched & {v, a, b}:
            touched |= {v, a, b}
            gone |= {(min(v, a), max(v, a)), (min(v, b), max(v, b))}
            more.append([a, b])
    return _rewired(soft, web, n, gone, more, web.nodes) if gone else web


def _turned(soft: Soft, web: Web, n: int) -> Web:
    """Move nodes at corners a little along the walls that meet there, where that is cheaper."""
    beside = _beside(web)
    tree = soft.ground.soft
    nodes = web.nodes.copy()
    for v in range(n, len(nodes)):
        if tuple(nodes[v].tolist()) not in soft.corners:
            continue
        spot = complex(*nodes[v])
        ways = [
            other - spot
            for other in (*tree.head[np.abs(tree.tail - spot) <= MET].tolist(),
                          *tree.tail[np.abs(tree.head - spot) <= MET].tolist())
        ]  # fmt: skip
        trials = np.array([spot + share * way for way in ways for share in NUDGES] + [spot])
        edges = np.array([(k, len(trials) + j) for k in range(len(trials))
                          for j in range(len(beside[v]))])  # fmt: skip
        everything = np.concatenate((as_pairs(trials), nodes[beside[v]]))
        costs = soft.costs(everything, edges).reshape(len(trials), -1).sum(axis=1)
        cheapest = int(np.argmin(costs))
        if costs[cheapest] < costs[-1] * (1.0 - 1e-13):
            nodes[v] = everything[cheapest]
    return Web(nodes, web.edges, float(soft.costs(nodes, web.edges).sum()))


def _branched(soft: Soft, web: Web, n: int) -> Web:
    """Put Steiner points between pairs of edges that pull their node strongly enough."""
    from ...plane.soft_kernels import weight_at

    beside = _beside(web)
    places = as_complex(web.nodes)
    nodes = [tuple(one) for one in web.nodes.tolist()]
    gone: set[tuple[int, int]] = set()
    more: list[list[int]] = []
    touched: set[int] = set()
    for v, others in enumerate(beside):
        degree = len(others)
        if degree < 2 or (v >= n and degree == 3 and tuple(web.nodes[v]) not in soft.corners
                          and len(soft.faces) == 0) or touched & {v, *others}:  # fmt: skip
            continue
        spot = places[v]
        ways = np.array([places[other] - spot for other in others])
        lengths = np.abs(ways)
        if lengths.min() <= MET:
            continue
        near = spot + 1e-6 * ways / lengths
        pulls = np.array([weight_at(soft.ground, one) for one in near]) * ways / lengths
        best, chosen = WORTH, None
        for i in range(degree):
            for j in range(i):
                pull = pulls[i] + pulls[j]
                if abs(pull) <= 1.0 + WORTH:
                    continue
                direction = pull / abs(pull)
                gain = abs(pull) - weight_at(soft.ground, spot + 1e-6 * direction)
                if gain > best and (degree > 2 or v < n or tuple(web.nodes[v]) in soft.corners):
                    best, chosen = gain, (i, j, direction)
        if chosen is None:
            continue
        i, j, direction = chosen
        step = spot + 0.2 * min(lengths[i], lengths[j]) * direction
        a, b, new = others[i], others[j], len(nodes)
        nodes.append((float(step.real), float(step.imag)))
        touched |= {v, a, b}
        gone |= {(min(v, a), max(v, a)), (min(v, b), max(v, b))}
        more += [[a, new], [b, new], [v, new]]
    if not gone:
        return web
    found = _rewired(soft, web, n, gone, more, np.array(nodes))
    again = _moved(soft, found, n)
    return again if again.cost < web.cost else web
