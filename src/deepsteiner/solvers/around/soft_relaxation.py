"""The best places of the nodes of a tree through soft regions: see `plane.soft_web_kernels`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.points import FloatArray, IntArray
from ...plane.plane import as_complex, as_pairs
from ...plane.routes import pruned
from ...plane.soft import Soft


class Care(NamedTuple):
    """How carefully nodes are moved: see `relaxed_web`."""

    rounds: int
    sweeps: int
    still: float
    enough: float


FINE = Care(40, 120, 1e-12, 1e-13)
"""For trees that are kept."""
ROUGH = Care(6, 20, 1e-6, 1e-5)
"""For trees that are compared."""


@dataclass(frozen=True)
class Web:
    """A tree through soft regions: nodes, the first of which are fixed, edges and their cost."""

    nodes: FloatArray
    edges: IntArray
    cost: float


def web_of(soft: Soft, nodes: FloatArray, n: int, edges: IntArray) -> Web:
    """Return a tree without useless leaves, with its cost."""
    more, edges = pruned(nodes, n, edges)
    nodes = np.concatenate((nodes[:n], more))
    return Web(nodes, edges, float(soft.costs(nodes, edges).sum()))


def relaxed(soft: Soft, nodes: FloatArray, n: int, edges: IntArray, care: Care = FINE) -> Web:
    """Return a tree with its nodes at their best places; never dearer than it was."""
    from ...plane.soft_web_kernels import relaxed_web

    more, links = pruned(nodes, n, edges)
    places = as_complex(np.concatenate((nodes[:n], more)))
    places, links, cost = relaxed_web(soft.ground, places, n, links, *care)
    return Web(as_pairs(places), links, float(cost))
