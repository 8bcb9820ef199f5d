"""Odd maps: no invalid edge, no wrong proof, no exception.

Maps of slivers, boxes that touch, share walls, nest or repeat, walls of no width, collinear
corners, rings with holes, random convex polygons; terminals on edges and corners, in holes, and
free. Of every map `exact` must give a valid tree (shapely checks every edge), not longer than those
of `local` and `mst` where it claims a proof, not shorter than the tree without obstacles or with
one obstacle less, and a bound that no tree is below. With few terminals a grid graph with the
corners, solved by Dreyfus and Wagner's programme, must not be shorter either. With `--existing`
every map has lines and areas to join as well, some of them optional, some through obstacles.

    python benchmarks/fuzz_maps.py --count 10000 --workers 2 --seconds 900 --out wrong.jsonl

A fault is printed with the number of its map; `--seed NUMBER --count 1` repeats it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import shapely

import deepsteiner as ds

SLACK = 1e-8
LATTICE = np.arange(-4, 5) / 4
MOST_ON_GRID = 4
WARMING = 12
"""Maps tried before workers start, so that kernels are compiled once."""
LONGEST = 3600.0
"""Seconds after which workers of which nothing is heard are given up."""
HAIR = 1e-12
"""The length of an edge to a part of a network: no length would be no edge."""
FEW = 30
"""So many maps without an answer are told by their numbers."""


def sliver(random: np.random.Generator, x: float, y: float, w: float, h: float) -> list[Any]:
    """A box so low that hardly anything is inside."""
    return [shapely.box(x, y, x + w, y + float(random.choice([1e-14, 1e-11, 1e-8, 1e-4])))]


def thin_triangle(random: np.random.Generator, x: float, y: float, w: float, h: float) -> list[Any]:
    """A triangle with an angle of next to nothing."""
    return [shapely.Polygon([(x, y), (x + w, y + h), (x + w, y + h * (1 + 1e-9))])]


def flat_ring(random: np.random.Generator, x: float, y: float, w: float, h: float) -> list[Any]:
    """A wall of no width, given as a ring."""
    return [[[x, y], [x + w, y + h], [x, y]]]


def collinear(random: np.random.Generator, x: float, y: float, w: float, h: float) -> list[Any]:
    """Corners in the middle of a side."""
    return [shapely.Polygon([(x, y), (x + w / 2, y), (x + w, y), (x + w, y + h), (x + w, y + h)])]


def nested(random: np.random.Generator, x: float, y: float, w: float, h: float) -> list[Any]:
    """A box in a box, sharing a corner; both twice."""
    return [shapely.box(x, y, x + w, y + h), shapely.box(x, y, x + w / 2, y + h / 2)] * 2


def touching(random: np.random.Generator, x: float, y: float, w: float, h: float) -> list[Any]:
    """Two boxes that touch in a point, and one that shares a wall with the first."""
    return [
        shapely.box(x, y, x + w, y + h),
        shapely.box(x + w, y + h, x + 1, y + 1),
        shapely.box(x - w, y, x, y + h),
    ]


def holed(random: np.random.Generator, x: float, y: float, w: float, h: float) -> list[Any]:
    """A box with a hole, now and then open at one side."""
    whole = shapely.box(x, y, x + w, y + h)
    hole = shapely.box(x + w / 4, y + h / 4, x + 3 * w / 4, y + 3 * h / 4)
    gate = shapely.box(x + w / 2, y + h / 2, x + w, y + 0.6 * h)
    return [whole - hole - gate if random.random() < 0.6 else whole - hole]


def convex(random: np.random.Generator, x: float, y: float, w: float, h: float) -> list[Any]:
    """A random convex polygon."""
    turn = np.sort(random.random(int(random.integers(3, 8)))) * 2 * np.pi
    return [shapely.Polygon(np.c_[x + w * np.cos(turn), y + h * np.sin(turn)]).convex_hull]


def bow(random: np.random.Generator, x: float, y: float, w: float, h: float) -> list[Any]:
    """A ring that crosses itself."""
    return [[[x, y], [x + w, y + h], [x + w, y], [x, y + h]]]


FAMILIES = (
    sliver, thin_triangle, flat_ring, collinear, nested, touching, holed, convex, bow,
)  # fmt: skip


def odd_map(seed: int) -> tuple[np.ndarray, list[Any]]:
    """Return points and obstacles; points are outside the obstacles or on them."""
    random = np.random.default_rng(seed)
    shapes: list[Any] = []
    for _ in range(int(random.integers(1, 5))):
        x, y = random.choice(LATTICE, 2) if random.random() < 0.7 else random.uniform(-1, 1, 2)
        w, h = random.choice([0.25, 0.5, 0.75], 2)
        shapes += FAMILIES[int(random.integers(len(FAMILIES)))](random, x, y, w, h)
    polygons = [one if hasattr(one, "geom_type") else shapely.Polygon(one) for one in shapes]
    whole = shapely.union_all(shapely.make_valid(np.array(polygons, dtype=object)))
    corners = shapely.get_coordinates(whole)
    middles = (corners[1:] + corners[:-1]) / 2
    points = np.concatenate((
        random.permutation(corners)[: random.integers(0, 3)],
        random.permutation(middles)[: random.integers(0, 3)],
        random.choice(LATTICE, (2, 2)) + random.choice([0.0, 1e-13, 0.1]),
        random.uniform(-1.2, 1.2, (int(random.integers(1, 5)), 2)),
    ))  # fmt: skip
    inner = shapely.buffer(whole, -1e-12)
    return points[~shapely.contains_properly(inner, shapely.points(points))], shapes


def odd_network(seed: int) -> list[Any]:
    """Return lines and boxes to join, now and then optional; they cross obstacles, and touch."""
    random = np.random.default_rng([seed, 1])
    found: list[Any] = []
    for _ in range(int(random.integers(1, 4))):
        size = (int(random.integers(2, 5)), 2)
        line = (
            random.choice(LATTICE, size) if random.random() < 0.6 else random.uniform(-1, 1, size)
        )
        if (line == line[0]).all():
            continue
        one: Any = shapely.LineString(line)
        if random.random() < 0.2 and (line[0] != line[1]).all():
            one = shapely.box(*np.sort(line[:2], axis=0).ravel())
        found.append((one, "optional") if random.random() < 0.4 else one)
    return found


def grid_length(
    points: np.ndarray, obstacles: list[Any], step: float, parts: Sequence[tuple[Any, bool]] = ()
) -> float:
    """The shortest tree in a graph: a grid, the points and the corners; never below the optimum.

    `parts` are shapes of a network with whether each must be joined: each is a node at no distance
    from places along it. Dreyfus and Wagner's programme over subsets of the points, on all pairs of
    nodes that see each other within some steps; infinite where that graph is too coarse to connect
    them.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    union = shapely.union_all(shapely.make_valid(np.array(obstacles, dtype=object)))
    low, high = points.min(axis=0) - step, points.max(axis=0) + step
    grid = np.stack(np.meshgrid(*(np.arange(a, b, step) for a, b in zip(low, high, strict=True))))
    along = [_places_along(shape, step / 3) for shape, _ in parts]
    nodes = np.concatenate((points, shapely.get_coordinates(union), grid.reshape(2, -1).T, *along))
    inside = shapely.contains_properly(union, shapely.points(nodes))
    nodes = nodes[~inside | (np.arange(len(nodes)) < len(points))]
    rows, columns = np.triu_indices(len(nodes), 1)
    lengths = np.hypot(*(nodes[rows] - nodes[columns]).T)
    near = (lengths < 4.2 * step) & (lengths > 0.0)
    rows, columns, lengths = rows[near], columns[near], lengths[near]
    lines = shapely.linestrings(np.stack((nodes[rows], nodes[columns]), axis=1))
    free = ~shapely.intersects(shapely.buffer(union, -1e-9), lines)
    rows, columns, lengths = rows[free], columns[free], lengths[free]
    size, ends = len(nodes), list(range(len(points)))
    for shape, needed in parts:
        near = np.flatnonzero(shapely.distance(shape, shapely.points(nodes)) < 1e-9)
        rows = np.append(rows, near)
        columns = np.append(columns, np.full(len(near), size))
        lengths = np.append(lengths, np.full(len(near), HAIR))
        ends += [size] if needed else []
        size += 1
    n = len(ends)
    graph = csr_array((lengths, (rows, columns)), shape=(size, size))
    cost = {1 << k: dijkstra(graph, directed=False, indices=ends[k]) for k in range(n)}
    for subset in range(1, 1 << n):
        if subset in cost:
            continue
        part = (subset - 1) & subset
        best = np.full(size, np.inf)
        while part:
            best = np.minimum(best, cost[part] + cost[subset ^ part])
            part = (part - 1) & subset
        reached = np.flatnonzero(np.isfinite(best))
        start = csr_array(
            (np.append(lengths, best[reached]), (np.append(rows, np.full(len(reached), size)),
                                                 np.append(columns, reached))),
            shape=(size + 1, size + 1),
        )  # fmt: skip
        cost[subset] = dijkstra(start, directed=False, indices=size)[:size]
    return float(cost[(1 << n) - 1][ends[0]])


def _places_along(shape: Any, step: float) -> np.ndarray:
    """Return places along a line or a boundary, its corners among them."""
    return np.asarray(shapely.get_coordinates(shapely.segmentize(shape, step)))


def merged_parts(shapes: list[Any]) -> list[tuple[Any, bool]]:
    """Return shapes that touch as one, with whether it must be joined."""
    given = [one if isinstance(one, tuple) else (one, None) for one in shapes]
    found: list[tuple[Any, bool]] = []
    for shape, word in given:
        here, needed = shape, word is None
        apart = []
        for other, must in found:
            if shapely.distance(here, other) < 1e-9:
                here, needed = shapely.GeometryCollection([here, other]), needed or must
            else:
                apart.append((other, must))
        found = [*apart, (here, needed)]
    return found


@dataclass
class Case:
    """What became of a map, and what was wrong with it."""

    seed: int
    fate: str = ""
    found: list[str] = field(default_factory=list)
    on_grid: bool = False
    seconds: float = 0.0

    def solved(self, what: str, *given: Any, **options: Any) -> Any:
        """Return a solution; None where it was refused or raised, which may be a fault."""
        try:
            return ds.solve(*given, **options)
        except ds.errors.ObstacleError as error:
            if not ("cut off" in str(error) or "inside" in str(error)):
                self.found.append(f"{what} refused: {error}")
            self.fate = self.fate or "refused"
        except Exception as error:  # any other is a fault
            self.found.append(f"{what} raised {type(error).__name__}: {error}")
            self.fate = self.fate or "raised"
        return None


def tried(seed: int, limit: float | None, on_grid: bool, existing: bool = False) -> Case:
    """Return what became of a map, and what was wrong."""
    case, began = Case(seed), time.perf_counter()
    try:
        compare(case, limit, on_grid, odd_network(seed) if existing else [])
    except Exception as error:  # the checks themselves
        case.found.append(f"a check raised {type(error).__name__}: {error}")
    case.seconds = time.perf_counter() - began
    return case


def compare(case: Case, limit: float | None, on_grid: bool, lines: list[Any]) -> None:
    """Solve a map in every way and compare."""
    points, shapes = odd_map(case.seed)
    if len(points) < 2:
        case.fate = "few points"
        return
    joined = {"existing": lines} if lines else {}
    exact = case.solved("exact", points, "exact", obstacles=shapes, time_limit=limit, **joined)
    if exact is None:
        return
    case.fate = exact.status
    bound = exact.lower_bound or 0.0
    others = {}
    for name in ("mst", "local"):
        other = case.solved(name, points, name, obstacles=shapes, **joined)
        if other is None:
            case.found.append(f"{name} has no tree where exact has one")
        else:
            others[name] = other.length
    parts = merged_parts(lines)
    few = len(points) + sum(needed for _, needed in parts) <= MOST_ON_GRID
    if on_grid and few and exact.obstacles:
        polygons = [shapely.Polygon(one[0], one[1:]) for one in exact.obstacles]
        others["grid"] = grid_length(np.unique(points, axis=0), polygons, 0.14, parts)
        case.on_grid = bool(np.isfinite(others["grid"]))
    if {"mst", "local"} <= set(others) and others["local"] > others["mst"] * (1 + SLACK):
        case.found.append("local is longer than mst")
    for name, length in others.items():
        if length < bound * (1 - SLACK):
            case.found.append(f"{name} {length!r} is below the bound {bound!r}")
        if exact.status == "optimal" and length < exact.length * (1 - SLACK):
            case.found.append(f"{name} {length!r} is shorter than the proven {exact.length!r}")
    bare = case.solved("exact without obstacles", points, "exact", **joined)
    if bare is not None and exact.length < bare.length * (1 - SLACK):
        case.found.append("shorter than the tree without obstacles")
    if len(shapes) > 1 and exact.status == "optimal":
        fewer = case.solved(
            "exact with an obstacle less",
            points, "exact", obstacles=shapes[:-1], time_limit=limit, **joined,
        )  # fmt: skip
        if fewer is None:
            case.found.append("no tree with an obstacle less")
        elif (fewer.lower_bound or 0.0) > exact.length * (1 + SLACK):
            case.found.append(f"with an obstacle less the bound is {fewer.lower_bound!r}")
    if bound > exact.length * (1 + SLACK):
        case.found.append("the bound is above the length")
    if len(lines) > 1 and exact.status == "optimal":
        free = [(one[0] if isinstance(one, tuple) else one, "optional") for one in lines]
        more = case.solved("exact with optional lines", points, "exact", obstacles=shapes,
                           time_limit=limit, existing=free)  # fmt: skip
        if more is not None and (more.lower_bound or 0.0) > exact.length * (1 + SLACK):
            case.found.append(f"with optional lines the bound is {more.lower_bound!r}")


Job = tuple[int, float | None, bool, bool]


def _tried(job: Job) -> Case:
    return tried(*job)


def cases(jobs: list[Job], workers: int, until: float) -> Iterator[Case]:
    """Try maps, in several processes, until a time of `perf_counter`."""
    if workers <= 1:
        for job in jobs:
            if time.perf_counter() > until:
                return
            yield tried(*job)
        return
    for job in jobs[:WARMING]:
        yield tried(*job)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        waiting = pool.imap_unordered(_tried, jobs[WARMING:])
        try:
            while True:
                yield waiting.next(min(max(0.01, until - time.perf_counter()), LONGEST))
        except (StopIteration, multiprocessing.TimeoutError):
            pool.terminate()


def main() -> None:
    """Try maps; exit with 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="the first map")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each proof")
    parser.add_argument("--grid", type=int, default=20, help="every so manieth map on a grid, too")
    parser.add_argument("--existing", action="store_true", help="with lines to join")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no map after so many")
    parser.add_argument("--out", type=Path, help="file for what is wrong, a line of JSON each")
    arguments = parser.parse_args()
    jobs = [
        (seed, arguments.time_limit, seed % arguments.grid == 0, arguments.existing)
        for seed in range(arguments.seed, arguments.seed + arguments.count)
    ]
    fates: Counter[str] = Counter()
    began, wrong, slowest = time.perf_counter(), 0, Case(arguments.seed)
    tried_maps = 0
    if arguments.out:
        arguments.out.write_text("")
    silent = {job[0] for job in jobs}
    for case in cases(jobs, arguments.workers, began + arguments.seconds):
        silent.discard(case.seed)
        tried_maps += 1
        fates[case.fate] += 1
        fates["also on a grid"] += case.on_grid
        slowest = max(slowest, case, key=lambda one: one.seconds)
        wrong += len(case.found)
        lines = [json.dumps({"seed": case.seed, "fault": one}) for one in case.found]
        for one in case.found:
            print(f"map {case.seed}: {one.splitlines()[0]}", flush=True)
        if arguments.out and lines:
            with arguments.out.open("a") as file:
                file.write("\n".join(lines) + "\n")
    print(
        f"{tried_maps} of {arguments.count} maps from {arguments.seed} on in "
        f"{time.perf_counter() - began:.0f} s: {dict(fates)}; {wrong} faults; the slowest was map "
        f"{slowest.seed} with {slowest.seconds:.1f} s"
    )
    if 0 < len(silent) <= FEW:
        print(f"no answer in time: {sorted(silent)}")
    raise SystemExit(1 if wrong or not fates else 0)


if __name__ == "__main__":
    main()
