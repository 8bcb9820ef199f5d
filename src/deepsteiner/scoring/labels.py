"""What `neural` learns from: instances of many kinds with proven shortest trees.

A label file (.npz) holds the points of all instances one after another (`points`, `sizes`), and
their trees: `steiner` with `steiner_sizes`, and `edges` (n + s - 1 for each, numbered from 0 in
every instance), as the exact solver proved them. `source` says how the instances were drawn.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .. import datasets
from ..core.errors import FormatError
from ..core.points import FloatArray, IntArray
from ..core.solution import Solution
from ..io.arrays import Archive, as_text
from ..io.atomic import atomic_write
from ..io.sources import read_source

# Kind, points, share of the instances; "tight" are clusters of random tightness.
MIXTURE = (
    ("uniform", 10, 0.10),
    ("uniform", 20, 0.15),
    ("uniform", 50, 0.15),
    ("uniform", 100, 0.20),
    ("normal", 50, 0.06),
    ("clustered", 50, 0.06),
    ("clustered", 100, 0.04),
    ("tight", 50, 0.10),
    ("separated", 50, 0.06),
    ("grid", 30, 0.08),
)
TIGHTEST, LOOSEST = 0.002, 0.1


@dataclass(frozen=True)
class Label:
    """One instance and its shortest tree."""

    points: FloatArray
    steiner: FloatArray
    edges: IntArray


def mixture(count: int, seed: int, split: datasets.Split = "train") -> Iterator[FloatArray]:
    """Yield about `count` instances of all kinds; train, validation and test are disjoint."""
    for _, points in _with_kinds(count, seed, split):
        yield points


def _with_kinds(count: int, seed: int, split: datasets.Split) -> Iterator[tuple[str, FloatArray]]:
    for kind, n, share in MIXTURE:
        few = max(1, round(count * share))
        if kind == "tight":
            instances: Iterable[FloatArray] = _tight(n, few, seed, split)
        else:
            instances = datasets.load(kind, n=n, count=few, split=split, seed=seed)
        for points in instances:
            yield kind, points


def _tight(n: int, count: int, seed: int, split: datasets.Split) -> Iterator[FloatArray]:
    """Yield clusters whose spread is anything from a 500th to a tenth of the extent."""
    for number in range(count):
        stream = (seed, datasets.SPLITS.index(split), number)
        rng = np.random.default_rng([*stream, 0x7167])
        centres = rng.random((rng.integers(2, 12), 2))
        spread = np.exp(rng.uniform(np.log(TIGHTEST), np.log(LOOSEST)))
        around = centres[rng.integers(0, len(centres), n)]
        yield around + spread * rng.standard_normal((n, 2))


def proven(solutions: Iterable[Solution]) -> list[Label]:
    """Return the solutions that were proven to be shortest trees.

    >>> import deepsteiner as ds
    >>> [len(label.points) for label in proven([ds.solve([[0, 0], [1, 0], [0, 1]], "exact")])]
    [3]
    """
    return [
        Label(solution.terminals, solution.steiner_points, solution.edges)
        for solution in solutions
        if solution.status == "optimal"
    ]


def save_labels(
    path: str | os.PathLike[str], labels: Sequence[Label], source: str = "unknown"
) -> None:
    """Write a label file.

    Parameters
    ----------
    path : path
        Where to write, ending in .npz.
    labels : sequence of Label
        Instances with their shortest trees.
    source : str
        How the instances were drawn: kind, count, seed and split.
    """
    with atomic_write(path, "wb") as stream:
        np.savez_compressed(
            stream,
            points=np.concatenate([label.points for label in labels]),
            sizes=np.array([len(label.points) for label in labels]),
            steiner=np.concatenate([label.steiner for label in labels]),
            steiner_sizes=np.array([len(label.steiner) for label in labels]),
            edges=np.concatenate([label.edges for label in labels]).astype(np.int32),
            source=np.array(source),
        )


def source_of(path: str | os.PathLike[str]) -> str:
    """Return how the instances of a label file were drawn: kind, count, seed and split."""
    found = Archive(read_source(path)).read("source")
    return as_text(found["source"], os.fspath(path)) if "source" in found else "unknown"


def kinds_of(path: str | os.PathLike[str], labels: Sequence[Label]) -> list[str]:
    """Return the kind of every label of a file: its instances are drawn again and recognised."""
    match source_of(path).split():
        case ["mixture", count, seed, split] if count.isdecimal() and seed.isdecimal():
            drawn = _with_kinds(int(count), int(seed), datasets.check_split(split))
            kinds = {points.tobytes(): kind for kind, points in drawn}
            return [kinds.get(label.points.tobytes(), "unknown") for label in labels]
    raise FormatError(f"{os.fspath(path)} does not say how its instances were drawn")


def load_labels(path: str | os.PathLike[str]) -> list[Label]:
    """Read a label file.

    Raises
    ------
    FormatError
        If it lacks an array, or its arrays do not fit its sizes.
    """
    names = ("points", "sizes", "steiner", "steiner_sizes", "edges")
    found = Archive(read_source(path)).read(*names)
    missing = [name for name in names if name not in found]
    if missing:
        raise FormatError(f"{os.fspath(path)} is no label file: it has no array {missing[0]!r}")
    points, sizes, steiner, more, edges = (np.array(found[name]) for name in names)
    parts = ((points, sizes), (steiner, more), (edges.astype(np.int64), sizes + more - 1))
    if any(np.sum(each) != len(array) for array, each in parts):
        raise FormatError(f"{os.fspath(path)} is damaged: its arrays do not fit its sizes")
    rows = (np.split(array, np.cumsum(each)[:-1]) for array, each in parts)
    return [Label(*row) for row in zip(*rows, strict=True)]
