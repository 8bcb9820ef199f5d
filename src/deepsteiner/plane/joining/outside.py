"""Where existing networks can be joined when there are obstacles: outside of them, within reach.

A line may run through an obstacle, as a bridge or a tunnel, and connects what is on either side;
only what of it lies outside can be joined. Boundaries are outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.errors import ObstacleError
from ...core.points import FloatArray, IntArray
from ..networks import Joinable, Network
from ..plane import as_complex

if TYPE_CHECKING:
    from ..plane import Plane

SHORT = 1e-8
"""Parts of segments shorter than this, in units of the frame, are places alone: rounding leaves too
little of their direction."""


def outside(network: Network, plane: Plane, points: FloatArray, first: IntArray) -> Network:
    """Return a network that is joined only outside the obstacles; says what cannot be reached.

    Parameters
    ----------
    network, plane
        The network, and the obstacles; the regions that a tree may be in are put into `home`.
    points, first
        The terminals in the frame, and the number in the input of each.

    Raises
    ------
    ObstacleError
        If a terminal is inside an obstacle, or no tree joins all terminals and all parts that must
        be joined.
    """
    plane.check_outside(points, first)
    found = _cut(network.joinable, plane)
    spots = np.concatenate((0.5 * (found.tails + found.heads), found.places))
    owners = np.concatenate((found.parts, found.owners))
    on = network.part_at(points)
    regions = np.concatenate((plane.regions(points), plane.regions(spots)))
    linked = np.concatenate((on, owners))  # -1: a terminal off the network
    home, joined = _reached(regions, linked)
    _check(network, plane, points, first, home, joined, regions[: len(points)], on)
    plane.home[:] = sorted(home)
    near = np.isin(regions[len(points) :], plane.home)
    rows, alone = near[: len(found.parts)], near[len(found.parts) :]
    kept = Joinable(
        found.tails[rows], found.heads[rows], found.parts[rows],
        found.places[alone], found.owners[alone],
    )  # fmt: skip
    return Network(network.shapes, network.part, network.into, kept)


def _cut(whole: Joinable, plane: Plane) -> Joinable:
    """Return what of some segments is outside the obstacles."""
    from .span_kernels import free_spans

    rows, shares = free_spans(plane.boxes, as_complex(whole.tails), as_complex(whole.heads))
    tails, ways = whole.tails[rows], (whole.heads - whole.tails)[rows]
    begin, end = tails + shares[:, :1] * ways, tails + shares[:, 1:] * ways
    # Ends that are kept stay as they are, bit for bit.
    end = np.where(shares[:, 1:] == 1.0, whole.heads[rows], end)
    long = np.hypot(*(end - begin).T) > SHORT
    alone = ~long
    places, owners = begin[alone], whole.parts[rows[alone]]
    return Joinable(begin[long], end[long], whole.parts[rows[long]], places, owners)


def _reached(regions: IntArray, parts: IntArray) -> tuple[set[int], set[int]]:
    """Return the regions and the parts that ways and parts connect with the first terminal."""
    pairs = set(zip(regions.tolist(), parts.tolist(), strict=True))
    home, joined = {int(regions[0])}, {int(parts[0])} - {-1}
    while True:
        more = {r for r, p in pairs if p in joined} - home
        also = {p for r, p in pairs if r in home and p >= 0} - joined
        if not more and not also:
            return home, joined
        home |= more
        joined |= also


def _check(
    network: Network, plane: Plane, points: FloatArray, first: IntArray,
    home: set[int], joined: set[int], regions: IntArray, on: IntArray,
) -> None:  # fmt: skip
    """Raise ObstacleError where a terminal, or a part that must be joined, is out of reach."""
    apart = [
        row for row, (region, part) in enumerate(zip(regions.tolist(), on.tolist(), strict=True))
        if region not in home and part not in joined
    ]  # fmt: skip
    if apart:
        x, y = plane.frame.back(points[apart[:1]])[0]
        raise ObstacleError(
            f"point {first[apart[0]]} at ({x:g}, {y:g}) is cut off from point {first[0]} by "
            "obstacles; no tree joins them"
        )
    missing = sorted(set(network.needed.tolist()) - joined)
    if missing:
        raise ObstacleError(
            f"part {missing[0]} of the existing network is cut off from point {first[0]} by "
            "obstacles; mark it as optional, or leave it out"
        )
