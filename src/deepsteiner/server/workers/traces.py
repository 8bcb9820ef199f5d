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
        chosen = np.array(record["chosen"])
        offsets = np.array(record["candidates"]) - chosen
        steps.append(
            {
                **record,
                "chosen_index": int(np.argmin(np.hypot(*offsets.T))),
                "edges": minimum_spanning_tree(np.array(step)).tolist(),
            }
        )
        if record["kept"]:
            nodes = step
    return steps


def proof(records: Records, solution: Solution) -> dict[str, Any]:
    """Return the full Steiner trees, the linear programmes round by round, and what was chosen.

    Terminals are numbered as in the solution; points that repeat another take no part.
    """
    if not records:  # one or two distinct points, or no time at all
        return {
            "complete": solution.status == "optimal",
            "fsts": [],
            "rounds": [],
            "chosen": [],
            "lower_bound": solution.lower_bound,
        }
    first = Problem.of(solution.terminals).first.tolist()
    listed = records[0]
    trees = [
        {**tree, "terminals": [first[t] for t in tree["terminals"]]} for tree in listed["trees"]
    ]
    rounds = [
        {
            "node": record.get("node", 0),
            "value": record["value"],
            "length": record["length"],
            "x": record.get("x", []),
            "violated": [[first[t] for t in members] for members in record.get("sets", [])],
        }
        for record in records[1:]
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
    n = len(solution.terminals)
    owner = list(range(n + len(solution.steiner_points)))

    def find(node: int) -> int:
        while owner[node] != node:
            owner[node] = node = owner[owner[node]]
        return node

    components = []
    for a, b in solution.edges.tolist():
        if a >= n and b >= n:
            owner[find(a)] = find(b)
    around: dict[int, set[int]] = defaultdict(set)
    for a, b in solution.edges.tolist():
        if a < n and b < n:
            components.append(frozenset((a, b)))
        for terminal, steiner in ((a, b), (b, a)):
            if terminal < n <= steiner:
                around[find(steiner)].add(terminal)
    return components + [frozenset(members) for members in around.values()]
