"""Solutions for other libraries: networkx, scipy, shapely and what reads `__geo_interface__`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from ..core.errors import MissingDependencyError
from ..core.solution import Solution

# What a solution is made of, by the names of its fields, and the kinds of its nodes.
ARRAYS = ("terminals", "steiner_points", "edges")
NODE_KINDS = ("terminal", "steiner", "relay", "bend", "joint")


def nodes_of(solution: Solution) -> Iterator[tuple[int, str, list[float]]]:
    """Yield the number, the kind and the position of every node."""
    relays = int(solution.info.get("relays", 0))
    others = len(solution.steiner_points) - relays
    counts = (
        len(solution.terminals), others, relays, len(solution.bends), len(solution.joints)
    )  # fmt: skip
    kinds = np.repeat(NODE_KINDS, counts).tolist()
    yield from zip(range(len(kinds)), kinds, solution.coordinates.tolist(), strict=True)


def edges_of(solution: Solution) -> Iterator[tuple[int, int, float]]:
    """Yield both ends and the length of every edge."""
    starts, ends = solution.edges.T.tolist()
    yield from zip(starts, ends, solution.edge_lengths().tolist(), strict=True)


def solution_to_networkx(solution: Solution) -> Any:
    """Return a networkx Graph.

    Parameters
    ----------
    solution
        The solution.

    Returns
    -------
    networkx.Graph
        Nodes carry `pos` and `kind` ("terminal", "steiner", "relay", "bend" or "joint"), edges
        carry `length`, and the graph carries the length, bound, status, method and crs of the
        solution. Joints also carry `part`, the part of the existing network that they lie on:
        those of one part are connected through it.

    Raises
    ------
    MissingDependencyError
        If networkx is not installed.
    """
    graph = _optional("networkx").Graph(
        length=solution.length,
        lower_bound=solution.lower_bound,
        status=solution.status,
        method=solution.method,
        crs=solution.crs,
    )
    for node, kind, position in nodes_of(solution):
        graph.add_node(node, pos=tuple(position), kind=kind)
    graph.add_weighted_edges_from(edges_of(solution), weight="length")
    first = len(solution.coordinates) - len(solution.joints)
    for joint, part in enumerate(solution.joint_parts().tolist(), start=first):
        graph.nodes[joint]["part"] = part
    return graph


def solution_to_shapely(solution: Solution) -> Any:
    """Return the edges as a shapely MultiLineString, in the order of `edges`.

    Parameters
    ----------
    solution
        The solution.

    Returns
    -------
    shapely.MultiLineString
        Line k is edge k, in the solution's own coordinates.

    Raises
    ------
    MissingDependencyError
        If shapely is not installed.
    """
    return _optional("shapely").geometry.shape(solution_to_geometry(solution))


def solution_to_geometry(solution: Solution) -> dict[str, Any]:
    """Return the edges as the mapping of a MultiLineString, in the order of `edges`.

    Parameters
    ----------
    solution
        The solution.

    Returns
    -------
    dict
        What `__geo_interface__` of a MultiLineString returns.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> solution_to_geometry(ds.solve([[0, 0], [3, 4]], "mst"))["coordinates"]
    [[[0.0, 0.0], [3.0, 4.0]]]
    """
    lines = solution.coordinates[solution.edges].tolist()
    return {"type": "MultiLineString", "coordinates": lines}


def solution_to_scipy_sparse(solution: Solution) -> Any:
    """Return the edge lengths as a symmetric sparse array.

    Parameters
    ----------
    solution
        The solution.

    Returns
    -------
    scipy.sparse.csr_array
        Entry (i, j) is the length of the edge between nodes i and j. Lengths of zero, between
        repeated terminals, are stored as well.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> solution_to_scipy_sparse(ds.solve([[0, 0], [3, 4]], "mst")).toarray().tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    from scipy.sparse import csr_array

    ends = solution.edges.astype(np.int32)  # what scipy's graph routines want
    rows, columns = np.concatenate((ends, ends[:, ::-1])).T
    lengths = np.tile(solution.edge_lengths(), 2)
    size = len(solution.coordinates)
    return csr_array((lengths, (rows, columns)), shape=(size, size))


def _optional(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise MissingDependencyError(
            f'this export needs {package}; install it with pip install "deepsteiner[geo]"'
        ) from None
