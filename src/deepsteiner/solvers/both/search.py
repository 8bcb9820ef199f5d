"""`mst` and `local` among obstacles where there is an existing network, too.

The tree begins as the spanning tree of terminals and parts under shortest ways. *Repair*: solve
with the network as if there were no obstacles, lead every edge that crosses one around it, make the
bends points of the problem, and solve again. Then the places at which the tree joins the network
are held: what lies between them is a tree around obstacles, whose windows are solved as without a
network; and with the bends that this gives the network is joined anew. No step makes the tree
longer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...core.errors import InternalError, OptionError
from ...core.options import EffortName
from ...core.points import FloatArray, IntArray
from ...core.tree_kernels import find
from ...core.trees import tree_length
from ...plane.plane import Plane
from ...plane.routes import way_around
from ...run.method import Run, Tree
from ...run.watch import Stopped, hurried
from ..around.repair import MANY_REPAIRS, REPAIRS, Best, led, part_of
from ..joining.case import spanning_links
from .ground import FREE, NEARER, Graph, Ground

MANY = 300
"""Points beyond which it is repaired less often."""
SMALL = 30
"""Nodes up to which trees without obstacles are shortest ones."""
TURNS: dict[EffortName, int] = {"fast": 1, "default": 2, "best": 4}
"""How often windows are solved and the network joined anew."""
FEW = 150
"""Nodes up to which a proof is tried."""
PROOF_STEPS: dict[EffortName, int] = {"fast": 4000, "default": 30_000, "best": 300_000}
"""Its steps."""
TRIED = 12
"""Ways of which the shortest joins what the cells leave apart."""
SETTLING = 10
"""How often a tree is moved to where its topology is shortest."""
GAIN = 1e-9
"""What a turn must save, relatively, for another one."""


def solve_mst(run: Run) -> Tree:
    """Return the spanning tree of terminals and parts under shortest ways around obstacles."""
    ground = Ground.of(run)
    graph = spanning(ground)
    run.monitor.report("done", 1, 1, graph.length)
    _record(run, "spanning tree", graph.length)
    return ground.tree(graph)


def solve_local(run: Run, options: Any) -> Tree:
    """Return a good tree, not longer than the spanning tree."""
    if options.start is not None:
        raise OptionError("local takes no start where there is an existing network")
    ground = Ground.of(run)
    run.monitor.report("start")
    graph = _searched(ground, spanning(ground), options.effort)
    run.monitor.report("done", 1, 1, graph.length)
    return ground.tree(graph)


def _searched(ground: Ground, graph: Graph, effort: EffortName) -> Graph:
    """Return a short tree: of few nodes from a proof, as far as some steps lead."""
    from .proof import with_some_proof

    if not 2 <= ground.case.mandatory <= ground.case.count <= FEW:
        return improved(ground, graph, effort)
    graph = improved(ground, graph, "fast")
    graph, done = with_some_proof(ground, graph, PROOF_STEPS[effort])
    _record(ground.run, "proof", graph.length)
    return graph if done or effort == "fast" else improved(ground, graph, effort)


def _record(run: Run, step: str, length: float) -> None:
    if run.trace is not None:
        run.trace.append({"step": step, "length": length * run.frame.unit})


def spanning(ground: Ground) -> Graph:
    """Return a spanning tree under shortest ways around the obstacles and along the network."""
    from ...plane.joining.links import Links, contacts, links

    run, case, plane = ground.run, ground.case, ground.plane
    n = len(run.points)
    if case.mandatory < 2:
        return Graph(run.points, ground.on, np.empty((0, 2), np.int64))

    def linked(stop: IntArray) -> tuple[FloatArray, IntArray, Links]:
        spots = np.concatenate((run.points, plane.corners.places))
        ends, parts = contacts(plane, spots, ground.network.joinable)
        node = np.concatenate((case.node_of, ground.node_of_part[parts]))
        return ends, parts, links(plane, np.concatenate((run.points, ends)), node, stop)

    ends, parts, found = hurried(linked, lambda: run.monitor.report("spanning tree"))
    owner = np.concatenate((ground.on, parts))
    rows = spanning_links(found.pairs, found.lengths, case.mandatory, case.count)
    vertices, edges = found.ways(rows)
    # Terminals first; of all places with contacts the part is known.
    whose = np.full(len(vertices), FREE)
    whose[found.vertex] = owner
    rest = np.setdiff1d(edges, found.vertex[:n])
    number = np.full(len(vertices), -1)
    number[found.vertex[:n]] = np.arange(n)
    number[rest] = n + np.arange(len(rest))
    nodes = np.concatenate((run.points, vertices[rest]))
    whole = Graph(nodes, np.concatenate((ground.on, whose[rest])), number[edges])
    return ground.tidied(_hung_together(ground, whole, ends, parts))


def _hung_together(ground: Ground, graph: Graph, ends: FloatArray, parts: IntArray) -> Graph:
    """Join what is left apart, which happens on some odd maps, by shortest ways between places.

    `ends` are further places, on these parts.
    """
    n = len(ground.run.points)
    nodes = np.concatenate((graph.nodes, ends))
    owner, edges = np.concatenate((graph.owner, parts)), graph.edges
    needed = np.flatnonzero((np.arange(len(nodes)) < n) | np.isin(owner, sorted(ground.asked)))
    while True:
        label = _labels(nodes, owner, edges)
        apart = needed[label[needed] != label[0]]
        if not len(apart):
            return Graph(nodes, owner, edges)
        mine = np.flatnonzero(label == label[apart[0]])
        others = np.flatnonzero((label != label[apart[0]]) & np.isin(label, label[needed]))
        way = _shortest_way(ground.plane, nodes, mine, others)
        more = np.arange(len(nodes), len(nodes) + len(way.bends))
        chain = np.concatenate(([way.first], more, [way.last]))
        nodes = np.concatenate((nodes, way.bends))
        owner = np.concatenate((owner, np.full(len(more), FREE)))
        edges = np.concatenate((edges, np.stack((chain[:-1], chain[1:]), axis=1)))


def _labels(nodes: FloatArray, owner: IntArray, edges: IntArray) -> IntArray:
    """Return a number of what each node hangs together with; a part is one node."""
    size = len(nodes)
    name = np.where(owner == FREE, np.arange(size), size + owner)
    root = np.arange(int(name.max()) + 1)
    for a, b in name[edges].tolist():
        root[find(root, a)] = find(root, b)
    return np.array([find(root, one) for one in name.tolist()], dtype=np.int64)


class _Way(NamedTuple):
    """A way between two nodes, and its bends."""

    first: int
    last: int
    bends: FloatArray


def _shortest_way(plane: Plane, nodes: FloatArray, mine: IntArray, others: IntArray) -> _Way:
    """Return a short way between two sets of nodes: the shortest of the likeliest ones."""
    pairs = np.stack(np.meshgrid(mine, others, indexing="ij"), axis=-1).reshape(-1, 2)
    region = plane.regions(nodes)
    pairs = pairs[region[pairs[:, 0]] == region[pairs[:, 1]]]
    away = np.hypot(*(nodes[pairs[:, 0]] - nodes[pairs[:, 1]]).T)
    best, found = np.inf, None
    for k in np.argsort(away, kind="stable")[:TRIED].tolist():
        if away[k] >= best:
            break
        bends, length = way_around(plane, nodes[pairs[k, 0]], nodes[pairs[k, 1]])
        if length < best:
            best, found = length, _Way(int(pairs[k, 0]), int(pairs[k, 1]), bends)
    if found is None:
        raise InternalError("no way leads around the obstacles to a part of the network")
    return found


def improved(ground: Ground, graph: Graph, effort: EffortName) -> Graph:
    """Return a tree that is shorter, as far as repair and windows make it so."""
    run = ground.run
    try:
        graph = _turned(ground, graph, effort)
        return settled(ground, graph, lambda: run.monitor.report("settling", 0, 0, graph.length))
    except Stopped:
        return graph


def _turned(ground: Ground, graph: Graph, effort: EffortName) -> Graph:
    """Return a tree that repair and windows make shorter, by turns."""
    run = ground.run
    graph = repaired(ground, graph, effort)
    _record(run, "repaired", graph.length)
    for _ in range(TURNS[effort]):
        if not len(ground.bends(graph)):
            break  # what the network allows without obstacles was found by repair
        before = graph.length
        graph = _with_better_windows(ground, graph, effort)
        _record(run, "windows", graph.length)
        if not run.monitor.report("joining anew", 0, 0, graph.length):
            break
        graph = repaired(ground, graph, effort)
        _record(run, "joined anew", graph.length)
        if graph.length >= before * (1.0 - GAIN):
            break
    return graph


def repaired(ground: Ground, best: Graph, effort: EffortName) -> Graph:
    """Solve without obstacles, lead crossing edges around, make bends points, and again.

    Bends of the best tree are points from the beginning; where points are few enough, once more
    without them.
    """
    if len(ground.plane.home) > 1:
        return best  # of regions that only the network connects each has its own tree
    known = ground.bends(best)
    again = len(known) and len(ground.run.points) <= MANY
    for bends in (known, np.empty((0, 2))) if again else (known,):
        best = _repaired(ground, best, bends, effort)
    return best


def _repaired(ground: Ground, best: Graph, bends: FloatArray, effort: EffortName) -> Graph:
    run = ground.run

    def go_on() -> bool:
        return run.monitor.report("leading edges around", 0, 0, best.length)

    taken = {tuple(one) for one in bends.tolist()}
    for _ in range(REPAIRS if len(run.points) <= MANY else MANY_REPAIRS):
        if not go_on():
            break
        points = np.concatenate((run.points, bends))
        bare = ground.bare(points, bare_tree(run, points, effort))
        try:
            found, more = led_around(ground, bare, go_on)
            found = settled(ground, found, go_on)
        except Stopped:
            break
        if found.length < best.length:
            best = found
        fresh = {tuple(one.tolist()) for one in more} - taken
        taken |= fresh
        new = np.array(sorted(fresh)).reshape(-1, 2)
        new = new[ground.network.part_at(new) == FREE] if len(new) else new
        if not len(new):
            break
        bends = np.concatenate((bends, new))
    return best


def bare_tree(run: Run, points: FloatArray, effort: EffortName) -> Tree:
    """Return a short tree that joins the network without obstacles; of few nodes the shortest."""
    from .. import local
    from ..joining.proof import solve_exact
    from ..joining.search import solve_local as solve_joining

    bare = Run(points, run.frame, part_of(run.monitor), run.seed, network=run.network)
    if len(points) + len(run.network) <= SMALL:
        return solve_exact(bare, False)
    return solve_joining(bare, local.Options(effort=effort))


def led_around(ground: Ground, graph: Graph, go_on: Any) -> tuple[Graph, list[FloatArray]]:
    """Return a tree with crossing edges led around obstacles, and the bends that took.

    Raises Stopped where `go_on` says no.
    """
    nodes, edges, more = led(ground.plane, graph.nodes, graph.edges, go_on)
    owner = np.full(len(nodes), FREE)
    owner[: len(graph.owner)] = graph.owner
    return ground.tidied(Graph(nodes, owner, edges)), more


def settled(ground: Ground, graph: Graph, go_on: Any) -> Graph:
    """Return a tree moved to where its topology is shortest, around the obstacles, again and again.

    Raises Stopped where `go_on` says no.
    """
    clear_only = len(ground.plane.home) > 1
    for _ in range(SETTLING):
        found, _ = led_around(ground, ground.relaxed(graph, clear_only), go_on)
        if found.length > graph.length + NEARER:
            if clear_only:
                break
            clear_only = True
            continue
        done = found.length >= graph.length - NEARER
        graph = found  # perhaps as long, but at right angles
        if done:
            break
    return graph


def _with_better_windows(ground: Ground, graph: Graph, effort: EffortName) -> Graph:
    """Improve what lies between places on the network, which are held."""
    from ..around.windows import with_better_windows

    run, n = ground.run, len(ground.run.points)
    nodes, owner, edges = _cut(graph)
    fixed = (np.arange(len(nodes)) < n) | (owner != FREE)
    all_nodes, all_owners, kept = [nodes], [owner], []
    count = len(nodes)
    for rows in _groups(edges, len(nodes)):
        part = _Part.of(ground, nodes, fixed, edges[rows])
        if part is None or not run.monitor.report("windows", 0, 0, graph.length):
            kept.append(edges[rows])
            continue
        place = part.run.points[:1]
        plane = ground.plane.within(int(ground.plane.regions(place)[0]))
        inner = Run(part.run.points, run.frame, part_of(run.monitor), run.seed, plane=plane)
        best = with_better_windows(inner, part.best, effort)
        more = np.concatenate((best.steiner, best.bends))
        number = np.concatenate((part.names, count + np.arange(len(more))))
        all_nodes.append(more)
        all_owners.append(np.full(len(more), FREE))
        kept.append(number[best.edges])
        count += len(more)
    found = ground.tidied(
        Graph(np.concatenate(all_nodes), np.concatenate(all_owners), np.concatenate(kept))
    )
    return found if found.length < graph.length else graph


def _cut(graph: Graph) -> tuple[FloatArray, IntArray, IntArray]:
    """Return nodes, owners and edges with a joint of its own for every edge to a part."""
    nodes, owner = [graph.nodes], [graph.owner]
    edges, count = graph.edges.copy(), len(graph.nodes)
    for side in (0, 1):
        rows = np.flatnonzero(graph.owner[edges[:, side]] != FREE)
        ends = edges[rows, side]
        nodes.append(graph.nodes[ends])
        owner.append(graph.owner[ends])
        edges[rows, side] = count + np.arange(len(rows))
        count += len(rows)
    return np.concatenate(nodes), np.concatenate(owner), edges


def _groups(edges: IntArray, count: int) -> list[IntArray]:
    """Return the rows of edges that hang together, group by group."""
    root = np.arange(count)
    for a, b in edges.tolist():
        root[find(root, a)] = find(root, b)
    names = np.array([find(root, a) for a in edges[:, 0].tolist()], dtype=np.int64)
    order = np.argsort(names, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(names[order])) + 1)


class _Part:
    """What hangs together without the network: a tree around obstacles over held places."""

    def __init__(self, run: Run, names: IntArray, best: Best) -> None:
        self.run, self.names, self.best = run, names, best

    @classmethod
    def of(cls, ground: Ground, nodes: FloatArray, fixed: Any, edges: IntArray) -> _Part | None:
        """Return a group of edges as a tree; None where no obstacle has to do with it."""
        corners = ground.plane.corner_places
        inside = np.unique(edges)
        held, free = inside[fixed[inside]], inside[~fixed[inside]]
        bend = np.array([tuple(one) in corners for one in nodes[free].tolist()], dtype=np.bool_)
        if not bend.any():
            return None
        order = np.concatenate((held, free[~bend], free[bend]))
        number = np.empty(len(nodes), np.int64)
        number[order] = np.arange(len(order))
        links = number[edges]
        length = tree_length(nodes[order], links)
        best = Best(nodes[free[~bend]], nodes[free[bend]], links, length)
        return cls(Run(nodes[held], ground.run.frame, ground.run.monitor, 0), held, best)
