"""Scores of full Steiner trees: which of a list to keep, and which to pick first.

A score is a strategy of `Pipeline`: it weighs a list, leaves out what it can, and makes the first
choice from the rest. `HandScore` goes by what a tree saves; `NetworkScore` asks a graph network how
likely each tree is to be part of a shortest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..core.options import EffortName
from ..core.points import Array
from ..fst.enumerate.nearby.ground import TreeList
from ..fst.select.search.greedy import first_choice
from ..fst.trees import FullTrees
from ..run.monitor import Report
from ..run.threads import Workers
from ..run.watch import Watch
from .device_network import Forward, joined
from .weights import Weights, load_weights

if TYPE_CHECKING:
    from .network_kernels import Described

# Trees in one uninterrupted call.
SLICE = 500
# The logit below which trees are left out, by effort: chosen on validation instances, by gap first
# and time second.
DROP: dict[EffortName, float] = {"fast": -7.0, "default": -10.0, "best": -14.0}
# Trees for each terminal from which on a list is crowded. Random points, in clusters or not, have
# some 2.3; drilled boards, streets and lattices, where many distances are equal, 3 to 12.
CROWDED = 2.7
# The most terminals of the trees from which a first choice is made there.
SMALL = 4


def is_crowded(trees: FullTrees) -> bool:
    """Return whether a list has so many trees for each terminal that ties must be the cause."""
    return len(trees) > CROWDED * len(trees.points)


@dataclass(frozen=True)
class Weighed:
    """A list and what a score says of each tree: logits, or nothing."""

    trees: FullTrees
    logits: Array | None = None


class Score(Protocol):
    """What `Pipeline` asks of a score."""

    def weigh(self, trees: FullTrees, workers: Workers, report: Report, watch: Watch) -> Weighed:
        """Return the trees that are worth choosing from; where `report` says no, all of them."""

    def choose(
        self, weighed: Weighed, workers: Workers, report: Report, watch: Watch
    ) -> tuple[FullTrees, Array]:
        """Return the list to go on with and flags of a first choice, which is a tree."""


@dataclass(frozen=True)
class HandScore:
    """A tree is worth what it saves; none is left out."""

    def weigh(self, trees: FullTrees, workers: Workers, report: Report, watch: Watch) -> Weighed:
        """Keep the list as it is."""
        return Weighed(trees)

    def choose(
        self, weighed: Weighed, workers: Workers, report: Report, watch: Watch
    ) -> tuple[FullTrees, Array]:
        """Pick greedily by savings."""
        return weighed.trees, _by_savings(weighed.trees, workers, report, watch)


@dataclass(frozen=True)
class NetworkScore:
    """A graph network says how likely each tree is; those below `drop` (a logit) are left out.

    `forward` is the network on an accelerator; without it, numba kernels run it here.
    """

    weights: Weights
    drop: float
    forward: Forward | None = None

    @classmethod
    def shipped(cls, effort: EffortName) -> NetworkScore:
        """Return the score of the network that comes with the package."""
        return cls(load_weights("neural"), DROP[effort])

    def weigh(self, trees: FullTrees, workers: Workers, report: Report, watch: Watch) -> Weighed:
        """Leave out unlikely trees, but no spanning-tree edge.

        Of a crowded list the network knows nothing: all of it stays, without logits.
        """
        logits = None if is_crowded(trees) else self.logits(trees, workers, report, watch)
        if logits is None:
            return Weighed(trees)
        keep = logits >= self.drop
        keep[: len(trees.points) - 1] = True
        return Weighed(watch.wait("list", lambda: trees.part(keep)), logits[keep])

    def choose(
        self, weighed: Weighed, workers: Workers, report: Report, watch: Watch
    ) -> tuple[FullTrees, Array]:
        """Pick greedily by savings times probability; then spanning-tree edges may go too."""
        trees, logits = weighed.trees, weighed.logits
        if logits is None:
            return trees, _by_savings(trees, workers, report, watch)
        likely = 1.0 / (1.0 + np.exp(-logits.astype(np.float64)))
        picked = first_choice(trees, workers, report, watch, likely)
        return watch.wait("list", lambda: thinned(trees, logits, picked, self.drop))

    def logits(
        self, listing: FullTrees, workers: Workers, report: Report, watch: Watch
    ) -> Array | None:
        """Return a logit for every tree of a list, or None where `report` says no."""
        from . import network_kernels as kernels

        weights, forward = self.weights, self.forward
        states, parts = self._described(listing, workers, report, watch)
        if sum(last - first for first, last, _ in parts) < len(listing):
            return None
        if forward is not None:
            return watch.wait("network", lambda: forward(joined([one for *_, one in parts])))
        for number in range(len(weights.own)):
            after = np.empty_like(states)

            def update(low: int, high: int, states: Any = states, after: Any = after) -> int:
                for first, last, (_, begin, links) in parts[low:high]:
                    kernels.next_states(begin, links, weights, number, states, after, first, last)  # noqa: B023
                return high - low

            if sum(workers.map(update, len(parts), 1, report, f"round {number + 1}")) < len(parts):
                return None
            states = after
        logits: Array = kernels.last_logits(states, weights)
        return logits

    def _described(
        self, listing: FullTrees, workers: Workers, report: Report, watch: Watch
    ) -> tuple[Array, list[tuple[int, int, Described]]]:
        """Return the trees' first states, and by slices (first, last, what the network sees).

        Slices are missing where `report` says no. What only this needs is most of the memory so
        far.
        """
        from . import network_kernels as kernels
        from .vector_kernels import WIDTH

        m, trees = len(listing), _as_list(listing)
        seen = watch.wait("relations", lambda: kernels.view(trees))
        states = np.zeros((m, WIDTH), dtype=np.float32)
        scratch = workers.scratch(lambda: np.full(m, -1, dtype=np.int64))

        def begin(first: int, last: int) -> tuple[int, int, Described]:
            rows = kernels.features(trees, seen, first, last)
            if self.forward is None:
                kernels.first_states(rows, self.weights, states, first)
                rows = rows[:0].copy()  # a view would keep all of them
            if len(self.weights.own) == 0:
                nothing = np.zeros(last - first + 1, dtype=np.int64)
                return first, last, kernels.Described(rows, nothing, nothing[:0])
            links = kernels.relations(trees, seen, scratch(), first, last)
            return first, last, kernels.Described(rows, *links)

        return states, workers.map(begin, m, 2 * SLICE, report, "features")


def _by_savings(trees: FullTrees, workers: Workers, report: Report, watch: Watch) -> Array:
    """Pick greedily by savings; of a crowded list, from its small trees: a better start there."""
    small = (np.diff(trees.start) <= SMALL).astype(np.float64) if is_crowded(trees) else None
    return first_choice(trees, workers, report, watch, small)


def _as_list(listing: FullTrees) -> TreeList:
    """Return a list as kernels take it."""
    return TreeList(
        listing.points, listing.start, listing.terminals, listing.length, listing.steiner
    )


def thinned(
    listing: FullTrees, logits: Array, picked: Array, drop: float
) -> tuple[FullTrees, Array]:
    """Return the likely and the picked trees of a list, and which of these are picked.

    Edges of the spanning tree go as well where they are unlikely and a kept tree replaces them.
    """
    from .network_kernels import savings
    from .small_instance_kernels import keep_likely

    trees = _as_list(listing)
    keep = keep_likely(trees, logits, savings(trees), drop)
    keep |= picked
    return listing.part(keep), picked[keep]
