"""An area solved again, as a worker does it: full Steiner trees are listed, and regions solved."""

from __future__ import annotations

import numpy as np

from ...core.coincident import merge_coincident
from ...core.points import FloatArray, Frame, IntArray
from ...fst.enumerate.nearby.listing import triangulated
from ...fst.select.search.regions import RegionPass, run_pass
from ...fst.trees import FullTrees
from ...registry import get_method
from ...run.monitor import Monitor
from ...run.threads import Workers
from ...run.watch import Watch
from ...scoring.scores import is_crowded
from ...solvers import local, neural
from ...solvers.search import Pipeline
from .areas import Area, Repair
from .pieces import Pieces, of_each
from .tasks import Search, area_file, tree_file

# Passes of regions after those of the method, which begins from something better than two trees
# side by side: on uniform points they take the loss to one piece from 0.007 to 0.001 points.
PASSES = (*2 * (RegionPass(120),), *3 * (RegionPass(300, 1e6, 50_000),))


def solve_area(search: Search, area: Area) -> Repair:
    """Solve an area again; what is new goes to a file, and the suggestion comes back.

    The full Steiner trees that are listed compete with the components that are there. What is
    connected outside stays, and everything together remains one tree.
    """
    points = search.points()
    pieces = _there(search, area, points)
    names, own = np.unique(pieces.terminals, return_inverse=True)
    frame = Frame.of(points[names])
    places = frame.into(points[names])
    owner, first, _ = merge_coincident(places)
    own, ends = owner[own.reshape(-1)], owner[np.searchsorted(names, area.bound)]
    names, places = names[first], places[first]
    if len(places) < 3:
        return _nothing()
    # Edges between coincident terminals stay as they are.
    sound = of_each(pieces.start, own, np.maximum) > of_each(pieces.start, own, np.minimum)
    rows = np.flatnonzero(sound)
    start = pieces._replace(
        terminals=own, length=pieces.length / frame.unit, steiner=frame.into(pieces.steiner)
    ).kept(sound)
    listed, passes = _listed(search, places)
    trees = _with_start(listed, start, ends[ends[:, 0] != ends[:, 1]])
    picked = np.arange(len(trees)) >= len(listed)
    before = picked.copy()
    with Workers(1) as workers:
        for number, how in enumerate(passes):
            run_pass(trees, picked, number, how, workers, lambda *_: True)
    dropped = np.flatnonzero(before & ~picked) - len(listed)
    added = _pieces_of(trees).kept(~before & picked)
    repair = _repair(rows[dropped], start, dropped, added, names)
    found = added._replace(
        terminals=names[added.terminals],
        length=added.length * frame.unit,
        steiner=frame.back(added.steiner),
    )
    found.save(area_file(search.folder, area.number))
    return repair


def _there(search: Search, area: Area, points: FloatArray) -> Pieces:
    """Return the components of an area, in its order."""
    found = []
    for tile, rows in area.rows.items():
        pieces = Pieces.load(tree_file(search.folder, tile))
        keep = np.zeros(len(pieces.length), dtype=np.bool_)
        keep[rows] = True
        found.append(pieces.kept(keep))
    return Pieces.joined([*found, Pieces.pairs(points, area.crossing)])


def _listed(search: Search, places: FloatArray) -> tuple[FullTrees, tuple[RegionPass, ...]]:
    """Return the list that the method would choose from, and passes of regions."""
    pipeline = _pipeline(search, len(places))
    watch = Watch(Monitor(), patient=False)
    with Workers(1) as workers:
        ground = pipeline.enumerate.survey(places, workers, triangulated(places, workers, watch))
        trees = pipeline.enumerate.list(ground, workers, lambda *_: True, watch)
        trees = pipeline.score.weigh(trees, workers, lambda *_: True, watch).trees
    return trees, pipeline.select.crowded.passes if is_crowded(trees) else PASSES


def _pipeline(search: Search, n: int) -> Pipeline:
    """Return the search of `neural` or `local`; where another method is used, a fast one."""
    if search.method == "neural":
        return neural.pipeline(get_method("neural", search.options).options, n, "cpu")
    given = search.options if search.method == "local" else {"effort": "fast"}
    return local.pipeline(get_method("local", given).options)


def _with_start(listed: FullTrees, start: Pieces, bound: IntArray) -> FullTrees:
    """Return a list with the components to begin from, and what is connected outside, at its end.

    A pair that is connected outside becomes a tree of three, without length, whose third terminal
    nothing else reaches: it is always chosen.
    """
    n, count = len(listed.points), len(bound)
    alone = n + np.arange(count)
    triples = np.concatenate((bound, alone[:, None]), axis=1)
    links = np.tile(np.array([[0, 3], [1, 3], [2, 3]]), (count, 1))
    beside = listed.points[bound[:, 0]]
    outside = Pieces(3 * np.arange(count + 1), triples.reshape(-1), np.zeros(count), beside, links)
    return FullTrees(
        np.concatenate((listed.points, beside)),
        *Pieces.joined([_pieces_of(listed), start, outside]),
    )


def _pieces_of(trees: FullTrees) -> Pieces:
    return Pieces(trees.start, trees.terminals, trees.length, trees.steiner, trees.edges)


def _repair(
    rows: IntArray, start: Pieces, dropped: IntArray, added: Pieces, names: IntArray
) -> Repair:
    """Put together what shares a terminal: changes far apart do not depend on each other."""
    from ...geometry.triangulation import component_labels

    keep = np.zeros(len(start.length), dtype=np.bool_)
    keep[dropped] = True
    gone = start.kept(keep)
    both = Pieces.joined([gone, added])
    sizes = np.diff(both.start)
    inner = np.ones(len(both.terminals), dtype=np.bool_)
    inner[both.start[:-1]] = False
    firsts = np.repeat(both.terminals[both.start[:-1]], sizes)
    pairs = np.stack((firsts[inner], both.terminals[inner]), axis=1)
    label = component_labels(len(names), pairs)[both.terminals[both.start[:-1]]]
    group = np.unique(label, return_inverse=True)[1].reshape(-1)
    count = len(gone.length)
    sign = np.where(np.arange(len(group)) < count, 1, -1)
    # Where one group joins more than before and another less, they belong together.
    joins = np.bincount(group, weights=sign * (sizes - 1))
    group = np.unique(np.where(joins[group] == 0.0, group, -1), return_inverse=True)[1].reshape(-1)
    signed = sign * np.concatenate((gone.length, added.length))
    gains = np.bincount(group, weights=signed).astype(np.float64)
    return Repair(rows, group[:count], added.start, names[added.terminals], group[count:], gains)


def _nothing() -> Repair:
    none = np.empty(0, dtype=np.int64)
    return Repair(none, none, np.zeros(1, dtype=np.int64), none, none, np.empty(0))
