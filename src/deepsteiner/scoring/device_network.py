"""The network behind `neural` on an accelerator.

Lists, features and relations come from the kernels; a whole list, or the lists of a whole batch,
then goes through the network in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.device import Place, load_torch
from ..core.points import Array, FloatArray
from ..fst.enumerate.nearby.ground import TreeList
from ..run.threads import share
from .weights import Weights

if TYPE_CHECKING:
    import torch

    from .network_kernels import Described

# A list, as the kernels describe it, to one logit for each tree.
Forward = Callable[["Described"], Array]


def place(name: Place) -> torch.device:
    """Return torch's device of that name."""
    found: torch.device = load_torch(f"'neural' on device {name!r}").device(name)
    return found


def forward_on(name: Place, weights: Weights, at_once: int | None = None) -> Forward:
    """Return the network as a function that works on a device."""
    device = place(name)

    import torch

    from .network import LINKS_AT_ONCE, ListGraph, ListNetwork

    network = ListNetwork.of(weights).to(device)

    def forward(one: Described) -> Array:
        with torch.inference_mode():
            logits = network(ListGraph.of(one, device, at_once or LINKS_AT_ONCE))
        found: Array = logits.cpu().numpy()
        return found

    return forward


def joined(slices: Sequence[Described]) -> Described:
    """Return what the network sees of consecutive slices of a list as that of the whole list."""
    from .network_kernels import Described

    counts = np.concatenate([np.diff(one.begin) for one in slices])
    return Described(
        np.concatenate([one.features for one in slices]),
        np.concatenate(([0], np.cumsum(counts))),
        np.concatenate([one.links for one in slices]),
    )


def numbered_through(lists: Sequence[Described]) -> Described:
    """Return several lists as one: trees of later ones come after those of earlier ones."""
    from .network_kernels import STRIDE

    first = np.cumsum([0, *(len(one.features) for one in lists[:-1])])
    pairs = zip(lists, first, strict=True)
    return joined([one._replace(links=one.links + STRIDE * at) for one, at in pairs])


class ScoredLists:
    """The lists of a batch, scored together: made on all threads, one pass of the network."""

    def __init__(self, points: FloatArray, largest: int, forward: Forward) -> None:
        from ..fst.enumerate.nearby.small_listing_kernels import list_grown
        from .network_kernels import described

        lists: list[Any] = [None] * len(points)
        seen: list[Any] = [None] * len(points)

        def list_some(first: int, last: int) -> None:
            for b in range(first, last):
                lists[b] = list_grown(points[b], largest)
                seen[b] = described(lists[b], True)

        share(len(points), list_some)
        self._lists, self._logits = lists, forward(numbered_through(seen))
        self._first = np.cumsum([0, *(len(one.length) for one in lists)])

    def __getitem__(self, b: int) -> tuple[TreeList, Array]:
        """Return an instance's list and logits."""
        return self._lists[b], self._logits[self._first[b] : self._first[b + 1]]
