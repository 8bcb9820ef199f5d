"""Trees saved without their terminals: a hash says which points they belong to.

The hash is the SHA-256 of the distinct terminals, sorted by x and then by y, written as x, y, x, y,
... in float64, least byte first; -0.0 counts as 0.0. The nodes of such a tree are numbered in that
order, Steiner points after the terminals. So the order of the points, and points that are given
twice, make no difference: whoever has the points in any file can put the tree back on them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import FormatError, TreeError
from ..core.points import FloatArray, IntArray, as_points
from ..core.scalars import as_whole
from .sources import shown

_SHA256 = re.compile("[0-9a-f]{64}")


class Places(NamedTuple):
    """The distinct points of an instance.

    `distinct` are their coordinates, sorted by x and then by y; `first` says where each of them
    comes first among the points, and `number` which of them each point is.
    """

    distinct: FloatArray
    first: IntArray
    number: IntArray

    @property
    def stamp(self) -> dict[str, Any]:
        """What stands in a file in place of the terminals: their number and their hash."""
        content = self.distinct.astype("<f8").tobytes()
        return {"count": len(self.distinct), "sha256": hashlib.sha256(content).hexdigest()}


def places_of(points: Any) -> Places:
    """Return the distinct points, in the order that does not depend on that of the points.

    >>> places_of([[1, 0], [0, 2], [1, 0], [0, 1]]).number.tolist()
    [2, 1, 2, 0]
    """
    plain = as_points(points) + 0.0  # which turns -0.0 into 0.0
    distinct, first, number = np.unique(plain, axis=0, return_index=True, return_inverse=True)
    return Places(distinct, first, number.reshape(-1))


def stamp_of(value: Any, name: str) -> dict[str, Any] | None:
    """Return what a file has in place of terminals; None where the value is something else."""
    if not isinstance(value, Mapping):
        return None
    count, sha256 = as_whole(value.get("count")), value.get("sha256")
    whole = set(value) == {"count", "sha256"} and count is not None and 0 < count < 2**63
    if not whole or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise FormatError(
            f"{name}: 'terminals' must be a list of points, or their 'count' and 'sha256' (64 "
            f"digits from 0 to f), got {shown(value)}"
        )
    return {"count": count, "sha256": sha256}


def check_stamp(stated: Mapping[str, Any], places: Places) -> None:
    """Refuse points that are not those of the tree."""
    found = places.stamp
    if stated != found:
        raise TreeError(
            f"the points are not the terminals of this tree: it has {stated['count']:,} distinct "
            f"ones with the SHA-256 {_short(stated['sha256'])}, given are {found['count']:,} with "
            f"{_short(found['sha256'])}"
        )


def points_needed(stated: Mapping[str, Any], name: str) -> FormatError:
    """Return the error about a tree without terminals where no points are given."""
    return FormatError(
        f"{name} has only the hash of its {stated['count']:,} terminals; give the points "
        "themselves to 'deepsteiner verify' as --points FILE, or to Solution.load as points="
    )


def detached_edges(edges: IntArray, places: Places) -> IntArray:
    """Return the edges over the distinct terminals, sorted, without those between equal ones."""
    count, distinct = len(places.number), len(places.distinct)
    moved = np.where(
        edges < count, places.number[np.minimum(edges, count - 1)], edges - count + distinct
    )
    moved = np.sort(moved[moved[:, 0] != moved[:, 1]], axis=1)
    # What is left connects all nodes; it has no cycle if it has one edge less than nodes.
    if len(edges) - len(moved) != count - distinct:
        raise TreeError(
            "equal terminals are joined through other nodes, so the tree cannot be saved without "
            "its terminals"
        )
    return np.asarray(moved[np.lexsort((moved[:, 1], moved[:, 0]))])


def attached_edges(edges: IntArray, places: Places) -> IntArray:
    """Return the edges over the points as they were given; equal points are joined.

    Numbers that name no node still name none afterwards.
    """
    count, distinct = len(places.number), len(places.distinct)
    known = (edges >= 0) & (edges < distinct)
    moved = np.where(known, places.first[np.where(known, edges, 0)], edges)
    moved = np.where(edges >= distinct, edges - distinct + count, moved)
    leader = places.first[places.number]
    repeated = np.flatnonzero(leader != np.arange(count))
    return np.concatenate((moved, np.stack((leader[repeated], repeated), axis=1)))


def _short(sha256: str) -> str:
    return f"{sha256[:12]}..."
