"""Why tiles find the trees that are found among all terminals, and how that is checked.

A tile is a set of terminals, its core. It is worked on with the terminals in all cells of a
rectangle around it, those it holds: at least all within a distance `held` of the core (distances
here are those of the larger coordinate). Branches are made of terminals within the distance `near`
of it. They have the bottleneck distances, the merge order and the grid of all terminals. So a
branch is decided on as among all terminals if

- what it is made of is there, and the known trees over parts of its terminals are: these are made
  of branches over subsets of its terminals;
- its view is held: the box of all places where its tests look for terminals, and of its parts'
  views (`complete.reach_kernels`).

A branch whose view is not held is left out, and counted as lost if it has a terminal of the core.
Of the others with such a terminal a tile reports the widest view W, and the farthest F that one
leads from its own nearest terminal: the distance to its place, its spread and its reach. Two
branches that are joined are within the sum of their spreads and reaches of each other, and a view
holds the terminals of the branch and the square of its spread and reach around its place.

Claim: if no tile lost anything, and for each tile i

    near_i >= F_i + W_j   for all tiles j within F_i + F_j of it, itself included,
    near_i >= W_j         for all tiles j within W_j,
    held_i >= near_i + W_j   for all tiles j within near_i,

then each branch B that grows among all terminals grows in all tiles near whose cores all its
terminals are, and those of whose cores it has a terminal are among them. By induction over its
size: let B join B1 and B2, t be the terminal of B1 nearest to B1's place and i its tile, and t'
and j the same for B2. B1 and B2 are as claimed, so B1 leads at most F_i from t and B2 at most F_j
from t': i and j are within F_i + F_j. The view of B1 is at most W_i wide and holds t. That of B2
is at most W_j wide and comes within F_i of t. So all terminals of B are near core i, and B1, B2,
and all branches over subsets of B's terminals grew there; as nothing was lost, B's view is held,
B grows there too, and its view is at most W_i wide. Another tile k of which B has a terminal is
within W_i of i, so all terminals of B are near it. A tile m that all terminals of B are near to is
within near_m of i, so B's view, which is within W_i of t, is held there; all that B is decided by
is there, by the hypothesis, and B grows there as well.

So the trees that tile i closes from branches with a terminal of its core are those that are closed
among all terminals; each belongs to the tile of its first terminal in merge order. A tile that
holds all terminals needs no margin. Where the claim's conditions do not hold, tiles are made again
with wider margins until they do; at the latest they then hold everything.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....core.points import Array, FloatArray

SLACK = 1.0 + 1e-9
"""Distances are rounded."""
GENEROUS = 1.1
"""Margins are made so many times as wide as was needed: more tests then have a view."""
LOST_FACTOR = 1.5
"""Margins of tiles that lost something, of which little is known, grow by this."""


class Margins(NamedTuple):
    """How far around the core of each tile: what branches are made of, and what is held."""

    near: FloatArray
    held: FloatArray


class Findings(NamedTuple):
    """What tiles report: whether anything was lost, the widest view, the farthest lead."""

    lost: Array
    widest: FloatArray
    farthest: FloatArray


def distances(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the distances between boxes, given by their corners, as a square matrix."""
    apart = np.maximum(low[:, None] - high[None], low[None] - high[:, None])
    return np.asarray(np.maximum(apart.max(axis=2), 0.0))


def needed(apart: FloatArray, margins: Margins, found: Findings) -> Margins:
    """Return the margins that the claim needs, given what tiles report."""
    wide, far = found.widest * SLACK, found.farthest * SLACK

    def widest(among: Any) -> FloatArray:
        return np.asarray(np.where(among, wide[None, :], 0.0).max(axis=1))

    joined = far + widest(apart <= far[:, None] + far[None, :])
    near = np.maximum(joined, widest(apart <= wide[None, :]))
    return Margins(near, margins.near + widest(apart <= margins.near[:, None]))


def widened(apart: FloatArray, margins: Margins, found: Findings, holds_all: Array) -> Margins:
    """Return wider margins for the tiles that need them; those of the others stay as they are."""
    need = needed(apart, margins, found)
    short = (margins.near < need.near) | (margins.held < need.held) | (found.lost > 0)
    short &= ~holds_all
    near = np.maximum(margins.near, GENEROUS * need.near)
    near = np.where(found.lost > 0, np.maximum(near, LOST_FACTOR * margins.near), near)
    near = np.where(short, near, margins.near)
    held = near + (need.held - margins.near)
    held = np.where(found.lost > 0, np.maximum(held, LOST_FACTOR * margins.held), held)
    held = np.maximum(GENEROUS * held, margins.held)
    return Margins(near, np.where(short, held, margins.held))
