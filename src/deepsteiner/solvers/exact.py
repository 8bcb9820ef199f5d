"""`exact`: the shortest tree, with proof.

A shortest tree is a union of full Steiner trees (FSTs) that meet at terminals only. Generation
lists every FST that could be needed (Winter and Zachariasen 1997); concatenation chooses the
cheapest ones that connect everything (Warme, Winter and Zachariasen 2000), by dynamic programmes
where the list falls into narrow pieces and by linear programming with branch and cut elsewhere.

Guarantee: the shortest tree, proven, when the status is "optimal"; a proven bound otherwise. Time:
exponential in the worst case, since the problem is NP-hard; on uniform points about linear in n (a
millisecond or less for each, and 40 kB), on whole lattices and drilled boards far more. The tree
does not depend on the number of threads, nor on tiles, in which the list is generated where there
are many points or an executor is given: then memory depends on the tiles under way (and on how far
full Steiner trees reach around them), and on the list, which this process holds.

P. Winter and M. Zachariasen, "Euclidean Steiner minimum trees: an improved exact algorithm",
Networks 30 (1997) 149-166. D. M. Warme, P. Winter and M. Zachariasen, "Exact algorithms for plane
Steiner tree problems: a computational study", Advances in Steiner Trees (2000) 81-116. D. Juhl,
D. M. Warme, P. Winter and M. Zachariasen, "The GeoSteiner software package for computing Steiner
trees in the plane: an updated computational study", Mathematical Programming Computation 10 (2018)
487-532, doi:10.1007/s12532-018-0135-8.

>>> import deepsteiner as ds
>>> ds.solve([[0, 0], [1, 0], [0, 1], [1, 1]], "exact")  # doctest: +ELLIPSIS
<Solution exact: 4 terminals, 2 Steiner points, length 2.73205, gap 0 %, optimal, ...>
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import FormatError, OptionError
from ..core.options import EffortName, describe, option
from ..core.points import FloatArray, Frame, IntArray
from ..core.proofs import is_contradicted, report_contradiction
from ..core.solution import Solution
from ..core.trees import tree_length
from ..fst.select.hypergraph import Claims
from ..geometry.start import start_tree
from ..io.atomic import check_can_write
from ..run.method import Batch, BatchTrees, MethodInfo, Run, Tree
from ..run.threads import cores, share
from ..run.watch import Stopped
from .batches import SmallTrees

if TYPE_CHECKING:
    from ..fst.trees import FullTrees

_log = logging.getLogger(__name__)

# The only bound that is proven before the list of FSTs is complete (Chung and Graham 1985).
STEINER_RATIO = 0.82416
# From here on a good tree is searched for first, in a small share of the time. Below, that is only
# worth loading its kernels where a limit may end the proof.
GOOD_START_FROM = 200
# Where a limit leaves this much for each point, the tree to begin from is a better one.
DEFAULT_SECONDS = 2e-3
# From here on a solve uses every core unless told otherwise.
MANY = 2000
# Points of a tile, in which an executor's workers generate: about 1.5 GB for each worker.
TILE_POINTS = 20_000
# Up to so many points this process generates in one piece, with about 30 kB for each; beyond, in
# tiles that have so many points together, of those its threads have under way.
ONE_PIECE, UNDER_WAY = 200_000, 125_000
# Up to here a whole solve is one kernel call, which nearly always needs no linear programme.
BATCH_LIMIT = 20


@dataclass(frozen=True)
class Options:
    """The exact solver's options."""

    max_fst_size: int | None = option(
        None, "largest full Steiner tree, in terminals; the tree is then not proven", minimum=2
    )
    max_work: int | None = option(
        None, "give up after this many slices of work (about 1 ms each)", minimum=1
    )
    save_fsts: str | None = option(None, "write the list of full Steiner trees to this .npz")
    load_fsts: str | None = option(
        None, "use the list of an earlier run of the same points; a proof needs one of your own"
    )
    start: Solution | None = option(None, "a Solution of the same points to begin from")
    threads: int | None = option(
        None, f"threads; None: one, and every core from {MANY} points on", minimum=1
    )
    tile: int | None = option(
        None,
        f"points of a tile; None: {TILE_POINTS} with an executor, else one piece up to {ONE_PIECE} "
        f"points and {UNDER_WAY} for all threads together beyond",
        minimum=100,
    )


INFO = MethodInfo(
    name="exact",
    summary="full Steiner trees, concatenated by dynamic and linear programming to proof",
    guarantee="the shortest tree, proven, when the status is optimal; a proven bound otherwise",
    options=describe(Options),
    strict=True,
    supports=frozenset({"obstacles", "existing", "an executor"}),
)


def solve(run: Run, options: Options, known: Tree | None = None) -> Tree:
    """Solve one instance to proof, or as far as the limits allow.

    `known` is a tree that the caller has; like `start` it is returned where none shorter is found,
    and no proof that it contradicts is handed out.
    """
    n = len(run.points)
    if run.network is not None and run.plane is not None:
        from .both.proof import solve_exact as solve_both

        return solve_both(run, options != Options())
    if run.network is not None:
        from .joining.proof import solve_exact as solve_joining

        return solve_joining(run, options != Options())
    if run.plane is not None:
        from .around.proof import solve_exact

        return solve_exact(run, options != Options())
    if n <= BATCH_LIMIT and can_batch(options) and run.trace is None:
        small = _Small(run.points[None])
        if run.monitor.report("kernel"):
            small.solve(0, 1)
        shortest = np.inf if known is None else run.length(known.steiner, known.edges)
        if small.claims.proven[0] and not is_contradicted(small.claims.lengths[0], shortest):
            tree = small.tree()
            run.monitor.report("done", 1, 1, tree.lower_bound, tree.lower_bound)
            return tree
    return _Solve(run, options, known).run()


class _Solve:
    """One run: the best tree so far, the best proven bound, and what to tell about it."""

    def __init__(self, run: Run, options: Options, known: Tree | None = None) -> None:
        from ..geometry.spanning_trees import minimum_spanning_tree

        self.request = run
        self.options = options
        self.slices = 0
        self.info: dict[str, Any] = {}
        edges = minimum_spanning_tree(run.points, threads=self._threads())
        self.best = Tree(np.empty((0, 2)), edges)
        self.length = tree_length(run.points, edges)
        self.bound = STEINER_RATIO * self.length
        self.spanning = edges
        if options.start is not None:
            self._offer(*start_tree(options.start, run.points, run.frame))
        if known is not None:
            self._offer(known.steiner, known.edges)

    def run(self) -> Tree:
        run = self.request
        if self.options.save_fsts is not None:
            check_can_write(self.options.save_fsts)
        tile = self._tile()
        if not run.monitor.report("start", 0, 0, self.length, self.bound):
            return self._finished(optimal=False)
        self._begin_well()
        began = time.perf_counter()
        try:
            trees = self._list(tile)
        except Stopped:
            return self._finished(optimal=False)
        self.info["generation"] = {**trees.stats, "seconds": time.perf_counter() - began}
        if self.options.save_fsts is not None:
            self._save(trees, self.options.save_fsts)
        if run.trace is not None:
            run.trace.append(_list_record(trees, run.frame))
        if self._out_of_work() or run.monitor.stop_reason is not None:
            self._take_greedily(trees)
            return self._finished(optimal=False)
        return self._concatenate(trees)

    def _begin_well(self) -> None:
        """Find a good tree: for upper bounds, and to be returned where a limit ends the proof."""
        from . import local

        run, n = self.request, len(self.request.points)
        left = run.monitor.remaining()
        if self.best.steiner.size or (n < GOOD_START_FROM and np.isinf(left)):
            return
        ample = np.isfinite(left) and left > DEFAULT_SECONDS * n
        effort: EffortName = "default" if ample else "fast"
        options = local.Options(effort=effort, threads=self._threads())
        run.monitor.known = (self.length, self.bound)
        tree = local.solve(replace(run, trace=None), options)
        run.monitor.known = (None, None)
        self._offer(tree.steiner, tree.edges)

    def _list(self, tile: int | None) -> FullTrees:
        """Generate the list of FSTs, or load the one given."""
        from ..fst.enumerate.complete.generate import generate
        from ..fst.trees import FullTrees

        if self.options.load_fsts is None:
            limit, points = self.options.max_fst_size, self.request.points
            if tile is not None:
                return self._list_in_tiles(tile, limit)
            return generate(
                points, max_size=limit, keep_going=self._go_on, threads=self._threads(),
                spanning=self.spanning,
            )  # fmt: skip
        path = self.options.load_fsts
        trees = FullTrees.load(path)
        if not np.array_equal(trees.points, self.request.points):
            raise OptionError(
                f"{path} holds the full Steiner trees of other points; "
                "the points must be those it was made from"
            )
        self.info["load_fsts"] = {"complete": trees.complete, "doubt": trees.doubt}
        if trees.doubt:
            _log.warning("%s: %s", path, trees.doubt)
        return trees

    def _tile(self) -> int | None:
        """Return how many points a tile has, None where the list is made in one piece."""
        from ..fst.enumerate.tiled.generate import LEAST

        options, n = self.options, len(self.request.points)
        tile = options.tile
        if options.max_work is not None:
            if self.request.hands is not None or tile is not None:
                other = "an executor" if tile is None else "together with tile"
                raise OptionError(f"max_work counts work in one piece; it cannot be given {other}")
            return None
        if tile is None and self.request.hands is not None:
            tile = TILE_POINTS
        if tile is None and n > ONE_PIECE:
            tile = max(TILE_POINTS, UNDER_WAY // self._threads())
        return None if tile is None or n <= max(tile, LEAST) else tile

    def _list_in_tiles(self, tile: int, max_size: int | None) -> FullTrees:
        from ..fst.enumerate.tiled.generate import generate_in_tiles
        from ..fst.enumerate.tiled.threads import ThreadHands

        run = self.request
        hands = run.hands or ThreadHands(self._threads(), run.monitor.report)
        run.monitor.known = (self.length, self.bound)
        try:
            return generate_in_tiles(
                run.points, hands, tile=tile, max_size=max_size, spanning=self.spanning
            )
        finally:
            run.monitor.known = (None, None)

    def _threads(self) -> int:
        many = len(self.request.points) >= MANY and self.options.max_work is None
        return self.options.threads or (cores() if many else 1)

    def _save(self, trees: FullTrees, path: str) -> None:
        """Write the list; what goes wrong then must not cost the tree."""
        try:
            trees.save(path)
        except FormatError as error:
            self.info["save_fsts"] = str(error)
            _log.warning("%s", error)

    def _go_on(self, phase: str, done: int, total: int) -> bool:
        from ..fst.enumerate.complete.generate import WAITING

        self.slices += phase != WAITING
        if self._out_of_work():
            return False
        return self.request.monitor.report(phase, done, total, self.length, self.bound)

    def _out_of_work(self) -> bool:
        return self.options.max_work is not None and self.slices > self.options.max_work

    def _concatenate(self, trees: FullTrees) -> Tree:
        from ..fst.select.exact.concatenation import SLICES, concatenate
        from ..geometry.relaxation import refine

        run = self.request

        def go_on(phase: str, done: int, total: int, length: float, bound: float) -> bool:
            if trees.complete:
                self.bound = max(self.bound, bound)
            self.slices += SLICES[phase]
            if self._out_of_work():
                return False
            shortest = min(length, self.length)
            return run.monitor.report(phase, done, total, shortest, min(self.bound, shortest))

        start = None
        if self.best.steiner.size:
            strict = refine(run.points, self.best.steiner, self.best.edges)
            trees, start = trees.including(*strict)
        choice = concatenate(
            trees, keep_going=go_on, trace=run.trace is not None, start=start,
            threads=self._threads(),
        )  # fmt: skip
        self.info["concatenation"] = dict(choice.stats)
        if trees.complete:
            self.bound = max(self.bound, choice.lower_bound)
        if run.trace is not None:
            run.trace.extend(_round_record(record, run.frame) for record in choice.rounds)
        picked = np.zeros(len(trees), dtype=np.bool_)
        picked[choice.selected] = True
        self._offer(*trees.union(picked))
        return self._finished(optimal=trees.complete and choice.optimal)

    def _take_greedily(self, trees: FullTrees) -> None:
        """Make the most of an unfinished list: a greedy choice from it, locally improved."""
        from ..fst.select.exact.subset_kernels import greedy_tree, share_order
        from ..geometry.relaxation import refine

        picked, graph = np.zeros(len(trees), dtype=np.bool_), trees.graph
        if np.isfinite(greedy_tree(graph, share_order(graph), picked)):
            self._offer(*trees.union(picked))
        self._offer(*refine(trees.points, self.best.steiner, self.best.edges))

    def _offer(self, steiner: FloatArray, edges: IntArray) -> None:
        """Keep the tree if it is the shortest so far."""
        length = self.request.length(steiner, edges)
        if length < self.length:
            self.best, self.length = Tree(steiner, edges), length

    def _finished(self, *, optimal: bool) -> Tree:
        from ..fst.select.exact.witness_kernels import witness_length

        run = self.request
        witness = float(witness_length(run.points, self.spanning))
        if is_contradicted(self.bound, min(self.length, witness)):
            return self._withdrawn(witness)
        bound = min(self.bound, self.length)  # rounding may set it a few bits above
        run.monitor.report("done", 1, 1, self.length, bound)
        return Tree(self.best.steiner, self.best.edges, bound, optimal, self.info)

    def _withdrawn(self, witness: float) -> Tree:
        """Return the best tree without a claim: a known tree is shorter than the proven bound."""
        from ..geometry.relaxation import refine

        run = self.request
        self._offer(*refine(run.points, np.empty((0, 2)), self.spanning))
        self._offer(*refine(run.points, self.best.steiner, self.best.edges))
        unit, shortest = run.frame.unit, min(self.length, witness)
        self.info["contradiction"] = report_contradiction(
            "exact", run.frame.back(run.points), self.bound * unit, shortest * unit
        )
        run.monitor.report("done", 1, 1, self.length)
        return Tree(self.best.steiner, self.best.edges, info=self.info)


def _list_record(trees: FullTrees, frame: Frame) -> dict[str, Any]:
    records = []
    for index in range(len(trees)):
        terminals, steiner, edges = trees.tree(index)
        records.append(
            {
                "terminals": terminals.tolist(),
                "steiner_points": frame.back(steiner).tolist(),
                "edges": edges.tolist(),
                "length": float(trees.length[index]) * frame.unit,
            }
        )
    return {"stage": "full trees", "complete": trees.complete, "trees": records}


def _round_record(record: dict[str, Any], frame: Frame) -> dict[str, Any]:
    scaled = {
        name: None if record.get(name) is None else float(record[name]) * frame.unit
        for name in ("value", "length")
    }
    return {"stage": "round", **record, **scaled}


def can_batch(options: Options) -> bool:
    """Return whether `solve_batch` serves these options: it knows none but the defaults."""
    return options == Options()


def solve_batch(batch: Batch, options: Options) -> BatchTrees:
    """Solve many small instances of one size, each by one kernel call."""
    small = _Small(batch.points)
    share(len(batch.points), small.solve)
    lengths, proven, _ = small.claims
    for b in np.flatnonzero(~proven).tolist():  # too wide for the kernel's dynamic programme
        tree = _Solve(batch.run(b), options).run()
        small.put(b, tree.steiner, tree.edges)
        lengths[b] = np.nan if tree.lower_bound is None else tree.lower_bound
        proven[b] = tree.optimal
    return small.packed(optimal=proven, lower_bounds=lengths)


class _Small(SmallTrees):
    """Small instances, with what the kernel proves and lists of each."""

    def __init__(self, points: FloatArray) -> None:
        super().__init__(points)
        count = len(points)
        self.claims = Claims(
            np.empty(count), np.zeros(count, dtype=np.bool_), np.empty(count, dtype=np.int64)
        )

    def solve(self, first: int, last: int) -> None:
        """Solve the instances first..last."""
        from ..fst.select.exact.small_solve_kernels import solve_span

        solve_span(self.points, self.rows, self.claims, first, last)

    def tree(self) -> Tree:
        """Return the only instance's tree, proven shortest."""
        info = {"generation": {"trees": int(self.claims.listed[0])}}
        return Tree(*self.get(0), float(self.claims.lengths[0]), True, info)
