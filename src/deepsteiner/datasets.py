"""Instances to solve: the paper's datasets, other random kinds, and files.

Instance i of a (kind, n, seed, split) is always the same, whatever else is asked for: instances
are drawn in blocks, each from its own random stream, and streams of different kinds, sizes,
seeds, splits and blocks are independent.

    D1           10 points, uniform in the unit square
    D2           20 points, uniform in the unit square
    D3           10 points, both coordinates normal with mean 0.5 and standard deviation 0.2
    DEG          a file of yours (path=)
    uniform      uniform in the unit square
    normal       as D3
    clustered    about sqrt(n) / 2 centres uniform in [0.1, 0.9] squared; each point is normal
                 around one of them, chosen at random, with standard deviation 0.05
    grid         distinct points of an integer grid with ceil(2 sqrt(n)) points per side
    separated    uniform, with every distance at least 0.5 / sqrt(n)
    lattice      the first n points of a square lattice, row by row; every instance is the same

`generate_map` makes points with obstacles around them.

>>> import deepsteiner as ds
>>> ds.datasets.load("D1", count=3).points.shape
(3, 10, 2)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Literal, get_args, overload

import numpy as np

from .core.errors import FormatError, OptionError
from .core.points import FloatArray
from .core.scalars import as_whole
from .io.arrays import Archive, split_instances
from .io.points_files import instances_of, sniff_format
from .io.sources import read_source
from .maps import Map as Map
from .maps import generate_map as generate_map

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
# The paper's sets: their kind, and how many points each instance has.
PAPER = {"D1": ("uniform", 10), "D2": ("uniform", 20), "D3": ("normal", 10)}
LARGEST_SIZE = 100_000_000

# One block is one random stream: 1,024 instances, or fewer where they are large.
BLOCK_INSTANCES = 1024
BLOCK_POINTS = 1 << 17

MEAN, DEVIATION = 0.5, 0.2
CLUSTER_MARGIN, CLUSTER_DEVIATION = 0.1, 0.05
SEPARATION = 0.5


class Dataset:
    """A sequence of instances, as `load` and `generate` return it.

    Generated points are made when they are asked for: one instance by its index, some by a slice,
    all as `points`, or piece by piece with `iter_chunks`.

    Attributes
    ----------
    name : str
        What the set is called.
    optimal_length : ndarray of shape (count,) or None
        The optimal lengths, where a file had them.

    Examples
    --------
    >>> data = generate("uniform", 5, count=3)
    >>> len(data), data.n, data[0].shape, data[1:].shape
    (3, 5, (5, 2), (2, 5, 2))
    """

    def __init__(
        self,
        source: _Generated | _Stored,
        name: str,
        optimal_length: FloatArray | None = None,
    ) -> None:
        self._source = source
        self.name = name
        self.optimal_length = optimal_length

    @property
    def n(self) -> int | None:
        """The number of points of every instance, or None where sizes differ.

        Examples
        --------
        >>> generate("uniform", 5, count=2).n
        5
        """
        return self._source.n

    @cached_property
    def points(self) -> FloatArray | list[FloatArray]:
        """All instances: a (count, n, 2) array, or a list where sizes differ.

        Examples
        --------
        >>> generate("uniform", 5, count=2).points.shape
        (2, 5, 2)
        """
        return self._source.take(0, len(self))

    def iter_chunks(self, size: int) -> Iterator[FloatArray | list[FloatArray]]:
        """Yield the instances in order, some at a time, without holding them all.

        Parameters
        ----------
        size : int
            How many instances a piece has; the last one may have fewer.

        Yields
        ------
        ndarray of shape (size, n, 2), or a list where sizes differ
            The next instances.

        Examples
        --------
        >>> [len(piece) for piece in generate("uniform", 5, count=7).iter_chunks(3)]
        [3, 3, 1]
        """
        size = _check_whole("size", size, 1)
        for start in range(0, len(self), size):
            yield self._source.take(start, min(start + size, len(self)))

    def __len__(self) -> int:
        return self._source.count

    @overload
    def __getitem__(self, index: int) -> FloatArray: ...
    @overload
    def __getitem__(self, index: slice) -> FloatArray | list[FloatArray]: ...
    def __getitem__(self, index: int | slice) -> FloatArray | list[FloatArray]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise OptionError(f"slices of a dataset have step 1, got {step}")
            return self._source.take(start, max(start, stop))
        position = range(len(self))[index]
        return self._source.take(position, position + 1)[0]

    def __iter__(self) -> Iterator[FloatArray]:
        for chunk in self.iter_chunks(BLOCK_INSTANCES):
            yield from chunk

    def __repr__(self) -> str:
        size = "of different sizes" if self.n is None else f"of {self.n} points"
        optima = "" if self.optimal_length is None else ", with optimal lengths"
        return f"<Dataset {self.name}: {len(self)} instances {size}{optima}>"


def names() -> tuple[str, ...]:
    """Return the names that `load` knows.

    Examples
    --------
    >>> ", ".join(names())
    'D1, D2, D3, DEG, uniform, normal, clustered, grid, separated, lattice'
    """
    return (*PAPER, "DEG", *KINDS)


def load(
    name: str,
    count: int | None = None,
    split: Split = "test",
    seed: int = 0,
    n: int | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Return a dataset by name, or the instances of a file.

    Parameters
    ----------
    name : str
        One of `names()`; any label where `path` is given.
    count : int, optional
        How many instances: by default 10,000 of D1, D2 and D3, 100 of the other kinds, and all of
        a file.
    split : {"test", "train", "validation"}, optional
        Which of the disjoint random streams. Of a file with several arrays, split "test" takes
        ``test_points`` and ``test_optimal_length`` where they are there, else ``points`` and
        ``optimal_length``.
    seed : int, optional
        Other seeds give other instances.
    n : int, optional
        The number of points per instance, which the kinds need.
    path : path-like, optional
        A file of instances to read instead.

    Returns
    -------
    Dataset
        As many instances as asked for, with their optimal lengths where the file has them.

    Raises
    ------
    OptionError
        If a name or a value is unknown, or the file has fewer instances or other sizes.
    FormatError
        If the file cannot be read.

    Examples
    --------
    >>> load("D1", count=3)
    <Dataset D1: 3 instances of 10 points>
    >>> load("clustered", n=50, count=2, split="train").points.shape
    (2, 50, 2)
    """
    if path is not None:
        return _from_file(name, path, count, check_split(split), n)
    if name == "DEG":
        raise OptionError("DEG is read from a file of yours: give path= (npz with 'points')")
    if name in PAPER:
        kind, size = PAPER[name]
        if n not in (None, size):
            raise OptionError(f"{name} has {size} points per instance, got n={n!r}; use {kind!r}")
        data = generate(kind, size, 10_000 if count is None else count, seed, split)
        data.name = name
        return data
    if name not in KINDS:
        raise OptionError(f"unknown dataset {name!r}; the names are: {', '.join(names())}")
    if n is None:
        raise OptionError(f"dataset {name!r} needs n=, the number of points per instance")
    return generate(name, n, 100 if count is None else count, seed, split)


def generate(kind: str, n: int, count: int = 1, seed: int = 0, split: Split = "test") -> Dataset:
    """Return random instances of a kind.

    Parameters
    ----------
    kind : str
        One of the kinds above, such as "uniform".
    n : int
        The number of points per instance.
    count : int, optional
        The number of instances.
    seed : int, optional
        Other seeds give other instances.
    split : {"test", "train", "validation"}, optional
        Which of the disjoint random streams.

    Returns
    -------
    Dataset
        The instances, which are made when they are asked for.

    Raises
    ------
    OptionError
        If the kind is unknown, or a number out of range.

    Examples
    --------
    >>> generate("lattice", 4)[0].tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    if kind not in KINDS:
        raise OptionError(f"unknown kind {kind!r}; the kinds are: {', '.join(KINDS)}")
    size = _check_whole("n", n, 1, LARGEST_SIZE)
    number = _check_whole("count", count, 0)
    stream = _check_whole("seed", seed, 0)
    return Dataset(_Generated(kind, size, number, stream, check_split(split)), kind)


class _Generated:
    """Instances made block by block from their own random streams."""

    def __init__(self, kind: str, n: int, count: int, seed: int, split: Split) -> None:
        self.kind, self.n, self.count, self.seed, self.split = kind, n, count, seed, split
        self.block_size = max(1, min(BLOCK_INSTANCES, BLOCK_POINTS // n))
        self._last: tuple[int, FloatArray] | None = None

    def take(self, start: int, stop: int) -> FloatArray:
        if start >= stop:
            return np.empty((0, self.n, 2))
        size = self.block_size
        pieces = [
            self._block(block)[max(0, start - block * size) : stop - block * size]
            for block in range(start // size, (stop - 1) // size + 1)
        ]
        return np.concatenate(pieces) if len(pieces) > 1 else pieces[0].copy()

    def _block(self, block: int) -> FloatArray:
        if self._last is None or self._last[0] != block:
            key = (list(KINDS).index(self.kind), self.n, SPLITS.index(self.split), block)
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))
            self._last = block, KINDS[self.kind](rng, self.block_size, self.n)
        return self._last[1]


class _Stored:
    """Instances that are already there."""

    def __init__(self, instances: list[FloatArray]) -> None:
        self.instances = instances
        self.count = len(instances)
        sizes = {len(points) for points in instances}
        self.n = sizes.pop() if len(sizes) == 1 else None

    def take(self, start: int, stop: int) -> FloatArray | list[FloatArray]:
        chosen = self.instances[start:stop]
        has_crs = any(getattr(points, "crs", None) is not None for points in chosen)
        return chosen if self.n is None or has_crs or not chosen else np.stack(chosen)


def _from_file(
    name: str, path: str | os.PathLike[str], count: int | None, split: Split, n: int | None
) -> Dataset:
    instances, optima = _read_file(path, split)
    if n is not None and any(len(points) != n for points in instances):
        raise OptionError(f"{os.fspath(path)} holds instances of sizes other than n={n!r}")
    if count is not None:
        count = _check_whole("count", count, 0)
        if count > len(instances):
            raise OptionError(
                f"{os.fspath(path)} holds {len(instances)} instances, got count={count}"
            )
    return Dataset(_Stored(instances[:count]), name, None if optima is None else optima[:count])


def _read_file(
    path: str | os.PathLike[str], split: Split
) -> tuple[list[FloatArray], FloatArray | None]:
    source = read_source(path)
    if source.suffix != "npz" and (source.suffix or sniff_format(source) != "npz"):
        return instances_of(source), None
    archive = Archive(source)
    prefix = f"{split}_" if f"{split}_points" in archive.names else ""
    if prefix:
        (points,) = archive.read(f"{prefix}points").values()
        instances = split_instances(points, f"{source.name}[{prefix}points]")
    else:
        instances = instances_of(source)
    optima = archive.read(f"{prefix}optimal_length").get(f"{prefix}optimal_length")
    if optima is None:
        return instances, None
    if optima.shape != (len(instances),) or optima.dtype.kind not in "iuf":
        raise FormatError(
            f"{source.name}: optimal_length must hold {len(instances)} numbers, one per instance, "
            f"got shape {optima.shape}"
        )
    return instances, optima.astype(np.float64)


def check_split(split: str) -> Split:
    """Return the name of a split, or refuse it.

    Examples
    --------
    >>> check_split("train")
    'train'
    """
    if split not in SPLITS:
        raise OptionError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    return split


def _check_whole(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    whole = as_whole(value)
    if whole is None or whole < minimum:
        raise OptionError(f"{name} must be a whole number from {minimum}, got {value!r}")
    if maximum is not None and whole > maximum:
        raise OptionError(f"{name} must be at most {maximum}, got {value!r}")
    return whole


def _uniform(rng: np.random.Generator, count: int, n: int) -> FloatArray:
    return rng.random((count, n, 2))


def _normal(rng: np.random.Generator, count: int, n: int) -> FloatArray:
    return rng.normal(MEAN, DEVIATION, (count, n, 2))


def _clustered(rng: np.random.Generator, count: int, n: int) -> FloatArray:
    clusters = max(1, round(n**0.5 / 2))
    centres = rng.uniform(CLUSTER_MARGIN, 1 - CLUSTER_MARGIN, (count, clusters, 2))
    chosen = rng.integers(clusters, size=(count, n))
    offsets = rng.normal(0.0, CLUSTER_DEVIATION, (count, n, 2))
    return centres[np.arange(count)[:, None], chosen] + offsets


def _grid(rng: np.random.Generator, count: int, n: int) -> FloatArray:
    side = int(np.ceil(2 * np.sqrt(n)))
    # The cells with the n smallest of random keys: a random subset, in random order.
    keys = rng.random((count, side * side))
    cells = np.argpartition(keys, n - 1, axis=1)[:, :n]
    order = np.argsort(np.take_along_axis(keys, cells, axis=1), axis=1)
    cells = np.take_along_axis(cells, order, axis=1)
    return np.stack((cells % side, cells // side), axis=2).astype(np.float64)


def _separated(rng: np.random.Generator, count: int, n: int) -> FloatArray:
    """Draw uniformly; draw the later point of every pair that is too close again, until none is."""
    from scipy.spatial import cKDTree

    distance = SEPARATION / np.sqrt(n)
    points = rng.random((count * n, 2))
    # All instances stand in one plane, far apart, so that one search serves the whole block.
    apart = np.repeat(np.arange(count)[:, None] * [[2.0, 0.0]], n, axis=0)
    while True:
        pairs = cKDTree(points + apart).query_pairs(distance * (1 + 1e-9), output_type="ndarray")
        if len(pairs) == 0:
            return points.reshape(count, n, 2)
        later = np.unique(pairs.max(axis=1))
        points[later] = rng.random((len(later), 2))


def _lattice(rng: np.random.Generator, count: int, n: int) -> FloatArray:
    rows, columns = np.divmod(np.arange(n), int(np.ceil(np.sqrt(n))))
    return np.repeat(np.stack((columns, rows), axis=1)[None].astype(np.float64), count, axis=0)


# The order is part of the random streams: new kinds go to the end.
KINDS: dict[str, Callable[[np.random.Generator, int, int], FloatArray]] = {
    "uniform": _uniform,
    "normal": _normal,
    "clustered": _clustered,
    "grid": _grid,
    "separated": _separated,
    "lattice": _lattice,
}
