"""Where cuts are looked for: a little inside the polytope, and last at the programme's vertex.

A cut that separates a point on the way from inside to the vertex is deeper than one that only
separates the vertex (W. Ben-Ameur and J. Neto, "Acceleration of cutting-plane and column generation
algorithms: applications to network design", Networks 49 (2007) 3-17). There are two ways here. One
goes to a mixture of the vertex and a point inside, made of trees and forests. The other one makes
the vertex shorter, so that only sets that are violated by much are found, mostly small ones. On
some lists each takes several times as many rounds as the other: whichever has raised the bound more
of late is taken, and the other one is tried now and then.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...hypergraph import Floats

MIXED, SHORT = 0, 1
TOWARDS_VERTEX = 0.6  # the mixture
SHORTER = 0.9
TRIAL = 8  # rounds in which both ways have turns, of two each
AGAIN = 8  # rounds after which the way that seems worse has one
MEMORY = 0.7  # of earlier gains, where a new one is known


class Viewpoints:
    """The points at which to look for cuts, round after round.

    `inner` is a point that satisfies every subtour inequality.
    """

    def __init__(self, inner: Floats) -> None:
        self.inner = inner
        self._gains: list[float | None] = [None, None]
        self._round, self._way = 0, MIXED
        self._before: float | None = None

    def forget_bound(self) -> None:
        """Say that the next bound is of another programme, and tells nothing of the last cuts."""
        self._before = None

    def judge(self, bound: float) -> None:
        """Take the programme's new bound: what it has gained is owed to the last cuts."""
        if self._before is not None and np.isfinite(bound):
            gain, known = max(bound - self._before, 0.0), self._gains[self._way]
            self._gains[self._way] = (
                gain if known is None else MEMORY * known + (1.0 - MEMORY) * gain
            )
        self._before = bound if np.isfinite(bound) else None

    def points(self, x: Floats, upper: Floats) -> Iterator[Floats]:
        """Yield points until one of them is separated; x itself is the last."""
        self._way = self._next_way()
        self._round += 1
        if self._way == SHORT:
            yield SHORTER * x
        inner = np.minimum(self.inner, upper)  # mixtures of forests stay such with less of one
        for point in (TOWARDS_VERTEX * x + (1.0 - TOWARDS_VERTEX) * inner, x):
            yield point
            self.inner = point  # nothing was found there

    def _next_way(self) -> int:
        if self._round < TRIAL:
            return (self._round // 2) % 2
        mixed, short = (gain or 0.0 for gain in self._gains)
        better = MIXED if mixed >= short else SHORT
        return 1 - better if self._round % AGAIN == 0 else better
