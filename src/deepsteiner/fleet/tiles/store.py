"""A tree as a folder of parts: written tile by tile, checked in streams, never one object.

The folder holds `tree.json` and, for each part k, `steiner-k.npy`, (s, 2) coordinates, and
`edges-k.npy`, (m, 2) node numbers. Nodes 0..n-1 are the rows of the points file, in its order; the
Steiner points of part k have the numbers n, n+1, ... *within that part*. Edges from tile to tile
that no seam took in are in the last part, which has no Steiner points.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import FormatError, TreeError
from ...core.points import FloatArray, IntArray
from ...core.scalars import as_real, as_whole
from ...io.atomic import atomic_write
from .tasks import edge_lengths

MANIFEST = "tree.json"
FORMAT, VERSION = "deepsteiner-parts", 1
# Relative disagreement allowed between the stated length and the sum over all parts.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class PartedTree:
    """What a folder of parts says about its tree.

    `saving` is how much shorter the tree is than the minimum spanning tree, as a share of that.
    """

    folder: str
    points: int
    steiner: int
    parts: int
    length: float
    spanning_length: float
    method: str

    @property
    def saving(self) -> float:
        """How much shorter than the spanning tree it is, as a share of that."""
        return 1.0 - self.length / self.spanning_length if self.spanning_length else 0.0

    def save(self) -> None:
        """Write the manifest, after all parts."""
        data = {"format": FORMAT, "version": VERSION, **asdict(self)}
        del data["folder"]
        with atomic_write(Path(self.folder) / MANIFEST, "w") as stream:
            stream.write(json.dumps(data, indent=1) + "\n")

    def iter_parts(self) -> Iterator[tuple[FloatArray, IntArray]]:
        """Yield the Steiner points and edges of each part, mapped from their files."""
        for number in range(self.parts):
            yield load_part(self.folder, number)


def is_parted(path: str) -> bool:
    """Return whether a path is a folder of parts."""
    return (Path(path) / MANIFEST).is_file()


def save_part(folder: str | Path, number: int, steiner: FloatArray, edges: IntArray) -> None:
    """Write a part."""
    for name, array in (("steiner", steiner), ("edges", edges)):
        np.save(Path(folder) / f"{name}-{number:06d}.npy", array)


def load_part(folder: str | Path, number: int) -> tuple[FloatArray, IntArray]:
    """Return the arrays of a part, or say what is wrong with its files."""
    found = []
    for name, kind in (("steiner", "f"), ("edges", "iu")):
        path = Path(folder) / f"{name}-{number:06d}.npy"
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise FormatError(f"{path} cannot be read: {error}") from None
        if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in kind:
            raise FormatError(f"{path}: expected pairs of numbers, got {array.shape}")
        found.append(array)
    return found[0], found[1]


def load_parted(folder: str) -> PartedTree:
    """Return what the manifest of a folder says."""
    path = Path(folder) / MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FormatError(f"{path}: expected a manifest of format {FORMAT!r}")
    counts = {name: as_whole(data.get(name)) for name in ("points", "steiner", "parts")}
    lengths = {name: as_real(data.get(name)) for name in ("length", "spanning_length")}
    for name, value in {**counts, **lengths}.items():
        if value is None or not 0 <= value < math.inf:
            raise FormatError(f"{path}: {name!r} must be a number from 0, got {data.get(name)!r}")
    values: dict[str, Any] = {**counts, **lengths}
    return PartedTree(folder=folder, method=str(data.get("method")), **values)


def check_parted(tree: PartedTree, points: FloatArray, tolerance: float = TOLERANCE) -> float:
    """Return the length of a tree of parts, or raise TreeError; one part is held at a time.

    Parameters
    ----------
    tree
        What its manifest says.
    points
        The points, mapped from a file if they are many.
    tolerance
        Relative error allowed in the stated length.
    """
    from ...core.tree_kernels import unite

    n = tree.points
    if len(points) != n:
        raise TreeError(f"the tree has {n} terminals, but {len(points)} points are given")
    parent = np.arange(n + tree.steiner)
    seen, joined, edge_count, total = 0, 0, 0, 0.0
    for number, (steiner, edges) in enumerate(tree.iter_parts()):
        if len(edges) and (edges.min() < 0 or edges.max() >= n + len(steiner)):
            raise TreeError(f"part {number}: an edge names a node that does not exist")
        if seen + len(steiner) > tree.steiner:
            raise TreeError(f"part {number}: more Steiner points than the {tree.steiner} stated")
        if not np.isfinite(steiner).all():
            raise TreeError(f"part {number}: a Steiner point is not finite")
        total += float(edge_lengths(points, steiner, np.asarray(edges)).sum())
        whole = np.where(edges >= n, edges + seen, edges).astype(np.int64)
        joined += unite(parent, np.ascontiguousarray(whole))
        edge_count += len(edges)
        seen += len(steiner)
    if seen != tree.steiner:
        raise TreeError(f"{tree.steiner} Steiner points are stated, but the parts have {seen}")
    if edge_count != n + seen - 1 or joined != edge_count:
        raise TreeError(
            f"{edge_count} edges over {n + seen} nodes make {n + seen - joined} components"
            f"{'' if joined == edge_count else ' and a cycle'}; a tree is one, without cycles"
        )
    if not math.isclose(total, tree.length, rel_tol=tolerance, abs_tol=0.0):
        raise TreeError(f"the length is stated as {tree.length!r}, but the edges sum to {total!r}")
    return total
