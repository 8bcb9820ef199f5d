"""Traces as the page plays them: the policy's steps, and the exact solver's way to its proof."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from ...core.points import Problem
from ...core.solution import Solution
from ...geometry.spanning_trees import minimum_spanning_tree

Records = list[dict[str, Any]]


def readable_trace(method: str, records: Records, solution: Solution) -> Any:
    """Return the records of `info["trace"]` in the form that the page plays."""
    return policy_steps(records, solution) if method == "policy" else proof(records, solution)


def policy_steps(records: Records, solution: Solution) -> Records:
    """Add to every step which candidate was chosen, and the spanning tree with it.

    `edges` index the terminals and then the points chosen so far, this step's last.
    """
    nodes = solution.terminals.tolist()
    steps = []
    for record in records:
        step = [*nodes, record["chosen"]]
        offsets = np.array(record["candidates"]) - record["chosen"]
        chosen = int(np.argmin(np.hypot(*offsets.T)))
        edges = minimum_spanning_tree(np.array(step)).tolist()
        steps.append({**record, "chosen_index": chosen, "edges": edges})
        if record["kept"]:
            nodes = step
    return steps


def proof(records: Records, solution: Solution) -> dict[str, Any]:
    """Return the full Steiner trees, the linear programmes round by round, and what was chosen.

    Terminals are numbered as in the solution; points that repeat another take no part.
    """
    listed, *later = records or [
        # One or two distinct points, or no time at all.
        {"complete": solution.status == "optimal", "trees": []}
    ]
    first = Problem.of(solution.terminals).first
    trees = [{**one, "terminals": first[one["terminals"]].tolist()} for one in listed["trees"]]
    rounds = [
        {
            "node": record.get("node", 0),
            "value": record["value"],
            "length": record["length"],
            "x": record.get("x", []),
            "violated": [first[members].tolist() for members in record.get("sets", [])],
        }
        for record in later
    ]
    numbers = {frozenset(tree["terminals"]): number for number, tree in enumerate(trees)}
    chosen = [numbers.get(members) for members in full_components(solution)]
    return {
        "complete": listed["complete"],
        "fsts": trees,
        "rounds": rounds,
        "chosen": sorted(number for number in chosen if number is not None),
        "lower_bound": solution.lower_bound,
    }


def full_components(solution: Solution) -> list[frozenset[int]]:
    """Return the terminals of every full component: what hangs together through Steiner points."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, edges = len(solution.terminals), np.sort(solution.edges, axis=1)
    inner = edges[edges[:, 0] >= n]  # both of its ends are Steiner points
    size = n + len(solution.steiner_points)
    graph = coo_array((np.ones(len(inner)), tuple(inner.T)), shape=(size, size))
    label = connected_components(graph, directed=False)[1]
    # An edge between two terminals is a component of its own.
    owners = np.where(edges[:, 1] >= n, label[edges[:, 1]], size + np.arange(len(edges)))
    members: dict[int, set[int]] = defaultdict(set)
    for owner, ends in zip(owners.tolist(), edges.tolist(), strict=True):
        members[owner].update(end for end in ends if end < n)
    return list(map(frozenset, members.values()))
