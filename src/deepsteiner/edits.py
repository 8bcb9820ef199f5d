"""Edits: points or obstacles change, and only what the change reaches is solved again.

A tree falls into full Steiner trees at its terminals. Those that a change touches are taken out,
with all that lie within a region around it, and the region is solved again:

- on the open plane, exactly: what is left outside connects some terminals of the region for
  nothing, and the shortest tree of these groups is found from a complete list (`fst.groups`);
- around obstacles in the same way where nothing of that tree crosses one. Elsewhere the full
  Steiner trees of a region are a connected piece, replaced by a tree of the same terminals.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .api import solve
from .core.errors import InternalError, OptionError, TreeError
from .core.geo import plane_of
from .core.points import FloatArray, IntArray, Problem, as_points
from .core.scalars import as_real, as_whole
from .core.solution import Solution
from .core.surroundings.obstacles import crossing_edges
from .core.trees import tree_length
from .plane.shapes import MITRE_LIMIT, hard_and_soft, load_shapely

FEW = 60
"""Up to so many points all are solved again: that is as quick, and proven."""
NEAR = 32
"""Terminals around a change that are solved again on the open plane,"""
NEAR_OBSTACLES = 14
"""and around obstacles, besides those that must."""
ASIDE = 1.0
"""Obstacles farther from a region, in its extents, matter only where its tree crosses one."""
MANY = 25
"""One change to so many points, or more: then all are solved again."""


def with_points(
    solution: Solution, add: Any = None, move: Mapping[int, Any] | None = None, remove: Any = None
) -> Solution:
    """Return the tree for changed points; see `Solution.with_points`."""
    began = time.perf_counter()
    solution.validate()
    _refuse_relays(solution)
    _refuse_others(solution)
    new, moved, gone = _check_changes(solution, add, move, remove)
    terminals = solution.terminals.copy()
    for index, place in moved.items():
        terminals[index] = place
    stays = np.ones(len(terminals), dtype=np.bool_)
    stays[gone] = False
    points = np.concatenate((terminals[stays], new))
    if not len(points):
        raise OptionError("remove leaves no point; at least one must stay")
    count = len(new) + len(moved) + len(gone)
    if count == 0:
        return solution
    if len(points) <= FEW or count * MANY > len(points):
        return _continued(solution, moved, count) or _afresh(solution, points, solution.obstacles)
    tree = _Editing(solution)
    if solution.obstacles:
        tree.outlines(tree.polygons(), points, 0.0)
    for index in gone:
        tree.change(index, None)
    for index, place in moved.items():
        tree.change(index, place)
    for place in new:
        tree.change(None, place)
    return tree.finished(points, began)


def with_obstacles(solution: Solution, obstacles: Any, clearance: float = 0.0) -> Solution:
    """Return the tree around other obstacles; see `Solution.with_obstacles`."""
    began = time.perf_counter()
    solution.validate()
    _refuse_others(solution)
    _refuse_relays(solution)
    given = solution.terminals
    if len(given) <= FEW:
        return solve(
            given,
            obstacles=obstacles,
            clearance=clearance,
            crs=solution.crs,
            project_to=solution.plane_crs,
        )
    width = as_real(clearance)
    if width is None or not 0.0 <= width < np.inf:
        raise OptionError(f"clearance must be a length of at least 0, got {clearance!r}")
    tree = _Editing(solution)
    hard, soft = hard_and_soft(obstacles)
    if soft:
        raise OptionError("soft regions cannot be changed in a tree; solve its points with them")
    shapes = [load_shapely().transform(one, tree.into) for one in hard]
    tree.obstacles = tree.outlines(shapes, given, width)
    for place in tree.reached_by(solution.obstacles):
        tree.repair(place)
    return tree.finished(given, began)


def _refuse_others(solution: Solution) -> None:
    """Say which trees are not changed but solved anew."""
    others = {
        "joins an existing network": solution.existing,
        "crosses soft regions": solution.regions,
        "has a junction cost": solution.info.get("junction_cost"),
    }
    for what, there in others.items():
        if there:
            raise OptionError(f"a tree that {what} cannot be changed; solve the new points instead")


def _refuse_relays(solution: Solution) -> None:
    if solution.info.get("relays"):
        raise OptionError("the tree has relays; edit the tree without them, then place them again")


def _check_changes(
    solution: Solution, add: Any, move: Mapping[int, Any] | None, remove: Any
) -> tuple[FloatArray, dict[int, FloatArray], list[int]]:
    """Return what is asked for, with every index checked."""
    n = len(solution.terminals)

    def index_of(value: Any, name: str) -> int:
        whole = as_whole(value)
        if whole is None or not 0 <= whole < n:
            raise OptionError(f"{name} must name points by 0 to {n - 1}, got {value!r}")
        return whole

    new = np.empty((0, 2)) if add is None or not len(add) else as_points(add, what="add")
    moved: dict[int, FloatArray] = {}
    if move is not None and not isinstance(move, Mapping):
        raise OptionError(f"move maps an index to a place, got {type(move).__name__}")
    for key, place in (move or {}).items():
        moved[index_of(key, "move")] = as_points([place], what=f"move[{key!r}]")[0]
    listed = [] if remove is None else np.atleast_1d(np.asarray(remove, dtype=object)).tolist()
    gone = sorted({index_of(value, "remove") for value in listed})
    if both := sorted(set(gone) & set(moved)):
        raise OptionError(f"point {both[0]} is both moved and removed; it can be one of them")
    return new, moved, gone


def _continued(solution: Solution, moved: dict[int, FloatArray], count: int) -> Solution | None:
    """Return a proven tree that continues from another one, where just one point moves."""
    if not solution.obstacles or count > 1:
        return None
    from .dragging import dragged

    for index, place in moved.items():
        return dragged(solution, index, place)
    return None


def _afresh(solution: Solution, points: FloatArray, obstacles: Any) -> Solution:
    around: dict[str, Any] = {"crs": solution.crs, "project_to": solution.plane_crs}
    if obstacles:
        polygon = load_shapely().Polygon
        around["obstacles"] = [polygon(one[0], one[1:]) for one in obstacles]
    return solve(points, **around)


@dataclass
class _Parts:
    """Edges by the full Steiner tree that they belong to: its number for every edge."""

    of_edge: IntArray
    count: int


class _Editing:
    """A tree in the plane while it is changed.

    `places` has every node there ever was, `terminal` says which are terminals now, and `given`
    which of the user's points each of them is (new ones follow the old).
    """

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        self.plane = None if solution.crs is None else plane_of(solution.crs, solution.plane_crs)
        self.into: Any = np.asarray if self.plane is None else self.plane.into
        nodes = self.into(solution.coordinates)
        n = len(solution.terminals)
        self.places: FloatArray = np.array(nodes, dtype=np.float64)
        self.terminal = np.arange(len(nodes)) < n
        self.order = list(range(n))  # the node of each of the user's points, -1 where removed
        self.edges: IntArray = np.array(solution.edges)
        self.bend = np.arange(len(nodes)) >= n + len(solution.steiner_points)
        self.obstacles = solution.obstacles
        self.solved = 0  # points of all regions that were solved again

    def polygons(self) -> list[Any]:
        """Return the obstacles as shapes in the plane."""
        polygon = load_shapely().Polygon
        return [
            polygon(self.into(one[0]), [self.into(hole) for hole in one[1:]])
            for one in self.obstacles
        ]

    def outlines(self, shapes: list[Any], points: FloatArray, clearance: float) -> Any:
        """Return obstacles as a solution keeps them; points inside or cut off are refused."""
        from .plane.plane import Plane

        if not shapes:
            return ()
        nodes = as_points(self.into(points))
        low_x, low_y, high_x, high_y = load_shapely().total_bounds(shapes)
        more = MITRE_LIMIT * clearance
        reach = np.array([[low_x - more, low_y - more], [high_x + more, high_y + more]])
        problem = Problem.of(nodes, "merge", reach)
        free = Plane.of(shapes, clearance, problem.frame)
        free.check_terminals(problem.points, problem.first)
        return free.outlines(np.asarray if self.plane is None else self.plane.back)

    def change(self, index: int | None, place: Any) -> None:
        """Move a point, or remove it (no place), or add one (no index), and mend the tree."""
        around = []
        old = None
        if index is not None:
            old = self.order[index]
            around.append(self.places[old])
            self.terminal[old] = False
        new = None
        if place is not None:
            target = self.into(np.reshape(place, (1, 2)))[0]
            new = self._grown(target[None], terminal=True)[0]
            around.append(target)
        if index is None:
            assert new is not None
            self.order.append(new)
        else:
            self.order[index] = -1 if new is None else new
        self._mend(np.array(around), new)

    def repair(self, place: FloatArray) -> None:
        """Solve the region around a place again."""
        self._mend(place[None], None)

    def reached_by(self, before: Any) -> list[FloatArray]:
        """Return places on every full Steiner tree that obstacles, gone or new, may change."""
        shapely = load_shapely()
        lines = shapely.linestrings(self.places[self.edges])
        dirty = np.zeros(len(self.edges), dtype=np.bool_)
        dirty[crossing_edges(self.places, self.edges, self.obstacles, self.into)] = True
        held = {tuple(corner) for one in self.obstacles for ring in one for corner in ring.tolist()}
        known = {tuple(corner) for one in before for ring in one for corner in ring.tolist()}
        for polygons, others in ((before, held), (self.obstacles, known)):
            for one in polygons:
                if all(tuple(corner) in others for corner in one[0].tolist()):
                    continue  # it was there before, and still is
                shape = shapely.Polygon(self.into(one[0]))
                near = shapely.dwithin(lines, shape, 1e-9 * float(np.ptp(self.places)))
                dirty |= near
        labels = self._parts()
        return [
            self.places[self.edges[np.flatnonzero(labels.of_edge == part)[0]]].mean(axis=0)
            for part in np.unique(labels.of_edge[dirty]).tolist()
        ]

    def _grown(self, places: FloatArray, *, terminal: bool, bend: Any = False) -> IntArray:
        """Add nodes; return their numbers."""
        first, count = len(self.places), len(places)
        self.places = np.concatenate((self.places, places))
        self.terminal = np.concatenate((self.terminal, np.full(count, terminal)))
        self.bend = np.concatenate((self.bend, np.broadcast_to(bend, count)))
        return np.arange(first, first + count)

    def _parts(self) -> _Parts:
        """Split the tree at its terminals."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        size = len(self.places)
        inner = self.edges[~self.terminal[self.edges].any(axis=1)]
        graph = coo_array((np.ones(len(inner)), (inner[:, 0], inner[:, 1])), shape=(size, size))
        label = connected_components(graph, directed=False)[1]
        ends = self.edges
        other = np.where(self.terminal[ends[:, 0]], ends[:, 1], ends[:, 0])
        of_edge = np.where(
            self.terminal[other], label.max(initial=0) + 1 + np.arange(len(ends)), label[other]
        )
        _, numbered = np.unique(of_edge, return_inverse=True)
        return _Parts(numbered.astype(np.int64), int(numbered.max(initial=-1)) + 1)

    def _mend(self, around: FloatArray, new: int | None) -> None:
        """Solve the region around some places again; a new terminal is among it."""
        if self.obstacles:
            self._mend_between(around, new)
        else:
            parts = self._parts()
            self._mend_openly(parts, self._must(parts, around), around)

    def _must(self, parts: _Parts, around: FloatArray) -> IntArray:
        """Return the parts that hold together what is a terminal no more, or cross obstacles."""
        degree = np.bincount(self.edges.ravel(), minlength=len(self.places))
        held = self.edges.ravel()
        former = np.zeros(len(self.places), dtype=np.bool_)
        index = np.arange(len(self.places)) < len(self.solution.terminals)
        former[(index & ~self.terminal & (degree > 0))] = True
        found = parts.of_edge[former[held].reshape(-1, 2).any(axis=1)]
        if self.obstacles is not self.solution.obstacles:
            crossing = crossing_edges(self.places, self.edges, self.obstacles, self.into)
            found = np.concatenate((found, parts.of_edge[crossing]))
        return np.unique(found)

    def _terminals_of(self, parts: _Parts, chosen: IntArray) -> IntArray:
        """Return the terminals of some parts."""
        nodes = np.unique(self.edges[np.isin(parts.of_edge, chosen)])
        return nodes[self.terminal[nodes]]

    def _mend_openly(
        self, parts: _Parts, must: IntArray, around: FloatArray, near: int = NEAR
    ) -> bool:
        """Solve a region as if there were no obstacles; whether its tree crosses none."""
        from scipy.spatial import cKDTree

        alive = np.flatnonzero(self.terminal)
        close = cKDTree(self.places[alive]).query(around, k=min(near, len(alive)))[1]
        region = np.union1d(alive[np.unique(close)], self._terminals_of(parts, must))
        inside = np.zeros(len(self.places), dtype=np.bool_)
        inside[region] = True
        leaves = (self.terminal[self.edges] & ~inside[self.edges]).any(axis=1)
        kept_part = np.zeros(parts.count, dtype=np.bool_)
        kept_part[parts.of_edge[leaves]] = True
        kept_part[must] = False
        kept = self.edges[kept_part[parts.of_edge]]
        steiner, links = _region_tree(self.places[region], _groups(kept, region, len(self.places)))
        nodes = np.concatenate((self.places[region], steiner))
        if len(crossing_edges(nodes, links, self.obstacles, self.into)):
            return False
        numbers = np.concatenate((region, self._grown(steiner, terminal=False)))
        self.edges = np.concatenate((kept, numbers[links]))
        self.solved += len(region)
        return True

    def _mend_between(self, around: FloatArray, new: int | None) -> None:
        """Mend around obstacles, place by place."""
        for place in around:
            parts = self._parts()
            must = self._must(parts, around)
            if not any(self._mend_openly(parts, must, place[None], n) for n in (NEAR, NEAR // 2)):
                self._mend_piece(parts, must, place, new)

    def _mend_piece(
        self, parts: _Parts, must: IntArray, place: FloatArray, new: int | None
    ) -> None:
        """Replace a connected piece around obstacles; a new terminal joins the nearest one."""
        alive = np.flatnonzero(self.terminal)
        if new is not None:
            alive = alive[alive != new]
        near = alive[int(np.argmin(np.hypot(*(self.places[alive] - place).T)))]
        chosen = self._piece(parts, near, must, place)
        region = self._terminals_of(parts, chosen)
        if new is not None and (place == self.places[new]).all() and new not in self.edges:
            region = np.append(region, new)
        kept = self.edges[~np.isin(parts.of_edge, chosen)]
        self._put_between(region, kept)

    def _piece(self, parts: _Parts, near: int, must: IntArray, place: FloatArray) -> IntArray:
        """Return connected parts around a terminal, with the ones that must be among them."""
        ends, owner = self.edges.ravel(), np.repeat(parts.of_edge, 2)
        keep = self.terminal[ends]
        # The terminals of each part, and the parts at each of them.
        whose, nodes = np.unique(np.stack((owner[keep], ends[keep]), axis=1), axis=0).T
        begin = np.searchsorted(whose, np.arange(parts.count))
        of = np.split(nodes, begin[1:])
        away = np.minimum.reduceat(np.hypot(*(self.places[nodes] - place).T), begin)
        order = np.argsort(nodes, kind="stable")
        at = np.split(whose[order], np.searchsorted(nodes[order], np.arange(1, len(self.places))))
        chosen: set[int] = set()
        reached = {int(near)}
        if len(must):
            chosen, reached = {int(must[0])}, set(of[int(must[0])].tolist())
        wanted = set(must.tolist()) - chosen
        while True:
            beside = {part for node in reached for part in at[node].tolist()} - chosen
            if not beside or (len(reached) > NEAR_OBSTACLES and not wanted & beside):
                return np.array(sorted(chosen), dtype=np.int64)
            first = sorted(wanted & beside) or sorted(beside, key=lambda part: away[part])
            chosen.add(first[0])
            wanted.discard(first[0])
            reached |= set(of[first[0]].tolist())

    def _put_between(self, region: IntArray, kept: IntArray) -> None:
        """Solve the terminals of a region around the obstacles and join them to what is kept."""
        points, polygons = self.places[region], self.polygons()
        shapely = load_shapely()
        reach = shapely.box(*points.min(axis=0), *points.max(axis=0))
        far = ASIDE * float(np.ptp(points, axis=0).max())
        close = [one for one in polygons if shapely.dwithin(one, reach, far)]
        found = solve(points, obstacles=close)
        if len(crossing_edges(found.coordinates, found.edges, self.obstacles, self.into)):
            found = solve(points, obstacles=polygons)
        steiner = self._grown(found.steiner_points, terminal=False)
        bends = self._grown(found.bends, terminal=False, bend=True)
        numbers = np.concatenate((region, steiner, bends))
        self.edges = np.concatenate((kept, numbers[found.edges]))
        self.solved += len(region)

    def finished(self, points: FloatArray, began: float) -> Solution:
        """Return the tree over the user's points, checked."""
        first = np.array([node for node in self.order if node >= 0])
        used = np.zeros(len(self.places), dtype=np.bool_)
        used[self.edges] = True
        steiner = np.flatnonzero(used & ~self.terminal & ~self.bend)
        bends = np.flatnonzero(used & ~self.terminal & self.bend)
        number = np.full(len(self.places), -1)
        number[np.concatenate((first, steiner, bends))] = np.arange(
            len(first) + len(steiner) + len(bends)
        )
        back: Any = np.asarray if self.plane is None else self.plane.back
        edges = number[self.edges]
        old = self.solution
        kept = {key: value for key, value in old.info.items() if key == "edits"}
        found = Solution(
            points,
            back(self.places[steiner]),
            edges,
            tree_length(self.places[np.concatenate((first, steiner, bends))], edges),
            method=f"{old.method.removesuffix('+edit')}+edit".removeprefix("+"),
            runtime=time.perf_counter() - began,
            info={"edits": int(kept.get("edits", 0)) + 1, "solved_again": self.solved},
            crs=old.crs,
            plane_crs=old.plane_crs,
            bends=back(self.places[bends]),
            obstacles=self.obstacles,
        )
        try:
            return replace(found, length=float(found.edge_lengths().sum())).validate()
        except TreeError as error:
            raise InternalError(f"an edit made an invalid tree: {error}") from None


def _groups(kept: IntArray, region: IntArray, size: int) -> IntArray:
    """Return which nodes of a region edges outside connect: groups, numbered from 0."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(kept)), (kept[:, 0], kept[:, 1])), shape=(size, size))
    label = connected_components(graph, directed=False)[1]
    return np.unique(label[region], return_inverse=True)[1].astype(np.int64)


def _region_tree(points: FloatArray, group: IntArray) -> tuple[FloatArray, IntArray]:
    """Return Steiner points and edges of a shortest tree that connects groups of points."""
    from .core.tree_kernels import find
    from .fst.enumerate.complete.generate import generate
    from .fst.groups import shortest_for_groups

    problem = Problem.of(as_points(points))
    root = np.arange(int(group.max()) + 1)
    ties = []
    for a, b in problem.ties.tolist():
        one, other = find(root, int(group[a])), find(root, int(group[b]))
        if one != other:
            root[one] = other
            ties.append([a, b])
    joined = np.array([find(root, int(one)) for one in group])
    merged = np.unique(joined[problem.first], return_inverse=True)[1].astype(np.int64)
    edges = np.array(ties, dtype=np.int64).reshape(-1, 2)
    if merged.max() == 0:
        return np.empty((0, 2)), edges
    if len(problem.points) == 2:
        return np.empty((0, 2)), np.concatenate((edges, problem.first[None]))
    trees = generate(problem.points)
    _, chosen = shortest_for_groups(trees, merged, lambda *_: True)
    added, links = [np.empty((0, 2))], [edges]
    count = len(points)
    for tree in chosen.tolist():
        terminals, steiner, inner = trees.tree(tree)
        names = np.concatenate((problem.first[terminals], count + np.arange(len(steiner))))
        links.append(names[inner])
        added.append(problem.frame.back(steiner))
        count += len(steiner)
    return np.concatenate(added), np.concatenate(links)
