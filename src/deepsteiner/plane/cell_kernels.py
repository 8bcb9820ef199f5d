"""Cells of terminals under shortest ways, and the spanning tree that they give.

The cell of a terminal has all places of the free plane that are nearest to it. A shortest way bends
at convex corners only, so every place x of a cell is seen from a *root* u, the terminal itself or a
corner, with dist(u) + |ux| = dist(x). From each root, in the order of distances (Dijkstra), what it
sees is followed through the triangles as far as it may belong to its cell: an interval of an edge
ab is given up when dist(u) + |ux| exceeds dist(a) + |ax| or dist(b) + |bx| at all x of it. On a
shortest way to a corner this never happens, so the distances of corners are exact.

*The spanning tree.* On the way of an edge of a minimum spanning tree under shortest ways, every
place is nearest to one of its two ends (else the way could be replaced by two shorter ones). Let uv
be the straight piece with its middle m, u and v bends or ends: the roots u and v both reach the
triangle that has m, and there the pair is found (K. Mehlhorn, "A faster approximation algorithm for
the Steiner problem in graphs", Information Processing Letters 27 (1988) 125-128, has the same
argument for graphs). Kruskal's algorithm over these pairs makes a minimum spanning tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.jit import njit
from ..core.tree_kernels import find
from .box_tree_kernels import BoxTree, is_clear
from .mesh_kernels import Mesh
from .sight_kernels import Flags, Floats, Ints

SLACK = 1e-11
"""How far beyond a limit still counts as within it, in units of the frame."""


class Cells(NamedTuple):
    """What is known of the cells.

    distance: of each vertex to its nearest terminal; infinite where none is reached.
    before: the vertex before it on the way there; -1 at terminals.
    terminal: the vertex of that terminal.
    triangle, root: which roots may have a part of their cell in which triangles.
    """

    distance: Floats
    before: Ints
    terminal: Ints
    triangle: NDArray[np.int32]
    root: NDArray[np.int32]


@njit(cache=True, error_model="numpy")
def push(keys: Floats, items: Ints, size: int, key: float, item: int) -> int:
    """Put an item on a heap; return the new size."""
    k = size
    while k > 0 and keys[(k - 1) // 2] > key:
        keys[k], items[k] = keys[(k - 1) // 2], items[(k - 1) // 2]
        k = (k - 1) // 2
    keys[k], items[k] = key, item
    return size + 1


@njit(cache=True, error_model="numpy")
def pop(keys: Floats, items: Ints, size: int) -> int:
    """Take the first item off a heap, which is then at [size - 1]; return the new size."""
    key, item = keys[0], items[0]
    size -= 1
    last, moved = keys[size], items[size]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= last:
            break
        keys[k], items[k] = keys[child], items[child]
        k = child
    keys[k], items[k] = last, moved
    keys[size], items[size] = key, item
    return size


@njit(cache=True, error_model="numpy")
def along_edges(mesh: Mesh, terminals: Ints) -> tuple[Floats, Ints, Ints]:
    """Distances to the nearest terminal along edges of triangles: bounds for the true ones."""
    count = len(mesh.places)
    distance, before = np.full(count, np.inf), np.full(count, -1)
    terminal = np.full(count, -1)
    capacity = 6 * len(mesh.corners) + count + 16
    keys, items = np.empty(capacity), np.empty(capacity, np.int64)
    size = 0
    for t in terminals:
        distance[t], terminal[t] = 0.0, t
        size = push(keys, items, size, 0.0, t)
    while size > 0:
        size = pop(keys, items, size)
        v = items[size]
        if keys[size] > distance[v]:
            continue
        for k in range(mesh.start[v], mesh.start[v + 1]):
            for j in range(3):
                w = mesh.corners[mesh.around[k], j]
                reached = distance[v] + abs(mesh.places[v] - mesh.places[w])
                if w != v and reached < distance[w]:
                    distance[w], before[w], terminal[w] = reached, v, terminal[v]
                    size = push(keys, items, size, reached, w)
    return distance, before, terminal


@njit(cache=True, error_model="numpy")
def turn(u: complex, a: complex, b: complex) -> float:
    """Twice the area of the triangle u, a, b; positive where b is to the left of a from u."""
    one, two = a - u, b - u
    return one.real * two.imag - one.imag * two.real


@njit(cache=True, error_model="numpy")
def met(u: complex, through: complex, a: complex, b: complex) -> complex:
    """Where the ray from u through a place meets the segment ab; its nearer end where it misses."""
    way, along, off = through - u, b - a, a - u
    below = way.real * along.imag - way.imag * along.real
    if below == 0.0:
        return a
    share = -(way.real * off.imag - way.imag * off.real) / below
    return a + min(max(share, 0.0), 1.0) * along


@njit(cache=True, error_model="numpy")
def nearest_on(u: complex, p: complex, q: complex) -> float:
    """Distance of u to the segment pq."""
    way, off = q - p, u - p
    square = way.real * way.real + way.imag * way.imag
    share = 0.0
    if square > 0.0:
        share = min(max((off.real * way.real + off.imag * way.imag) / square, 0.0), 1.0)
    return abs(off - share * way)


@njit(cache=True, error_model="numpy", nogil=True)
def cells(mesh: Mesh, boxes: BoxTree, terminals: Ints, is_root: Flags, stop: Ints) -> Cells:
    """Find the cells of some vertices; `is_root` tells where shortest ways can begin or bend."""
    places = mesh.places
    distance, before, terminal = along_edges(mesh, terminals)
    count = len(places)
    keys, items = np.empty(4 * count + 64), np.empty(4 * count + 64, np.int64)
    size = 0
    for v in range(count):
        if distance[v] < np.inf:
            size = push(keys, items, size, distance[v], v)
    done = np.zeros(count, np.bool_)
    in_triangle, by_root = np.empty(8 * count + 64, np.int32), np.empty(8 * count + 64, np.int32)
    records = 0
    # What waits: a triangle, the edge by which it is entered, and the directions in sight.
    capacity = 256
    triangle, entry = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    right, left = np.empty(capacity, np.complex128), np.empty(capacity, np.complex128)
    while size > 0 and stop[0] == 0:
        size = pop(keys, items, size)
        v = items[size]
        if done[v] or keys[size] > distance[v]:
            continue
        done[v] = True
        if not is_root[v]:
            continue
        u, base = places[v], distance[v]
        waiting = 0
        for k in range(mesh.start[v], mesh.start[v + 1]):
            t = mesh.around[k]
            if records == len(in_triangle):
                in_triangle = np.concatenate((in_triangle, np.empty_like(in_triangle)))
                by_root = np.concatenate((by_root, np.empty_like(by_root)))
            in_triangle[records], by_root[records] = t, v
            records += 1
            corner = 0
            while mesh.corners[t, corner] != v:
                corner += 1
            edge = (corner + 1) % 3
            a, b = mesh.corners[t, edge], mesh.corners[t, (edge + 1) % 3]
            for w in (a, b):  # edges of free triangles are clear
                reached = base + abs(places[w] - u)
                if reached < distance[w]:
                    distance[w], before[w], terminal[w] = reached, v, terminal[v]
                    if size == len(keys):
                        keys = np.concatenate((keys, np.empty_like(keys)))
                        items = np.concatenate((items, np.empty_like(items)))
                    size = push(keys, items, size, reached, w)
            other = mesh.across[t, edge]
            if other >= 0:
                if waiting + 3 >= capacity:
                    capacity *= 2
                    triangle = np.concatenate((triangle, np.empty_like(triangle)))
                    entry = np.concatenate((entry, np.empty_like(entry)))
                    right = np.concatenate((right, np.empty_like(right)))
                    left = np.concatenate((left, np.empty_like(left)))
                triangle[waiting], entry[waiting] = other, entered(mesh, other, t, b)
                right[waiting], left[waiting] = places[a], places[b]
                waiting += 1
        while waiting > 0:
            waiting -= 1
            t, edge, low, high = triangle[waiting], entry[waiting], right[waiting], left[waiting]
            # Seen from u, the edge runs from the left to the right in the triangle beyond.
            b, a = mesh.corners[t, edge], mesh.corners[t, (edge + 1) % 3]
            c = mesh.corners[t, (edge + 2) % 3]
            p, q = met(u, low, places[a], places[b]), met(u, high, places[a], places[b])
            limit = min(
                distance[a] + max(abs(p - places[a]), abs(q - places[a])),
                distance[b] + max(abs(p - places[b]), abs(q - places[b])),
            )
            if base + nearest_on(u, p, q) > limit + SLACK:
                continue
            if records == len(in_triangle):
                in_triangle = np.concatenate((in_triangle, np.empty_like(in_triangle)))
                by_root = np.concatenate((by_root, np.empty_like(by_root)))
            in_triangle[records], by_root[records] = t, v
            records += 1
            spot = places[c]
            reach = abs(spot - u)
            from_low, from_high = turn(u, low, spot), turn(u, spot, high)
            edge_low, edge_high = -SLACK * abs(low - u), -SLACK * abs(high - u)
            if from_low >= edge_low and from_high >= edge_high:
                reached = base + reach
                if reached < distance[c] and is_clear(boxes, u, spot):
                    distance[c], before[c], terminal[c] = reached, v, terminal[v]
                    if size == len(keys):
                        keys = np.concatenate((keys, np.empty_like(keys)))
                        items = np.concatenate((items, np.empty_like(items)))
                    size = push(keys, items, size, reached, c)
            if waiting + 3 >= capacity:
                capacity *= 2
                triangle = np.concatenate((triangle, np.empty_like(triangle)))
                entry = np.concatenate((entry, np.empty_like(entry)))
                right = np.concatenate((right, np.empty_like(right)))
                left = np.concatenate((left, np.empty_like(left)))
            # To the right of c: the edge from a to c; to the left: from c to b.
            beyond = mesh.across[t, (edge + 1) % 3]
            if beyond >= 0 and from_low > edge_low:
                triangle[waiting], entry[waiting] = beyond, entered(mesh, beyond, t, c)
                right[waiting], left[waiting] = low, spot if from_high > 0.0 else high
                waiting += 1
            beyond = mesh.across[t, (edge + 2) % 3]
            if beyond >= 0 and from_high > edge_high:
                triangle[waiting], entry[waiting] = beyond, entered(mesh, beyond, t, b)
                right[waiting], left[waiting] = spot if from_low > 0.0 else low, high
                waiting += 1
    return Cells(distance, before, terminal, in_triangle[:records], by_root[:records])


@njit(cache=True, error_model="numpy")
def entered(mesh: Mesh, t: int, came_from: int, first: int) -> int:
    """The edge of a triangle that begins at a vertex and lies towards another triangle."""
    for k in range(3):
        if mesh.across[t, k] == came_from and mesh.corners[t, k] == first:
            return k
    return 0


@njit(cache=True, error_model="numpy", nogil=True)
def meetings(mesh: Mesh, found: Cells, order: Ints, stop: Ints) -> tuple[Ints, Floats]:
    """Pairs of roots of different cells that may see each other across the border of their cells.

    Returns the roots and the lengths of the ways between their terminals. `order` sorts the records
    of the cells by triangle.
    """
    places, distance = mesh.places, found.distance
    pairs, lengths = np.empty((64, 2), np.int64), np.empty(64)
    count = 0
    begin, last = 0, len(order)
    while begin < last and stop[0] == 0:
        t = found.triangle[order[begin]]
        end = begin
        while end < last and found.triangle[order[end]] == t:
            end += 1
        for i in range(begin, end):
            u = found.root[order[i]]
            for j in range(begin, i):
                v = found.root[order[j]]
                if found.terminal[u] == found.terminal[v]:
                    continue
                gap = abs(places[u] - places[v])
                length = distance[u] + gap + distance[v]
                share = 0.5 * length - distance[u]
                if share < -SLACK or share > gap + SLACK:
                    continue
                m = places[u]
                if gap > 0.0:
                    m += min(max(share / gap, 0.0), 1.0) * (places[v] - places[u])
                useful = True
                for k in range(3):
                    a, b = mesh.corners[t, k], mesh.corners[t, (k + 1) % 3]
                    side = abs(places[b] - places[a])
                    if (
                        turn(places[a], places[b], m) < -SLACK * side
                        or 0.5 * length > distance[a] + abs(m - places[a]) + SLACK
                    ):
                        useful = False
                        break
                if not useful:
                    continue
                if count == len(pairs):
                    pairs = np.concatenate((pairs, np.empty_like(pairs)))
                    lengths = np.concatenate((lengths, np.empty_like(lengths)))
                pairs[count, 0], pairs[count, 1], lengths[count] = u, v, length
                count += 1
        begin = end
    return pairs[:count].copy(), lengths[:count].copy()


@njit(cache=True, error_model="numpy", nogil=True)
def spanning_pairs(
    mesh: Mesh, boxes: BoxTree, found: Cells, pairs: Ints, order: Ints, stop: Ints
) -> tuple[Ints, Ints]:
    """Kruskal's algorithm: the pairs, taken in an order, that see each other and join two parts.

    Returns their positions, and what is joined in the end as a union-find structure.
    """
    parent = np.arange(len(mesh.places))
    kept = np.empty(len(pairs), np.int64)
    count = 0
    for k in order:
        if stop[0] != 0:
            break
        u, v = pairs[k]
        a, b = find(parent, found.terminal[u]), find(parent, found.terminal[v])
        if a != b and is_clear(boxes, mesh.places[u], mesh.places[v]):
            parent[a] = b
            kept[count] = k
            count += 1
    return kept[:count].copy(), parent


@njit(cache=True, error_model="numpy", nogil=True)
def ways(found: Cells, pairs: Ints) -> Ints:
    """The edges of the ways between the terminals of pairs of roots, each once for each way."""
    count = 0
    for k in range(len(pairs)):
        count += 1
        for v in pairs[k]:
            while found.before[v] >= 0:
                v = found.before[v]
                count += 1
    edges = np.empty((count, 2), np.int64)
    count = 0
    for k in range(len(pairs)):
        edges[count, 0], edges[count, 1] = pairs[k]
        count += 1
        for v in pairs[k]:
            while found.before[v] >= 0:
                edges[count, 0], edges[count, 1] = v, found.before[v]
                v = found.before[v]
                count += 1
    return edges


@njit(cache=True, error_model="numpy", nogil=True)
def bordering_pairs(mesh: Mesh, found: Cells, parent: Ints) -> Ints:
    """Edges of triangles whose ends are in cells that nothing joins yet; `parent` is changed."""
    pairs = np.empty((len(mesh.places), 2), np.int64)
    count = 0
    for t in range(len(mesh.corners)):
        for k in range(3):
            u, v = mesh.corners[t, k], mesh.corners[t, (k + 1) % 3]
            if found.terminal[u] < 0 or found.terminal[v] < 0:
                continue
            a, b = find(parent, found.terminal[u]), find(parent, found.terminal[v])
            if a != b:
                parent[a] = b
                pairs[count, 0], pairs[count, 1] = u, v
                count += 1
    return pairs[:count].copy()
