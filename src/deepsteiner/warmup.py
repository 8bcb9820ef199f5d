"""Calls that between them need every kernel, for every signature in which Python calls it.

`deepsteiner warmup` makes them so that later solves find everything compiled, and a wheel is built
from what they compile. Options are read off the methods, so a new choice of an option is tried by
itself; a kernel that only some size or limit needs must have a call here. A test solves in many
other ways and fails where that compiles anything.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .core.compiled.progress import Event
from .core.errors import DeepSteinerError, MissingDependencyError
from .core.points import FloatArray
from .registry import MODULES, get_method
from .run.processes import Processes

if TYPE_CHECKING:
    from .core.options import OptionInfo
    from .run.monitor import Progress

# Each within a batch kernel, above one, and where windows, regions and pieces begin.
SIZES = (3, 12, 40, 150, 400)
SLOW_SIZES = (3, 12, 70)  # for methods whose time grows fast
SLOW = ("bereta", "greedy", "policy", "rand2")
LARGE = {"local": 11_000, "neural": 11_000, "mst": 11_000, "smith": 11_000, "exact": 2_100}
# Reports after which a solve is told to stop, so that every stage is left once.
STOPS = (1, 2, 3, 5, 8, 13, 21)
LARGE_STOPS = (1, 4, 16)

Call = tuple[str, Callable[[], Any]]


def known_methods(names: Sequence[str]) -> list[str]:
    """Return the methods of these names, or all; say where there is none."""
    for name in names:
        get_method(name, {})
    return list(names or MODULES)


def calls(method: str) -> Iterator[Call]:
    """Yield what to call for a method, with a name for each."""
    from . import api, batch, refinement

    rng = np.random.default_rng(1)
    sizes = SLOW_SIZES if method in SLOW else SIZES
    plain = partial(api.solve, method=method)
    for n in sizes:
        yield f"{method} {n}", partial(_checked, plain, rng.random((n, 2)))
    for options in _variants(method):
        named = " ".join([method, *(f"{name}={value}" for name, value in options.items())])
        for n in (sizes[1], sizes[-1]) if options else ():
            yield f"{named} {n}", partial(plain, rng.random((n, 2)), **options)
        several = partial(batch.solve_many, rng.random((3, 8, 2)), method, **options)
        yield f"{named} batch", several
    yield f"{method} lattice", partial(plain, _lattice(6))
    yield f"{method} trace", partial(plain, rng.random((30, 2)), trace=True)
    for stop in STOPS:
        watched = partial(plain, rng.random((sizes[-1], 2)), on_progress=_Stopping(stop))
        yield f"{method} stopped at {stop}", watched
    for n in (sizes[1], sizes[-1]):
        yield f"{method} {n} limit", partial(plain, rng.random((n, 2)), time_limit=3.0)
    if "start" in _option_names(method):
        for n in (30, 150):
            yield f"{method} started {n}", partial(_started, plain, rng.random((n, 2)))
    if "turns" in _option_names(method):
        yield f"{method} turned", partial(plain, _lattice(9), turns=2)
    yield f"{method} coinciding", partial(plain, np.repeat(rng.random((9, 2)), 2, axis=0))
    yield f"{method} line", partial(plain, np.linspace([0.0, 0.0], [1.0, 3.0], 30))
    yield f"{method} refine", lambda: refinement.refine(plain(rng.random((60, 2))))
    if "obstacles" in get_method(method, {}).info.supports:
        for n in (2, 12, 30):
            yield f"{method} obstacles {n}", partial(_around, plain, rng.random((n, 2)))
    if "existing" in get_method(method, {}).info.supports:
        for n in (1, 12, 60):
            yield f"{method} existing {n}", partial(_joining, plain, rng.random((n, 2)))
        for n in (3, 20):
            yield f"{method} both {n}", partial(_joining, plain, rng.random((n, 2)), True)
    if method == "local":
        priced = partial(plain, rng.random((60, 2)), junction_cost=0.005)
        yield "local junction cost", priced
    if "soft regions" in get_method(method, {}).info.supports:
        soft = partial(_around, plain, rng.random((9, 2)), 1.3)
        yield f"{method} soft regions", soft
    if method in LARGE:
        yield f"{method} {LARGE[method]}", partial(_large, method, api.solve, rng)
    if method == "exact":
        yield "exact lists", partial(_exact_lists, api.solve, rng)
        yield "exact in tiles", partial(_exact_in_tiles, rng.random((280, 2)))
        yield "local cuts", _local_cuts
        yield "optional nodes", _optional_nodes
        yield "probes in parts", _probes_in_parts
    if method == "local":
        yield "tiles", partial(_tiles, rng.random((900, 2)))
    if method == "neural":
        yield "neural on a device", partial(_on_device, rng)
        yield "neural conflicts", _conflicting_changes
    if method == "mst":
        yield "relax", _relaxed
        yield "candidates", partial(_candidates, rng.random((9, 2)))
        yield "relays", partial(_relays, rng.random((40, 2)))
        yield "edits", partial(_edits, rng.random((70, 2)))
        yield "cells at a stop", partial(_cells_at_a_stop, rng.random((20, 2)))


def _around(plain: Callable[..., Any], points: FloatArray, weight: float | None = None) -> None:
    """Solve with a row of triangles between the points of the left and those of the right."""
    apart = points + np.where(points[:, :1] < 0.5, -0.3, 0.3) * [1.0, 0.0]
    shape = np.array([[0.3, 0.0], [0.7, 0.1], [0.5, 0.28]])
    triangles = [shape + np.array([0.0, height]) for height in np.linspace(-0.3, 0.9, 5)]
    plain(apart, obstacles=[(one, weight) for one in triangles], trace=True)


def _cells_at_a_stop(points: FloatArray) -> None:
    """Span points around an obstacle where a limit leaves no time, which needs many of them."""
    try:
        from shapely import box
    except ImportError:
        return
    from .core.points import Frame
    from .plane.plane import Plane
    from .plane.routes import spanning_tree

    plane = Plane.of([box(1.2, 0.0, 1.4, 1.0)], 0.0, Frame(np.zeros(2), 0))
    apart = points + np.where(points[:, :1] < 0.5, 1.5, 0.0) * [1.0, 0.0]
    spanning_tree(plane, apart, np.ones(1, np.int64))


def _exact_in_tiles(points: FloatArray) -> None:
    """Solve on an executor, in tiles that hold a part of the points."""
    from .api import solve
    from .run.executor import HereExecutor

    with HereExecutor() as executor:
        solve(points * [100.0, 3.0], "exact", executor=executor, tile=100)


def _optional_nodes() -> None:
    """Probe and programme a list with nodes that may be left out, as only wide blocks are."""
    from .fst.select.hypergraph import Hypergraph
    from .fst.select.optional.probe_kernels import probe_all, set_up_probes
    from .fst.select.optional.programme import Ask, Programme

    size, terminals = 9, 6
    leaves = [np.array(pair) for pair in combinations(range(size), 2)]
    length = np.random.default_rng(0).random(len(leaves)) + 0.5
    Programme(leaves, length, Ask(size, terminals, np.inf, None)).run(None)
    graph = Hypergraph(size, 2 * np.arange(len(leaves) + 1), np.concatenate(leaves), length)
    probes = set_up_probes(
        graph, np.arange(size) >= terminals, np.empty((0, 0)), np.arange(size), 100.0,
        np.ones(len(leaves), np.bool_),
    )  # fmt: skip
    probe_all(probes, 20, 100, 0, 1)


def _relays(points: FloatArray) -> None:
    """Place relays on the open plane, and between houses."""
    from .relays.place import place_relays

    place_relays(points, 0.1, effort="fast")
    house = np.array([[0.0, 1.2], [1.0, 1.2], [0.5, 1.5]])
    apart = np.concatenate((points, points + np.array([0.0, 1.6])))
    place_relays(apart[::4], 0.2, obstacles=[house])


def _edits(points: FloatArray) -> None:
    """Move a point on the open plane and around an obstacle, of few points again and again."""
    from .api import solve

    tree = solve(points).with_points(move={3: [0.5, 0.5]})
    tree.with_obstacles([np.array([[2.0, 0.0], [3.0, 0.0], [2.5, 1.0]])]).with_points(remove=[1])
    wall = np.array([[0.4, -1.0], [0.6, -1.0], [0.5, 1.0]])
    few = solve([[0.0, 0.0], [1.0, 0.0], [1.0, 0.5], [0.0, 0.4]], obstacles=[wall])
    for x in (-0.1, -0.2):
        few = few.with_points(move={0: [x, 0.0]})


def _joining(plain: Callable[..., Any], points: FloatArray, around: bool = False) -> None:
    """Solve with lines to join, one of them optional; or among obstacles, one through a line."""
    lines = [[[0.1, 0.2], [0.4, 0.3], [0.8, 0.1]], [[0.2, 0.8], [0.3, 0.9]]]
    network = [lines, ([[[0.7, 0.6], [0.9, 0.7]]], "optional")]
    if not around:
        plain(points, existing=network, trace=True)
        return
    apart = points + np.where(points[:, :1] < 0.5, -0.3, 0.3) * [1.0, 0.0]
    shape = np.array([[0.3, 0.0], [0.7, 0.1], [0.5, 0.28]])
    triangles = [shape + np.array([0.0, height]) for height in np.linspace(-0.3, 0.9, 5)]
    plain(apart, existing=network, obstacles=triangles, trace=True)
    plain(apart, existing=network, obstacles=triangles, on_progress=lambda _: True)


def run(
    methods: Sequence[str],
    workers: int,
    told: Callable[[int, int, str], None],
    go_on: Callable[[], bool] = lambda: True,
) -> list[Event]:
    """Make the calls for some methods in worker processes; return which kernels they got ready.

    No kernel is compiled twice: whoever needs one that another process is compiling waits for it.
    `told` hears how many calls are done, of how many, and which was the last.
    """
    queues = [[(method, at) for at in range(len(list(calls(method))))] for method in methods]
    # By turns, since different methods need different kernels.
    items = [one for some in zip_longest(*queues) for one in some if one is not None]
    events: list[Event] = []
    done = 0

    def keep(index: int, found: tuple[str, list[Event]]) -> None:
        nonlocal done
        done += 1
        events.extend(Event(*event) for event in found[1])
        told(done, len(items), found[0])

    with Processes(min(workers, len(items)), _serve, None) as processes:
        processes.run(items, keep, go_on)
    return events


def _serve(item: tuple[str, int], given: None, go_on: Callable[[], bool]) -> tuple[str, list[Any]]:
    """Make one call in a worker process; return its name and the kernels it got ready."""
    from .core.jit import history

    before = len(history)
    name, call = list(calls(item[0]))[item[1]]
    make(call)
    return name, [tuple(event) for event in history[before:]]


def make(call: Callable[[], Any]) -> None:
    """Make a call; what needs a package or a model that is not there is left out."""
    try:
        call()
    except MissingDependencyError:
        pass
    except DeepSteinerError as error:
        if "no model" not in str(error):
            raise


def _variants(method: str) -> Iterator[dict[str, Any]]:
    """Yield the defaults of a method, and what differs from them in one option."""
    yield {}
    for option in get_method(method, {}).info.options:
        for value in _values(option):
            # Of a policy's options only this one has to do with kernels.
            if value != option.default and (method != "policy" or option.name == "refine"):
                yield {option.name: value}
    if method == "local":
        yield {"effort": "fast", "enumerate": "grown", "score": "network"}
    if method == "neural":
        yield {"effort": "best", "pieces": "any"}


def _values(option: OptionInfo) -> Sequence[Any]:
    if option.choices is not None:
        return tuple(option.choices)
    if option.type == "bool":
        return (False, True)
    return (2,) if option.name == "threads" else ()


class _Stopping:
    """A callback that stops a solve at some report."""

    def __init__(self, last: int) -> None:
        self._left = last

    def __call__(self, progress: Progress) -> bool:
        self._left -= 1
        return self._left > 0


def _lattice(side: int) -> FloatArray:
    line = np.arange(float(side))
    return np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)


def _checked(solve: Callable[..., Any], points: FloatArray) -> None:
    """Solve, and do with the solution, whose arrays are read-only, what a server does with it."""
    from .geometry.spanning_trees import minimum_spanning_tree

    solution = solve(points).validate()
    minimum_spanning_tree(solution.terminals)


def _option_names(method: str) -> set[str]:
    return {option.name for option in get_method(method, {}).info.options}


def _started(solve: Callable[..., Any], points: FloatArray) -> None:
    """Begin from the trees of other methods: with Steiner points, and without."""
    for first in ("thompson", "mst"):
        solve(points, start=solve(points, method=first))


def _large(method: str, solve: Callable[..., Any], rng: np.random.Generator) -> None:
    points = rng.random((LARGE[method], 2))
    cheap: dict[str, Any] = {"effort": "fast"} if "effort" in _option_names(method) else {}
    if method == "exact":
        cheap = {"max_work": 300}
    _checked(partial(solve, method=method, **cheap), points)
    for stop in LARGE_STOPS:
        solve(points, method, on_progress=_Stopping(stop), **cheap)
    solve(points * [1.0, 0.0], method, **cheap)  # on a line
    tight = np.concatenate((points[:5000], points[:5000] * 1e-9))
    solve(tight, method, time_limit=1.0, **cheap)


def _exact_lists(solve: Callable[..., Any], rng: np.random.Generator) -> None:
    """Solve with lists that are cut short, kept and loaded."""
    points = rng.random((60, 2))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "list.npz")
        solve(points, "exact", save_fsts=path)
        solve(points, "exact", load_fsts=path)
    solve(points, "exact", max_fst_size=3)
    for work in (1, 3, 10):
        solve(rng.random((250, 2)), "exact", max_work=work)
    # Where dynamic programmes do not serve: a linear programme, cuts and branches.
    side = _lattice(12)
    solve(side + 0.01 * rng.random(side.shape), "exact", max_work=2000)
    solve(_lattice(8), "exact", max_work=2000)


def _local_cuts() -> None:
    """Look for local cuts, which only the widest pieces of a list need."""
    from .fst.select.exact.cutting.local_cuts import LocalCuts
    from .fst.select.exact.prune_kernels import incidence
    from .fst.select.hypergraph import Hypergraph

    lines = [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]
    graph = Hypergraph(7, 3 * np.arange(8), np.ravel(lines), np.ones(7))
    alive = np.ones(7, np.bool_)
    LocalCuts(graph, incidence(graph, alive)).find(np.full(7, 0.45), alive, lambda: True)


def _probes_in_parts() -> None:
    """Probe part by part, as lists of many thousand points are."""
    from .fst.select.exact.probe_kernels import begin_probes, grow_parts, probe_part
    from .fst.select.exact.prune_kernels import own_distances
    from .fst.select.exact.subset_kernels import terminal_prices
    from .fst.select.hypergraph import Hypergraph

    path = np.stack([np.arange(29), np.arange(1, 30)], axis=1)
    graph, alive = (
        Hypergraph(30, 2 * np.arange(30), path.ravel(), np.ones(29)),
        np.ones(29, np.bool_),
    )
    near = own_distances(graph, alive)
    probes = begin_probes(graph, near, terminal_prices(graph), np.inf, alive)
    probe_part(probes, grow_parts(probes, 10, 0), 5, 100, 0, 0)


def _relaxed() -> None:
    """Move a Steiner point, which all methods do as part of something larger."""
    from .geometry.relaxation import relax

    relax([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[0.4, 0.2]], [[0, 3], [1, 3], [2, 3]])


def _candidates(points: FloatArray) -> None:
    """Make candidate points as pictures of them do."""
    from .geometry.candidates import KINDS, CandidateOptions, candidate_points

    for kind in KINDS:
        candidate_points(points, CandidateOptions(candidates=kind))


def _tiles(points: FloatArray) -> None:
    """Solve in tiles, and check the parts of the tree."""
    from .fleet.tiles.solve import solve_tiles

    with tempfile.TemporaryDirectory() as folder:
        solve_tiles(points, str(Path(folder) / "tree"), "local", tile=300, effort="fast")


def _conflicting_changes() -> None:
    """Put two changes of a tree together that close a cycle, which happens in large instances."""
    from .fst.select.hypergraph import Hypergraph
    from .fst.select.search.region_pass_kernels import hang
    from .fst.select.search.regions import Changes, acceptable

    pairs = np.array([[0, 1], [1, 2], [2, 3], [0, 2], [0, 2]])
    graph = Hypergraph(4, 2 * np.arange(6), pairs.ravel(), np.ones(5))
    picked = np.arange(5) < 3
    changes = Changes(np.ones(2), np.array([0, 2, 4]), np.array([0, 3, 1, 4]))
    acceptable(changes, graph, picked, hang(graph, picked))


def _on_device(rng: np.random.Generator) -> None:
    """Do on the processor what `neural` does around a network on another device."""
    from .core.points import Problem
    from .run.method import Run
    from .run.monitor import Monitor
    from .run.watch import never
    from .scoring.device_network import ScoredLists, forward_on
    from .scoring.small_instance_kernels import decide, is_crowded_list
    from .scoring.weights import load_weights
    from .solvers import neural
    from .solvers.search import search

    options = neural.Options()
    weights = load_weights(options.model)
    forward = forward_on("cpu", weights)
    points = rng.random((2, 30, 2))
    plan = neural.small_plan(options, 30)
    trees, logits = ScoredLists(points, plan.largest, forward)[0]
    if not is_crowded_list(trees):
        decide(trees, logits, plan, never())
    problem = Problem.of(rng.random((400, 2)), "merge")
    run = Run(problem.points, problem.frame, Monitor(None, None), 0, "cpu", None)
    pipeline = neural.pipeline(options, 400, "cpu")
    score = replace(pipeline.score, forward=forward)  # type: ignore[type-var]
    search(run, replace(pipeline, score=score), None, 1)
