"""Shortest trees that join existing networks, proven: what `exact` does where there are any.

Full Steiner trees over terminals and parts of the network are listed (`fst.enumerate.networks`) and
concatenated with every part as one node, optional where no terminal is on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import OptionError
from ...core.proofs import is_contradicted, report_contradiction
from ...run.method import Run, Tree
from .case import Case, Piece, looks_at_all_pairs, spanning, total

if TYPE_CHECKING:
    from ...fst.enumerate.networks.generate import NetworkTrees

# No tree of points is shorter, as a share of their spanning tree (Chung and Graham 1985).
STEINER_RATIO = 0.82416


def first_bound(case: Case, spanning_length: float) -> float:
    """Return what is proven before the list is complete.

    Fix the places where a shortest tree joins the network. Each of its full trees is at least
    STEINER_RATIO times as long as a spanning tree of its leaves, and the links of these connect
    all mandatory nodes. Where there are optional parts in between, doubling the links makes a walk
    through all mandatory nodes: half a spanning tree under shortest chains is no longer. Of many
    nodes the spanning tree is not known to be a minimum one.
    """
    if not looks_at_all_pairs(case):
        return 0.0
    share = STEINER_RATIO if case.mandatory == case.count else 0.5 * STEINER_RATIO
    return share * spanning_length


def solve_exact(run: Run, has_options: bool) -> Tree:
    """Return the shortest tree, proven, or as far as the limits allow."""
    if has_options:
        raise OptionError("exact takes no options of its own where there is an existing network")
    case = Case.of(run)
    if case.mandatory < 2:
        run.monitor.report("done", 1, 1, 0.0, 0.0)
        return case.tree([], lower_bound=0.0, optimal=True)
    return _Proof(case, spanning(case)).go()


class _Proof:
    """One run: the best tree so far, and the best proven bound."""

    def __init__(self, case: Case, best: list[Piece]) -> None:  # a spanning tree
        self.case, self.best = case, best
        self.length = total(best)
        self.bound = first_bound(case, self.length)
        self.info: dict[str, Any] = {}

    def go(self) -> Tree:
        """List full trees, choose, and say what is proven."""
        from ...fst.enumerate.networks.generate import generate
        from ...fst.enumerate.networks.site import site_of
        from ...fst.select.optional.concatenation import concatenate

        case, run = self.case, self.case.run
        if not self._go_on("start", 0, 0):
            return self._finished(False)
        if run.monitor.time_limit is not None:  # the proof may not be finished
            from .search import improved

            self.best = improved(case, self.best, "fast")
            self.length = total(self.best)
        site, distance = site_of(case.layout, case.mandatory)
        trees = generate(site, case.layout, distance, self._go_on)
        self.info = {"trees": len(trees), "branches": trees.branches}
        if not trees.complete:
            return self._finished(False)
        choice = concatenate(trees.nodes, trees.length, case.count, case.mandatory, self._go_on)
        self.bound = max(self.bound, min(choice.lower_bound, self.length))
        if run.trace is not None:
            self._record(trees, choice.rounds)
        if len(choice.picked):
            found = chosen(trees, choice.picked)
            if is_contradicted(choice.lower_bound, self.length):
                return self._withdrawn(choice.lower_bound)
            if total(found) <= self.length:
                self.best, self.length = found, total(found)
        return self._finished(choice.optimal)

    def _record(self, trees: NetworkTrees, rounds: int) -> None:
        run = self.case.run
        listed = [
            {
                "nodes": nodes.tolist(),
                "places": run.frame.back(spots).tolist(),
                "edges": edges.tolist(),
                "length": float(length) * run.frame.unit,
            }
            for nodes, spots, edges, length in zip(
                trees.nodes, trees.spots, trees.edges, trees.length, strict=True
            )
        ]
        assert run.trace is not None
        run.trace.append({"stage": "full trees", "complete": trees.complete, "trees": listed})
        bound, length = self.bound * run.frame.unit, self.length * run.frame.unit
        run.trace.append({"stage": "choice", "rounds": rounds, "bound": bound, "length": length})

    def _go_on(self, phase: str, done: int, total: int, bound: float = 0.0) -> bool:
        self.bound = max(self.bound, min(bound, self.length))
        return self.case.run.monitor.report(phase, done, total, self.length, self.bound)

    def _finished(self, optimal: bool) -> Tree:
        bound = min(self.bound, self.length) or None
        self.case.run.monitor.report("done", 1, 1, self.length, bound)
        return self.case.tree(self.best, lower_bound=bound, optimal=optimal, info=self.info)

    def _withdrawn(self, bound: float) -> Tree:
        """Return the best tree without a claim: it is shorter than the proven bound."""
        run = self.case.run
        unit = run.frame.unit
        self.info["contradiction"] = report_contradiction(
            "exact", run.frame.back(run.points), bound * unit, self.length * unit
        )
        run.monitor.report("done", 1, 1, self.length)
        return self.case.tree(self.best, info=self.info)


def chosen(trees: NetworkTrees, picked: Any) -> list[Piece]:
    """Return some full trees of a list as pieces."""
    rows = np.asarray(picked).tolist()
    return [Piece(trees.nodes[k], trees.spots[k], trees.edges[k]) for k in rows]
