"""The ground and the store of a generation: trees, grids, sets and links against plain Python."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from deepsteiner.fst.enumerate.complete import bottleneck_kernels as ground
from deepsteiner.fst.enumerate.complete import forest_kernels as store
from deepsteiner.fst.enumerate.complete import generation_kernels
from grown import grown_from

N = 20


def minimax(points: np.ndarray) -> np.ndarray:
    """Bottleneck distances by Floyd and Warshall's algorithm on all pairs."""
    widest = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    for k in range(len(points)):
        widest = np.minimum(widest, np.maximum(widest[:, k, None], widest[None, k]))
    return widest


def prepared(points: np.ndarray) -> tuple[np.ndarray, ground.Ground]:
    """Return the points in merge order and what stands on them."""
    edges, lengths = ground.spanning_tree(points)
    order, gaps = ground.merge_order(len(points), edges, lengths)
    made = ground.prepare_ground(points, order, gaps)
    np.testing.assert_array_equal(made.points.view(np.float64).reshape(-1, 2), points[order])
    return points[order], made


@pytest.mark.parametrize("n", [1, 2, 3, 12, 40])
@pytest.mark.parametrize("on_grid", [False, True])
def test_spanning_trees_and_merge_orders(n, on_grid):
    rng = np.random.default_rng(n)
    points = rng.permutation(49)[:n]
    points = np.stack(np.divmod(points, 7), axis=1) / 8.0 if on_grid else rng.random((n, 2))
    edges, lengths = ground.spanning_tree(points)
    assert (np.diff(lengths) >= 0).all()
    spans = np.hypot(*(points[edges[:, 0]] - points[edges[:, 1]]).T)
    np.testing.assert_allclose(lengths, spans, rtol=1e-15)
    inside, total = [0], 0.0
    while len(inside) < n:  # Prim, slow and obvious
        length, new = min(
            (math.dist(points[a], points[b]), b)
            for a in inside
            for b in range(n)
            if b not in inside
        )
        inside.append(new)
        total += length
    assert lengths.sum() == pytest.approx(total, rel=1e-13)
    order, gaps = ground.merge_order(n, edges, lengths)
    assert sorted(order.tolist()) == list(range(n))
    widest = minimax(points[order])
    for i, j in itertools.combinations(range(n), 2):
        assert gaps[i:j].max() == pytest.approx(widest[i, j], rel=1e-13)


@pytest.mark.parametrize("n", [2, 12, 13, 60, 300])
@pytest.mark.parametrize("shape", ["square", "strip", "clusters"])
def test_grids_hold_every_terminal_where_it_is_looked_for(n, shape):
    rng = np.random.default_rng(n)
    points = 2.0 * rng.random((n, 2)) - 1.0
    if shape == "strip":
        points[:, 1] *= 1e-6
    if shape == "clusters":
        points = np.sign(points) * 0.9 + 1e-4 * points
    ordered, made = prepared(points)
    grid, cells = made.grid, made.grid.cells
    count = grid.columns * grid.rows
    assert cells[0] == count + 1
    assert sorted(cells[count + 1 :].tolist()) == list(range(n))
    for _ in range(60):
        x, y = 2.6 * rng.random(2) - 1.3
        reach = rng.uniform(0.0, 1.0)
        corners = complex(x - reach, y - reach), complex(x + reach, y + reach)
        box = ground.cells_between(*corners, grid)
        found = set()
        for row in range(box.low, box.high):
            first, last = (cells[row * grid.columns + side] for side in (box.left, box.right))
            found |= set(cells[first:last].tolist())
        near = np.flatnonzero((np.abs(ordered - (x, y)) <= reach).all(axis=1))
        assert set(near.tolist()) <= found
    assert made.longest == pytest.approx(minimax(ordered).max(), rel=1e-14)


@pytest.mark.parametrize("n", [*range(1, 40), 256, 997, 1000])
def test_a_scattering_step_visits_every_terminal(n):
    step = ground.scattering_step(n)
    assert {k * step % n for k in range(n)} == set(range(n))


def test_cells_are_sorted_by_counting():
    cells = np.random.default_rng(0).integers(0, 30, 200)
    start, items = ground.sort_into_cells(cells, 30)
    assert items.tolist() == np.argsort(cells, kind="stable").tolist()
    assert np.diff(start).tolist() == np.bincount(cells, minlength=30).tolist()


def test_keys_name_sets():
    keys = [int(store.set_key(t)) for t in range(5000)]
    assert len(set(keys)) == 5000
    few = keys[:14]
    sums = {sum(few[t] for t in range(14) if mask >> t & 1) % 2**64 for mask in range(1 << 14)}
    assert len(sums) == 1 << 14


class Sets:
    """Some sets of terminals, stored as branches are: only what depends on the sets."""

    def __init__(self, sets: list[list[int]]) -> None:
        self.sets = [sorted(one) for one in sets]
        self.branches = np.zeros(max(len(sets), N), store.BRANCH)
        self.members = np.array([t for one in self.sets for t in one] + [0] * 100, np.int64)
        self.used = 0
        for row, one in zip(self.branches, self.sets, strict=False):
            row["size"], row["start"], row["key"] = len(one), self.used, key_of(one)
            for t in one:
                row["mask"] |= 1 << (t % store.MASK_BITS)
            self.used += len(one)
        self.forest = store.Forest(self.branches, self.members)


def key_of(terminals) -> int:
    total = sum(int(store.set_key(t)) for t in terminals) % 2**64
    return total - 2**64 if total >= 2**63 else total


def random_sets(rng, count: int, n: int, largest: int = 6) -> list[list[int]]:
    return [
        rng.choice(n, int(rng.integers(1, largest + 1)), replace=False).tolist()
        for _ in range(count)
    ]


def test_known_trees_are_found_by_their_sets():
    """A dictionary of sets; the table is small, so that keys meet in it."""
    rng = np.random.default_rng(1)
    sets = [sorted(one) for one in random_sets(rng, 300, N) if max(one) < N - 1]
    roots = [int(rng.integers(max(one) + 1, N)) for one in sets]
    stored = Sets(sets)
    trees = store.Trees(np.zeros(len(sets), store.TREE), np.zeros(512, np.int64))
    known: dict[frozenset[int], int] = {}
    for branch, (one, root) in enumerate(zip(sets, roots, strict=True)):
        whole = frozenset((*one, root))
        key = key_of(whole)
        assert store.find_tree(trees, stored.forest, key, branch, root) == known.get(whole, -1)
        for extra in rng.integers(0, N, 5).tolist():  # also as a part and one of its terminals
            rest = [t for t in one if t != extra]
            if extra not in one or not rest:
                continue
            other = Sets([*sets, rest])
            found = store.find_tree(trees, other.forest, key_of(one), len(sets), extra)
            assert found == known.get(frozenset(one), -1)
        none = store.find_tree(trees, stored.forest, key_of(one), branch, -1)
        assert none == known.get(frozenset(one), -1)
        if whole not in known:
            number = known[whole] = len(known)
            trees.items[number] = branch, root, key, 0.0
            store.insert_key(trees.table, key, number)
    assert len(known) > 150
    again = store.hashed(trees.items, len(known))
    assert len(again.table) == 2 ** math.ceil(math.log2(2 * len(sets)))
    for branch, (one, root) in enumerate(zip(sets, roots, strict=True)):
        whole = frozenset((*one, root))
        assert store.find_tree(again, stored.forest, key_of(whole), branch, root) == known[whole]


def test_sets_are_the_same_only_if_they_are():
    """Whatever their keys say: all pairs of small sets, with and without one more terminal."""
    sets = [list(one) for k in (1, 2, 3) for one in itertools.combinations(range(5), k)]
    stored = Sets(sets)
    for (other, mine), (branch, yours) in itertools.product(enumerate(sets), repeat=2):
        root = max(mine) + 1
        for extra in (-1, *(t for t in range(6) if t not in yours)):
            same = {*mine, root} == {*yours, *([extra] if extra >= 0 else [])}
            assert store.same_set(stored.forest, other, root, branch, extra) == same


@pytest.mark.parametrize("n", [N, 150])
def test_members_of_sets(n):
    """With up to 63 terminals the bits alone decide."""
    rng = np.random.default_rng(2)
    sets = random_sets(rng, 60, n)
    stored = Sets(sets)
    exact = n <= store.MASK_BITS
    for a, t in itertools.product(range(60), range(n)):
        assert store.is_member(stored.forest, a, t, exact) == (t in sets[a])


def test_links_between_sets_against_all_pairs():
    rng = np.random.default_rng(3)
    points = 2.0 * rng.random((N, 2)) - 1.0
    ordered, made = prepared(points)
    widest = minimax(ordered)
    for _ in range(200):
        terminals = rng.permutation(N)
        sizes = rng.integers(1, 7, 2)
        left, right = terminals[: sizes[0]].tolist(), terminals[sizes[0] : sizes.sum()].tolist()
        stored = Sets([left, right])
        between = widest[np.ix_(left, right)]
        cost = store.link_cost(made.gaps, stored.forest, 0, right[0])
        assert cost == pytest.approx(between[:, 0].min(), rel=1e-14)
        assert store.link_cost(made.gaps, stored.forest, 0, left[0]) == 0.0
        quick = store.quick_link(made.gaps, stored.forest, 0, 1)
        assert np.isclose(between, quick, rtol=1e-14).any()
        closest = np.empty(N)
        given = (made.gaps, stored.forest, closest, 0, 1, stored.used)
        nearest, spanning = store.merge_members(*given)
        union = sorted(left + right)
        assert stored.members[stored.used : stored.used + len(union)].tolist() == union
        assert nearest == pytest.approx(between.min(), rel=1e-14)
        assert spanning == pytest.approx(spanning_length(widest, union), rel=1e-13)
        for side, near in ((left, between.min(axis=1)), (right, between.min(axis=0))):
            for t, expected in zip(side, near, strict=True):
                assert closest[t] == pytest.approx(expected, rel=1e-14)


def spanning_length(distance: np.ndarray, terminals: list[int]) -> float:
    """Prim under given distances."""
    inside, total = terminals[:1], 0.0
    while len(inside) < len(terminals):
        length, new = min((distance[a, b], b) for a in inside for b in terminals if b not in inside)
        inside.append(new)
        total += float(length)
    return total


def test_terminals_are_the_first_branches():
    points = 2.0 * np.random.default_rng(4).random((N, 2)) - 1.0
    state = generation_kernels.begin(points, *ground.spanning_tree(points))
    for t, row in enumerate(state.forest.branches[:N]):
        place = complex(*points[state.order[t]])
        assert row["equilateral"] == row["centre"] == row["place"] == place
        assert (row["left"], row["right"], row["size"], row["bound"]) == (-1, -1, 1, 0.0)
        assert (row["key"], row["mask"]) == (store.set_key(t), 1 << t)
        assert row["reach"] == state.lookup.reach[t].max() <= state.ground.longest
        assert state.forest.members[row["start"]] == t
    assert state.progress[0].tolist() == (N, N, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("full", "expected"),
    [
        (generation_kernels.BRANCHES_FULL, {"branches", "members", "items", "boxes"}),
        (generation_kernels.TREES_FULL, {"trees"}),
        (generation_kernels.PAIRS_FULL, {"pairs"}),
    ],
    ids=["rows", "trees", "pairs"],
)
def test_more_room_keeps_what_is_there(full, expected):
    grown = grown_from("uniform")
    before = grown.run.state
    after = generation_kernels.with_room(before, full)
    progress, lookup = before.progress[0], before.lookup
    last = lookup.trees[0]
    arrays = {
        "branches": (before.forest.branches, after.forest.branches, progress["branches"]),
        "members": (before.forest.members, after.forest.members, progress["members"]),
        "items": (lookup.items, after.lookup.items, lookup.starts[last]),
        "boxes": (lookup.boxes, after.lookup.boxes, lookup.roots[last]),
        "pairs": (before.pairs.items, after.pairs.items, len(before.pairs.items)),
        "trees": (before.trees.items, after.trees.items, progress["trees"]),
    }
    longer = {name for name, (old, new, _) in arrays.items() if len(new) == 2 * len(old)}
    assert longer == expected
    for name, (old, new, used) in arrays.items():
        assert used > 0 or name == "pairs"
        assert new[:used].tobytes() == old[:used].tobytes()
    for tree, item in enumerate(after.trees.items[: len(grown.known)]):
        one = (item["key"], item["branch"], item["root"])
        assert store.find_tree(after.trees, after.forest, *map(int, one)) == tree


def test_pairs_wait_for_their_size():
    """The last that came is the first to go; room is used again."""
    grown = grown_from("uniform")
    state = grown.run.state
    waiting: dict[int, list[list[int]]] = {}
    rng = np.random.default_rng(7)
    room = len(state.pairs.items)
    for _ in range(4 * room // 50):
        found = rng.integers(0, grown.count // 2, (50, 2))
        if not generation_kernels.enter_pairs(state, found, 50):
            assert state.progress[0]["pairs"] > room - 50
            break
        for pair in found.tolist():
            waiting.setdefault(sum(map(grown.size, pair)), []).append(pair)
        size = int(rng.choice(list(waiting)))
        most = int(rng.integers(1, 40))
        taken = generation_kernels.take_pairs(state, size, most).tolist()
        assert taken == waiting[size][: -most - 1 : -1]
        del waiting[size][-len(taken) :]
        waiting = {size: pairs for size, pairs in waiting.items() if pairs}
        assert state.progress[0]["pairs"] == sum(map(len, waiting.values()))
    for size, pairs in waiting.items():
        assert generation_kernels.take_pairs(state, size, 1 << 40).tolist() == pairs[::-1]
    assert state.progress[0]["pairs"] == 0
