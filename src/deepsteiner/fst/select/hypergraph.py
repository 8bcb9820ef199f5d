"""A list of full Steiner trees as kernels take it, and the arrays that travel with it.

Choosing full Steiner trees (FSTs) of least total length that connect all terminals is the minimum
spanning tree problem in a hypergraph: terminals are the vertices, FSTs the hyperedges (D. M. Warme,
Spanning trees in hypergraphs with applications to Steiner trees, 1998). All integers are int64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# A tree must be shorter by this share of its length before it wins: less may be rounding.
LEAST = 1e-12
STRICT = 1.0 + LEAST


class Hypergraph(NamedTuple):
    """FSTs over the terminals 0 to n - 1, in compressed rows.

    n: the number of terminals.
    start: FST f joins ``terminals[start[f] : start[f + 1]]``; one entry more than FSTs.
    terminals: the terminals of all FSTs, one after another.
    length: the length of every FST.
    """

    n: int
    start: Ints
    terminals: Ints
    length: Floats


class Rows(NamedTuple):
    """Numbers in groups: group k is ``items[first[k] : first[k + 1]]``.

    The incidence of a hypergraph is of this kind (the FSTs at every terminal), and so are the
    terminal sets of a separation.
    """

    first: Ints
    items: Ints


class Bottlenecks(NamedTuple):
    """Minimum spanning forest of the two-terminal FSTs, as a shallow forest of unions.

    parent: the vertex into whose component that of a vertex was merged; roots are their own.
    weight: the length of the FST that did it; weights never fall towards the root.
    """

    parent: Ints
    weight: Floats


class Distances(NamedTuple):
    """Bottleneck distances between terminals.

    Those of a whole list, with what is chosen contracted, outlive the two-terminal FSTs that they
    come from: a tree that such an FST would shorten is in no shortest tree of the whole list.

    forest: the distances.
    names: the vertex of every terminal in it.
    """

    forest: Bottlenecks
    names: Ints


class Claims(NamedTuple):
    """What one kernel call says about each of B small instances.

    lengths: the length of the shortest tree.
    proven: whether that is proven. It is not where the list of FSTs is too wide for a dynamic
        programme, or where a witness contradicts it; there is no tree then.
    listed: the number of FSTs listed.
    """

    lengths: Floats
    proven: Flags
    listed: Ints


class Budget(NamedTuple):
    """What the frontier programme may cost.

    work: the estimated number of partitions met over all steps.
    widest: the partitions of a single layer.
    beam: the partitions that are kept where that is too little, if a search may: see
        `search.beam_kernels`. 0: it gives up.
    """

    work: float
    widest: int
    beam: int = 0
