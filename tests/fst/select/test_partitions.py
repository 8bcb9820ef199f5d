"""Partitions of a frontier: keys, closing, cheapest ways and dominance, against plain Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from deepsteiner.fst.select.exact import partition_kernels
from melzak import spanning


def partition_key(groups: list[list[int]]) -> int:
    """Number the groups by their first slot, four bits a slot."""
    key = 0
    for number, group in enumerate(sorted(groups, key=min)):
        for s in group:
            key |= number << (4 * s)
    return key


def random_groups(rng, slots: list[int]) -> list[list[int]]:
    names = rng.integers(0, 1 + len(slots), len(slots))
    return [
        [s for s, name in zip(slots, names, strict=True) if name == wanted]
        for wanted in sorted(set(names.tolist()))
    ]


def test_keys_of_partitions():
    rng = np.random.default_rng(0)
    for _ in range(300):
        slots = sorted(rng.choice(15, int(rng.integers(1, 16)), replace=False).tolist())
        groups = random_groups(rng, slots)
        names = rng.permutation(32)  # any labels below 32
        label = np.full(16, 31)
        for group, name in zip(groups, names, strict=False):
            label[group] = name
        found = partition_kernels.list_slots(sum(1 << s for s in slots))
        assert found.tolist() == slots
        assert partition_kernels.pack(label, found) == partition_key(groups)


def test_slots_close_unless_a_part_would_be_left_alone():
    rng = np.random.default_rng(1)
    verdicts = []
    for _ in range(500):
        slots = sorted(rng.choice(15, int(rng.integers(1, 7)), replace=False).tolist())
        groups = random_groups(rng, slots)
        label = np.zeros(16, np.int64)
        for number, group in enumerate(groups):
            label[group] = number
        closing = [s for s in slots if rng.random() < 0.5]
        stays = [s for s in slots if s not in closing]
        active, leaves = (sum(1 << s for s in some) for some in (slots, closing))
        found = partition_kernels.close_slots(label, active, leaves)
        # At the very end everything closes, and that is the one whole tree.
        alone = not all(set(group) & set(stays) for group in groups)
        assert found == (not alone if stays else len(groups) == 1)
        verdicts.append(found)
    assert 50 < sum(verdicts) < 450


def test_states_keep_the_cheapest_way():
    rng = np.random.default_rng(2)
    table = np.full(64, -1, np.int64)
    layer = partition_kernels.empty_layer(64)
    known: dict[int, tuple[float, int]] = {}
    count = 0
    for node in range(400):
        key, cost = int(rng.integers(30)) << 33 | 5, float(rng.random())
        count = partition_kernels.insert_state(key, cost, node, table, layer, count)
        if key not in known or cost < known[key][0]:
            known[key] = (cost, node)
    assert count == len(known) == 30
    for k in range(count):
        assert (layer.costs[k], layer.nodes[k]) == known[int(layer.keys[k])]


def near_table(rng) -> np.ndarray:
    """Ultrametric distances between slots, as bottleneck distances are."""
    points = rng.random((16, 2))
    widest = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    for k in range(16):
        widest = np.minimum(widest, np.maximum(widest[:, k, None], widest[None, k]))
    return widest


def test_detours_are_spanning_trees_of_parts():
    rng = np.random.default_rng(3)
    for _ in range(200):
        near = near_table(rng)
        slots = np.sort(rng.choice(15, 8, replace=False))
        groups = random_groups(rng, slots.tolist())
        label = np.zeros(16, np.int64)
        for number, group in enumerate(groups):
            label[group] = number
        chosen = [number for number in range(len(groups)) if rng.random() < 0.6] or [0]
        distance = np.array([[near[np.ix_(a, b)].min() for b in groups] for a in groups])
        found = partition_kernels.detour(label, sum(1 << number for number in chosen), slots, near)
        assert found == pytest.approx(spanning(distance, chosen), rel=1e-12)


def splits(group: list[int]):
    for k in range(1, len(group)):
        for part in itertools.combinations(group, k):
            if group[0] in part:
                yield list(part), [s for s in group if s not in part]


def test_dominated_partitions_are_dropped_and_no_others():
    rng = np.random.default_rng(4)
    slots = [0, 2, 3, 7, 11]
    dropped = 0
    for _ in range(60):
        near = 0.3 * near_table(rng)
        layer: dict[int, tuple[float, list[list[int]]]] = {}
        for _ in range(40):
            groups = random_groups(rng, slots)
            layer.setdefault(partition_key(groups), (float(rng.uniform(0.5, 1.5)), groups))
        table = np.full(256, -1, np.int64)
        layered = partition_kernels.empty_layer(256)
        count = 0
        for node, (key, (cost, _)) in enumerate(layer.items()):
            count = partition_kernels.insert_state(key, cost, node, table, layered, count)
        expected = {}
        for node, (key, (cost, groups)) in enumerate(layer.items()):
            better = any(
                layer.get(
                    partition_key([*(g for g in groups if g is not group), one, two]), (9.0,)
                )[0]
                + near[np.ix_(one, two)].min()
                < cost
                for group in groups
                for one, two in splits(group)
            )
            if not better:
                expected[key] = (cost, node)
        active = sum(1 << s for s in slots)
        kept = partition_kernels.drop_dominated(active, near, table, layered, count)
        keys, costs, nodes = layered
        found = {int(keys[k]): (costs[k], nodes[k]) for k in range(kept)}
        assert found == expected
        dropped += count - kept
    assert dropped > 60
