"""`refine`: a given tree made as short as small changes can make it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from .api import terminal_edges
from .core.errors import InternalError, OptionError, TreeError
from .core.geo import plane_of
from .core.points import FloatArray, IntArray, Problem, as_points
from .core.proofs import is_contradicted, report_contradiction
from .core.solution import Solution
from .core.trees import tree_length
from .geometry.relaxation import refine as refine_tree
from .geometry.start import merged_edges

# What `geometry.relaxation.refine` may add by rounding, relative to the length.
ROUNDING = 1e-14

# What no longer holds of a tree that is refined.
DROPPED = ("relays", "max_edge", "junction_cost", "cost")


def refine(solution: Solution) -> Solution:
    """Shorten a tree: the best places for its Steiner points, then repair of what is left.

    The Steiner points move to where a tree of this topology is shortest. Then those that are no
    use are removed, edges that meet below 120 degrees get a Steiner point, and both are repeated
    until nothing changes. Afterwards every Steiner point joins three edges at 120 degrees. The
    tree is the best among its neighbours, not the best of all: `solve` looks further.

    Parameters
    ----------
    solution
        Any valid tree: from `solve`, from a file, or of your own making. Its coordinates may be
        geographic; it is then refined in its own plane. Relays are taken out first, and put back
        for the same longest edge.

    Returns
    -------
    Solution
        Over the same terminals, bit for bit, and never longer. `method` ends in "+refine" and
        `info["refined_from"]` is the length before. A lower bound stays what it was. So does the
        status, unless the new tree is shorter than a bound allows: that bound was wrong, and the
        tree comes back as "feasible" without one.

    Raises
    ------
    OptionError
        If what is given is no `Solution`.
    TreeError
        If it does not validate.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> tree = ds.solve([[0, 0], [1, 0], [1, 1], [0, 1]], method="mst")
    >>> shorter = ds.refine(tree)
    >>> round(tree.length, 6), round(shorter.length, 6), shorter.method
    (3.0, 2.732051, 'mst+refine')

    """
    if not isinstance(solution, Solution):
        raise OptionError(f"refine takes a Solution, got {type(solution).__name__}")
    if solution.existing:
        raise OptionError("refine does not take trees that join an existing network; solve does")
    began = time.perf_counter()
    refined = _shortened(solution.validate())
    kept = {key: value for key, value in refined.info.items() if key not in DROPPED}
    refined = replace(
        refined,
        method=f"{solution.method.removesuffix('+refine')}+refine".removeprefix("+"),
        runtime=solution.runtime + time.perf_counter() - began,
        info={**kept, "refined_from": solution.length},
    )
    if solution.info.get("relays"):  # which is put back for the same longest edge
        longest = solution.info.get("max_edge", float(solution.edge_lengths().max()))
        refined = refined.with_max_edge(longest)
    try:
        return refined.validate()
    except TreeError as error:
        raise InternalError(f"refine made an invalid tree: {error}") from None


def _shortened(solution: Solution) -> Solution:
    """Return the solution on its refined tree, with what is still known about its length."""
    plane = None if solution.crs is None else plane_of(solution.crs, solution.plane_crs)
    nodes = solution.coordinates if plane is None else plane.into(solution.coordinates)
    problem = Problem.of(as_points(nodes[: len(solution.terminals)]))
    steiner, edges = _refined(problem, nodes[len(solution.terminals) :], solution.edges)
    length = tree_length(np.concatenate((problem.terminals, steiner)), edges)
    if length > solution.length * (1 + ROUNDING):
        return solution  # merging points that nearly coincide can cost more than is gained
    length = min(length, solution.length)
    return replace(
        solution,
        steiner_points=steiner if plane is None else plane.back(steiner),
        edges=edges,
        length=length,
        **_claims(solution, length),
    )


def _refined(problem: Problem, steiner: FloatArray, edges: IntArray) -> tuple[FloatArray, IntArray]:
    """Refine a tree over a problem's terminals, in its frame and over its distinct points."""
    inside, distinct = problem.frame.into(steiner), len(problem.points)
    if distinct <= 2:
        inside, links = np.empty((0, 2)), np.array([[0, 1]][: distinct - 1], dtype=np.int64)
    else:
        if distinct < len(problem.terminals):
            edges = merged_edges(problem.points, problem.owner, inside, edges)
        inside, links = refine_tree(problem.points, inside, edges)
    return problem.frame.back(inside), terminal_edges(problem, links.reshape(-1, 2))


def _claims(solution: Solution, length: float) -> dict[str, Any]:
    """Return bound and status beside the new length; claims that it contradicts are withdrawn."""
    bound = solution.lower_bound
    if bound is None and solution.status == "optimal":
        bound = solution.length
    if bound is None:
        return {}
    if not is_contradicted(bound, length):
        return {"lower_bound": min(bound, length)}
    record = report_contradiction(solution.method, solution.terminals, bound, length)
    info = {**solution.info, "contradiction": record}
    return {"lower_bound": None, "status": "feasible", "info": info}
