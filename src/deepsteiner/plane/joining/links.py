"""Shortest ways around obstacles between nodes that have many places: terminals, parts of networks.

A shortest way to a part ends straight: where it is seen from the last bend at the nearest place of
a segment, a foot or an end. So feet of terminals, corners and ends are *contacts*, and the cells of
all terminals and contacts (`cell_kernels`) say which of them are linked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...core.points import FloatArray, IntArray
from ..networks import Joinable
from ..plane import Plane, as_pairs

if TYPE_CHECKING:
    from ..cell_kernels import Cells
    from ..mesh_kernels import Mesh

NEAR = 8
"""Segments on which the feet of a place are looked at."""
PAIRS = 3_000_000
"""Places and segments of which all distances are computed; beyond, segments are sampled."""
SAMPLES = 6
"""Samples for each segment, on average."""
SAME = 1e-9
"""Contacts of a part closer than this, in units of the frame, are one."""


@dataclass(frozen=True)
class Links:
    """Shortest ways between nodes.

    Attributes
    ----------
    pairs
        The two nodes of each, smaller first, each pair once.
    lengths
        Their lengths.
    roots
        The vertices of the mesh between which each way crosses from one cell to the other.
    vertex
        The vertex of each place.
    mesh, cells
        The triangles, and which cell each vertex is in.
    """

    pairs: IntArray
    lengths: FloatArray
    roots: IntArray
    vertex: IntArray
    mesh: Mesh
    cells: Cells

    def ways(self, rows: IntArray) -> tuple[FloatArray, IntArray]:
        """Return all vertices, and the edges of some ways over them."""
        from ..cell_kernels import ways

        edges = ways(self.cells, np.ascontiguousarray(self.roots[rows]))
        edges = np.unique(np.sort(edges, axis=1), axis=0)
        return as_pairs(self.mesh.places), edges[edges[:, 0] != edges[:, 1]]


def foot_of(places: FloatArray, tails: FloatArray, heads: FloatArray) -> FloatArray:
    """Return the places of segments nearest to some places, one of each."""
    way = heads - tails
    share = ((places - tails) * way).sum(axis=-1) / (way * way).sum(axis=-1)
    share = np.clip(share, 0.0, 1.0)[..., None]
    return np.asarray(np.where(share == 1.0, heads, tails + share * way))


def contacts(plane: Plane, spots: FloatArray, where: Joinable) -> tuple[FloatArray, IntArray]:
    """Return places at which ways may end on parts of a network, and the part of each.

    `spots` are where ways may begin or bend, ends of segments apart: terminals and corners.
    """
    ends = np.concatenate((where.tails, where.heads, where.places))
    whose = np.concatenate((where.parts, where.parts, where.owners))
    roots = np.unique(np.concatenate((spots, ends)), axis=0)
    if len(where.tails):
        rows, segments = _near(roots, where)
        feet = foot_of(roots[rows], where.tails[segments], where.heads[segments])
        away = np.hypot(*(feet - roots[rows]).T)
        parts = where.parts[segments]
        count = len(roots)
        nodes = np.concatenate((roots, feet))
        edges = np.stack((rows, count + np.arange(len(feet))), axis=1)
        seen = np.flatnonzero(plane.clear(nodes, edges))
        order = seen[np.lexsort((away[seen], parts[seen], rows[seen]))]
        first = np.ones(len(order), np.bool_)
        first[1:] = (np.diff(rows[order]) != 0) | (np.diff(parts[order]) != 0)
        kept = order[first]
        ends = np.concatenate((ends, feet[kept]))
        whose = np.concatenate((whose, parts[kept]))
    ok = ~plane.inside(ends)
    ends, whose = ends[ok], whose[ok]
    keys = np.concatenate((whose[:, None], np.round(ends / SAME).astype(np.int64)), axis=1)
    first_rows = np.sort(np.unique(keys, axis=0, return_index=True)[1])
    return ends[first_rows], whose[first_rows]


def _near(roots: FloatArray, where: Joinable) -> tuple[IntArray, IntArray]:
    """Return pairs of a root and a segment that is among the nearest to it."""
    many = len(where.tails)
    if many <= NEAR:
        every = np.divmod(np.arange(len(roots) * many), many)
        return every[0], every[1]
    if len(roots) * many <= PAIRS:
        feet = foot_of(roots[:, None], where.tails[None], where.heads[None])
        away = np.hypot(*np.moveaxis(feet - roots[:, None], -1, 0))
        nearest = np.argpartition(away, NEAR - 1, axis=1)[:, :NEAR]
        return np.repeat(np.arange(len(roots)), NEAR), nearest.ravel()
    from scipy.spatial import cKDTree

    size = np.hypot(*(where.heads - where.tails).T)
    counts = 2 + np.floor(size * (SAMPLES * many / size.sum())).astype(np.int64)
    owner = np.repeat(np.arange(many), counts)
    step = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    share = (step / (counts[owner] - 1))[:, None]
    samples = where.tails[owner] + share * (where.heads - where.tails)[owner]
    _, found = cKDTree(samples).query(roots, k=4 * NEAR)
    pairs = np.stack((np.repeat(np.arange(len(roots)), 4 * NEAR), owner[found.ravel()]), axis=1)
    pairs = np.unique(pairs, axis=0)
    return pairs[:, 0], pairs[:, 1]


def links(plane: Plane, places: FloatArray, node: IntArray, stop: IntArray) -> Links:
    """Return the ways between nodes whose cells border on each other, the shortest of each pair.

    Parameters
    ----------
    plane
        The obstacles.
    places, node
        Places, and the node that each belongs to.
    stop
        Where stop[0] is set, what is missing goes along edges of the triangulation.
    """
    from .. import cell_kernels as kernels
    from ..triangulation import triangulated

    rings = [ring for ring, _ in plane.rings]
    mesh, number = triangulated(np.concatenate((places, plane.corners.places)), rings, plane.boxes)
    is_root = np.zeros(len(mesh.places), np.bool_)
    is_root[number] = True
    own = np.full(len(mesh.places), -1)
    own[number[: len(places)]] = node
    sources = np.flatnonzero(own >= 0)
    cells = kernels.cells(mesh, plane.boxes, sources, is_root, stop)
    order = np.argsort(cells.triangle, kind="stable")
    met, lengths = kernels.meetings(mesh, cells, order, stop)
    seen = plane.clear(as_pairs(mesh.places), met)
    # Edges of triangles are clear: with them nothing that hangs together stays apart.
    sides = np.unique(
        np.sort(np.concatenate([mesh.corners[:, [k, (k + 1) % 3]] for k in range(3)]), axis=1),
        axis=0,
    )
    sides = sides[(cells.terminal[sides] >= 0).all(axis=1)]
    gaps = np.abs(mesh.places[sides[:, 0]] - mesh.places[sides[:, 1]])
    along = cells.distance[sides].sum(axis=1) + gaps
    roots = np.concatenate((met[seen], sides))
    lengths = np.concatenate((lengths[seen], along))
    nodes = np.sort(own[cells.terminal[roots]], axis=1)
    apart = nodes[:, 0] != nodes[:, 1]
    roots, lengths, nodes = roots[apart], lengths[apart], nodes[apart]
    best = np.argsort(lengths, kind="stable")
    _, first = np.unique(nodes[best], axis=0, return_index=True)
    kept = best[first]
    return Links(nodes[kept], lengths[kept], roots[kept], number[: len(places)], mesh, cells)
