"""What a method is: the few types that `api.solve` and every method module share.

A method module holds `INFO` (a MethodInfo), `Options` (a dataclass of `option` fields) and
`solve(run, options) -> Tree`. It may add `solve_batch(batch, options) -> BatchTrees`, which
`solve_many` then uses for instances of one size of at most `BATCH_LIMIT` points (and where
`can_batch(options)`, if the module has that, agrees; on `BATCH_DEVICE`, if the module has that).
Heavy imports stay inside these functions, so that listing the methods is cheap and works without
extras.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.device import Place
from ..core.options import OptionInfo
from ..core.points import Array, FloatArray, Frame, IntArray
from ..core.trees import offsets, ranges, tree_length
from .monitor import Monitor


@dataclass(frozen=True, slots=True)
class MethodInfo:
    """A method as `methods()` shows it.

    `guarantee` says what is known about the tree's length, `needs` names the packages beyond a
    plain install, `strict` promises Steiner points of degree 3 with 120-degree angles, and
    `random` says that the seed matters. A method whose `devices` do not name "cuda" works on the
    processor, whatever the device. `supports` names what it takes beyond points: "obstacles",
    "existing", "soft regions", "an executor".

    Examples
    --------
    >>> import deepsteiner as ds
    >>> info = ds.methods()["exact"]
    >>> info.strict, info.random, "obstacles" in info.supports
    (True, False, True)
    """

    name: str
    summary: str
    guarantee: str
    options: tuple[OptionInfo, ...] = ()
    needs: tuple[str, ...] = ()
    strict: bool = False
    random: bool = False
    devices: tuple[Place, ...] = ("cpu",)
    supports: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Run:
    """One instance on its way through a method: distinct points in the frame, at least three.

    `trace` is a list to append JSON-able records to, or None where nobody asked for one. `plane`
    has the obstacles (a `plane.plane.Plane`), None where there are none, `network` the existing
    networks (a `plane.networks.Network`); with these there may be fewer points. `hands` make calls
    on an executor (`fleet.hands.Hands`), None where there is none.
    """

    points: FloatArray
    frame: Frame
    monitor: Monitor
    seed: int
    device: Place = "cpu"
    trace: list[dict[str, Any]] | None = None
    plane: Any = None
    network: Any = None
    hands: Any = None

    def length(self, steiner: FloatArray, edges: IntArray) -> float:
        """Return the length of a tree over the points and Steiner points, in the frame."""
        return tree_length(np.concatenate((self.points, steiner)), edges)


@dataclass(frozen=True, slots=True)
class Tree:
    """What a method returns: Steiner points and edges over (points, Steiner points), in the frame.

    `optimal` is a claim of proof. `lower_bound` is in units of the frame. `method` names the
    method that made the tree where that is not the one that was asked. `bends`, the corners of
    obstacles in use, come after the Steiner points in the numbers of the nodes, and `joints`, where
    edges end on existing networks, after the bends.
    """

    steiner: FloatArray
    edges: IntArray
    lower_bound: float | None = None
    optimal: bool = False
    info: dict[str, Any] = field(default_factory=dict)
    method: str | None = None
    bends: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    joints: FloatArray = field(default_factory=lambda: np.empty((0, 2)))


@dataclass(frozen=True, slots=True)
class Batch:
    """Instances of one size: (B, n, 2) points in their frames, with what each needs."""

    points: FloatArray
    shifts: FloatArray
    exponents: IntArray
    seeds: IntArray
    device: Place = "cpu"

    def frame(self, index: int) -> Frame:
        """Return the frame of one instance."""
        return Frame(self.shifts[index], int(self.exponents[index]))

    def run(self, index: int) -> Run:
        """Return one instance as a run of its own, without limits."""
        seed = int(self.seeds[index])
        return Run(self.points[index], self.frame(index), Monitor(), seed, self.device)


@dataclass(frozen=True, slots=True)
class BatchTrees:
    """The trees of a Batch, packed: Steiner points and edges of instance b between its offsets."""

    steiner: FloatArray
    steiner_start: IntArray
    edges: IntArray
    lower_bounds: FloatArray | None = None
    optimal: NDArray[np.bool_] | None = None
    method: str | None = None


class TreeRows(NamedTuple):
    """Where kernels write the trees of a batch of B instances of n points each.

    Attributes
    ----------
    sizes
        (B,) number of points of each tree, terminals included.
    steiner
        (B, n, 2) Steiner points; the first sizes[b] - n of row b are in use.
    edges
        (B, 2n, 2) edges; the first sizes[b] - 1 of row b are in use.
    """

    sizes: Array
    steiner: Array
    edges: Array

    def packed(self, n: int, **claims: Any) -> BatchTrees:
        """Return the trees packed; `claims` are further fields of `BatchTrees`."""
        rows, counts = np.arange(len(self.sizes)), self.sizes - n
        return BatchTrees(
            self.steiner.reshape(-1, 2)[ranges(rows * self.steiner.shape[1], counts)],
            offsets(counts),
            self.edges.reshape(-1, 2)[ranges(rows * self.edges.shape[1], self.sizes - 1)],
            **claims,
        )


def instance_seed(terminals: FloatArray, seed: int) -> int:
    """Return the 63-bit seed of one instance.

    It depends on the user's seed and on the points themselves: a member of a batch gets the same
    stream as when it is solved alone, and different instances get independent ones.
    """
    digest = hashlib.blake2b(terminals.tobytes(), digest_size=8, key=seed.to_bytes(16, "little"))
    return int.from_bytes(digest.digest(), "little") >> 1
