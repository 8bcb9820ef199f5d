"""The list of full Steiner trees that generation hands to pruning and concatenation."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepsteiner.core.errors import FormatError

FORMAT = 1
_FIELDS = {
    "points": (np.float64, 2),
    "start": (np.int64, 1),
    "terminals": (np.int32, 1),
    "length": (np.float64, 1),
    "steiner": (np.float64, 2),
    "edges": (np.int32, 2),
}


@dataclass(frozen=True)
class FullTrees:
    """Full Steiner trees over common terminals, in compressed rows.

    Tree f has the terminals ``terminals[start[f]:start[f + 1]]``, say k of them. Its k - 2 Steiner
    points are the rows of ``steiner`` from ``start[f] - 2 * f``, its 2 k - 3 edges the rows of
    ``edges`` from ``2 * start[f] - 3 * f``; edges count the terminals of the tree as 0..k-1 and
    its Steiner points from k on. The first n - 1 trees are the edges of a minimum spanning tree;
    larger ones follow by size. When ``complete``, some shortest Steiner tree of the points is a
    union of trees of the list.
    """

    points: NDArray[np.float64]
    start: NDArray[np.int64]
    terminals: NDArray[np.int32]
    length: NDArray[np.float64]
    steiner: NDArray[np.float64]
    edges: NDArray[np.int32]
    complete: bool
    stats: dict[str, float | int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.length)

    def size(self, tree: int) -> int:
        """Return the number of terminals of one tree."""
        return int(self.start[tree + 1] - self.start[tree])

    def tree(self, tree: int) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
        """Return terminals, Steiner points and edges (in local numbers) of one tree."""
        low, high = int(self.start[tree]), int(self.start[tree + 1])
        steiner = self.steiner[low - 2 * tree : high - 2 * (tree + 1)]
        edges = self.edges[2 * low - 3 * tree : 2 * high - 3 * (tree + 1)]
        return self.terminals[low:high], steiner, edges

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one ``.npz`` file; a reader never sees half of it."""
        target = Path(path)
        arrays = {name: getattr(self, name) for name in _FIELDS}
        notes = json.dumps({"format": FORMAT, "complete": self.complete, "stats": self.stats})
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez_compressed(file, notes=np.array(notes), **arrays)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FullTrees:
        """Read a file written by `save`, checking that every number fits the others."""
        try:
            with np.load(path, allow_pickle=False) as file:
                missing = [name for name in (*_FIELDS, "notes") if name not in file.files]
                if missing:
                    raise FormatError(f"{path}: the array {missing[0]!r} is missing.")
                arrays = {name: file[name] for name in _FIELDS}
                notes = json.loads(str(file["notes"]))
        except FormatError:
            raise
        except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            if isinstance(error, FileNotFoundError):
                raise FormatError(f"{path}: no such file.") from None
            raise FormatError(f"{path}: not an .npz file of full Steiner trees.") from error
        if not isinstance(notes, dict) or notes.get("format") != FORMAT:
            raise FormatError(f"{path}: unknown format version; {FORMAT} is accepted.")
        problem = _problem(arrays)
        if problem:
            raise FormatError(f"{path}: {problem}.")
        return cls(
            **arrays, complete=bool(notes.get("complete")), stats=dict(notes.get("stats", {}))
        )


def _problem(arrays: dict[str, NDArray[np.generic]]) -> str | None:
    """Say what is wrong with loaded arrays, or None."""
    for name, (dtype, dimensions) in _FIELDS.items():
        array = arrays[name]
        if array.dtype != dtype or array.ndim != dimensions:
            kind = np.dtype(dtype).name
            return f"{name!r} has to be a {dimensions}-dimensional array of {kind}"
        if dimensions == 2 and array.shape[1] != 2:
            return f"{name!r} has to have two columns"
        if dtype is np.float64 and not np.isfinite(array.astype(np.float64)).all():
            return f"{name!r} contains a number that is not finite"
    start, terminals = arrays["start"].astype(np.int64), arrays["terminals"].astype(np.int64)
    count = len(arrays["length"])
    if len(start) != count + 1 or start[0] != 0 or start[-1] != len(terminals):
        return "'start' does not fit 'length' and 'terminals'"
    sizes = np.diff(start)
    if (sizes < 2).any():
        return "every tree needs at least two terminals"
    if len(arrays["steiner"]) != (sizes - 2).sum():
        return "'steiner' has to have k - 2 rows for every tree of k terminals"
    if len(arrays["edges"]) != (2 * sizes - 3).sum():
        return "'edges' has to have 2 k - 3 rows for every tree of k terminals"
    if len(terminals) and (terminals.min() < 0 or terminals.max() >= len(arrays["points"])):
        return "'terminals' names a point that does not exist"
    edges = arrays["edges"].astype(np.int64)
    top = np.repeat(2 * sizes - 2, 2 * sizes - 3)
    if len(edges) and (edges.min() < 0 or (edges.max(axis=1) >= top).any()):
        return "'edges' names a vertex that its tree does not have"
    return None
