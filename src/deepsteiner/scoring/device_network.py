"""The network behind `neural` on an accelerator: the numba inference's twin in plain torch.

Lists, features and relations come from the kernels; a whole list, or the lists of a whole batch,
then goes through the network in one pass. Sums over neighbours are made segment by segment, in a
fixed order, so that the same call gives the same logits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.device import Place, load_torch
from ..core.points import Array, FloatArray
from ..run.threads import share
from .weights import Weights

if TYPE_CHECKING:
    import torch

# (features, begin, links) of a list to one logit for each tree.
Forward = Callable[[Array, Array, Array], Array]
# Links whose states are looked up at once, at 64 bytes each.
LINKS_AT_ONCE = 1 << 27


def place(name: Place) -> torch.device:
    """Return torch's device of that name."""
    found: torch.device = load_torch(f"'neural' on device {name!r}").device(name)
    return found


def forward_on(name: Place, weights: Weights, at_once: int = LINKS_AT_ONCE) -> Forward:
    """Return the network as a function that works on a device."""
    device = place(name)

    import torch

    from .network_kernels import RELATIONS, STRIDE

    enter, enter_bias, own, own_bias, message, leave, leave_bias = (
        torch.as_tensor(value, device=device) for value in weights
    )

    def forward(rows: Array, begin: Array, links: Array) -> Array:
        count = len(rows)
        link = torch.as_tensor(links, device=device)
        degree = torch.as_tensor(np.diff(begin), device=device)
        target = torch.repeat_interleave(torch.arange(count, device=device), degree)
        cell, order = torch.sort(RELATIONS * target + link % STRIDE, stable=True)
        source = torch.div(link, STRIDE, rounding_mode="floor")[order]
        offsets = torch.searchsorted(cell, torch.arange(RELATIONS * count + 1, device=device))
        # A slice of trees begins where the next `at_once` links do.
        slices = np.searchsorted(begin, np.arange(0, begin[-1], at_once)).tolist()
        spans = list(pairwise(sorted({0, *slices, count})))

        def heard(state: torch.Tensor, first: int, last: int) -> torch.Tensor:
            part = offsets[RELATIONS * first : RELATIONS * last + 1]
            told = state[source[begin[first] : begin[last]]]
            sums = torch.segment_reduce(told, "sum", offsets=part - part[0], axis=0, initial=0.0)
            return sums.reshape(last - first, -1)

        state = torch.relu(torch.as_tensor(rows, device=device) @ enter + enter_bias)
        for k in range(len(own)):
            sums = torch.cat([heard(state, *span) @ message[k] for span in spans])
            state = torch.relu(state @ own[k] + own_bias[k] + sums)
        logits: Array = (state @ leave + leave_bias).cpu().numpy()
        return logits

    return forward


class ScoredLists:
    """The lists of a batch, scored together: made on all threads, one pass of the network."""

    def __init__(self, points: FloatArray, largest: int, forward: Forward) -> None:
        from .device_kernels import listed
        from .network_kernels import STRIDE

        lists: list[Any] = [None] * len(points)

        def list_some(first: int, last: int) -> None:
            for b in range(first, last):
                lists[b] = listed(points[b], largest)

        share(len(points), list_some)
        sizes = np.array([len(one[2]) for one in lists])
        first = np.concatenate(([0], np.cumsum(sizes)))
        counts = np.concatenate([np.diff(one[7]) for one in lists])
        logits = forward(
            np.concatenate([one[6] for one in lists]),
            np.concatenate(([0], np.cumsum(counts))),
            np.concatenate(
                [one[8] + STRIDE * at for one, at in zip(lists, first[:-1].tolist(), strict=True)]
            ),
        )
        self._lists, self._first, self._logits = lists, first, logits

    def __getitem__(self, b: int) -> tuple[Array, ...]:
        """Return (start, terminals, length, steiner, logits, gone_start, gone) of an instance."""
        one = self._lists[b]
        return (*one[:4], self._logits[self._first[b] : self._first[b + 1]], *one[4:6])
