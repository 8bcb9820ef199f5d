"""`ds.refine`: never longer, same terminals, and no claim that the new tree does not bear."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deepsteiner as ds
from conftest import zoo
from deepsteiner.core.errors import InternalError, OptionError, TreeError
from deepsteiner.core.trees import tree_length
from deepsteiner.geometry.relaxation import refine as refine_arrays

POINTS = np.random.default_rng(8).random((30, 2))


def own_tree(points, steiner, edges, **fields):
    """Return a valid solution of one's own making."""
    nodes = np.concatenate((np.asarray(points, float), np.asarray(steiner, float).reshape(-1, 2)))
    length = tree_length(nodes, np.array(edges))
    return ds.Solution(points, steiner, edges, length, **fields).validate()


def check(before, after):
    """Check what holds for every refined tree."""
    after.validate(strict=True)
    assert after.length <= before.length
    assert after.terminals.tobytes() == before.terminals.tobytes()
    assert after.info["refined_from"] == before.length
    assert after.runtime >= before.runtime
    assert (after.crs, after.plane_crs) == (before.crs, before.plane_crs)
    json.dumps(after.to_dict(), allow_nan=False)
    return after


@pytest.mark.parametrize("method", ["mst", "rand1", "rand2", "greedy"])
def test_trees_of_methods_get_shorter(method):
    before = ds.solve(POINTS, method, **({"relax": False} if method == "greedy" else {}))
    after = check(before, ds.refine(before))
    assert after.length < before.length
    assert (after.method, after.status) == (f"{method}+refine", "feasible")
    steiner, _ = refine_arrays(before.terminals, before.steiner_points, before.edges)
    assert len(after.steiner_points) == len(steiner)


def test_refining_twice_changes_nothing_but_rounding():
    once = ds.refine(ds.solve(POINTS, "mst"))
    twice = check(once, ds.refine(once))
    assert twice.method == "mst+refine"
    assert twice.length == pytest.approx(once.length, rel=1e-13)
    assert twice.info["refined_from"] == once.length


@pytest.mark.parametrize("name", list(zoo()))
@pytest.mark.parametrize("method", ["mst", "rand1", "local"])
def test_degenerate_instances(name, method):
    before = ds.solve(zoo()[name], method)
    after = ds.refine(before)
    after.validate()
    assert after.length <= before.length
    assert after.terminals.tobytes() == before.terminals.tobytes()


@given(st.integers(0, 2**32 - 1))
def test_any_tree_over_any_points(seed):
    """Random trees, with repeated terminals tied anywhere and Steiner points of any degree."""
    rng = np.random.default_rng(seed)
    n, s = int(rng.integers(1, 9)), int(rng.integers(0, 6))
    points = rng.integers(0, 3, (n, 2)) / 2.0
    steiner = rng.random((s, 2))
    order = rng.permutation(n + s)
    edges = [[int(order[rng.integers(k)]), int(order[k])] for k in range(1, n + s)]
    before = own_tree(points, steiner, np.array(edges, dtype=np.int64).reshape(-1, 2))
    check(before, ds.refine(before))


def test_duplicates_that_are_joined_by_a_detour():
    points = [[0, 0], [1, 0], [0, 0], [0.5, 1]]
    before = own_tree(points, [[-1, 0]], [[0, 4], [4, 2], [2, 1], [1, 3]])
    after = check(before, ds.refine(before))
    assert after.length == pytest.approx(ds.solve(points, "exact").length, rel=1e-12)
    assert len(after.edges) == 4 + len(after.steiner_points) - 1


@pytest.mark.parametrize("count", [1, 2])
def test_few_distinct_points(count):
    points = np.array([[0.0, 0.0], [3.0, 4.0]])[[0, 0, count - 1]]
    before = own_tree(points, [[9, 9]], [[0, 3], [1, 3], [2, 3]])
    after = check(before, ds.refine(before))
    assert after.length == (0.0 if count == 1 else 5.0)
    assert len(after.steiner_points) == 0


def test_geographic_trees_are_refined_in_their_plane():
    pytest.importorskip("pyproj")
    degrees = np.array([13.0, 52.0]) + POINTS[:8]
    before = ds.solve(degrees, "mst", crs="EPSG:4326")
    after = check(before, ds.refine(before))
    assert after.length == pytest.approx(
        ds.solve(degrees, "local", crs="EPSG:4326").length, rel=0.02
    )
    assert after.length < 0.99 * before.length
    feet = ds.solve(POINTS * 1e5 + 1e6, "mst", crs="EPSG:2263")
    assert check(feet, ds.refine(feet)).length < feet.length


# --- bounds and status --------------------------------------------------------------------------


def test_a_proof_stays_a_proof():
    before = ds.solve(POINTS, "exact")
    after = check(before, ds.refine(before))
    assert after.status == "optimal"
    assert after.lower_bound == after.length
    assert after.length == pytest.approx(before.length, rel=1e-13)


def test_a_bound_stays_a_bound():
    bound = ds.solve(POINTS, "exact").length
    before = replace(ds.solve(POINTS, "mst"), lower_bound=bound, status="time_limit")
    after = check(before, ds.refine(before))
    assert (after.lower_bound, after.status) == (bound, "time_limit")
    assert 0 < after.gap < before.gap
    assert ds.refine(ds.solve(POINTS, "mst")).lower_bound is None


@pytest.mark.withdraws
@pytest.mark.parametrize(
    "claims",
    [{"status": "optimal"}, {"lower_bound": 0.99}, {"status": "optimal", "lower_bound": 1.0}],
)
def test_a_claim_that_the_new_tree_contradicts_is_withdrawn(caplog, claims):
    before = ds.solve(POINTS, "mst")
    scaled = {key: value * before.length for key, value in claims.items() if key == "lower_bound"}
    after = ds.refine(replace(before, **{**claims, **scaled}))
    assert (after.status, after.lower_bound, after.gap) == ("feasible", None, None)
    assert after.length < 0.99 * before.length
    (record,) = caplog.records
    assert "claimed a lower bound" in record.getMessage()
    assert str(POINTS.tolist()) in record.getMessage()


# --- what is kept, what is refused --------------------------------------------------------------


def test_relays_are_put_back_for_the_same_longest_edge():
    bare = ds.solve(POINTS, "mst")
    before = bare.with_max_edge(0.05)
    after = ds.refine(before).validate(strict=True)
    assert after.edge_lengths().max() <= 0.05 * (1 + 1e-9)
    assert (after.info["max_edge"], after.length) == (0.05, ds.refine(bare).length)
    assert 0 < after.info["relays"] != before.info["relays"]
    without = {key: value for key, value in before.info.items() if key != "max_edge"}
    again = ds.refine(replace(before, info=without)).validate(strict=True)
    assert again.edge_lengths().max() <= before.edge_lengths().max() * (1 + 1e-9)


def test_what_is_known_besides_is_kept():
    before = replace(ds.solve(POINTS, "mst"), method="", info={"name": "roads"})
    after = ds.refine(before)
    assert (after.method, after.info) == (
        "refine",
        {"name": "roads", "refined_from": before.length},
    )
    assert before.info == {"name": "roads"}


def test_a_tree_that_got_longer_is_not_taken(monkeypatch):
    """Points that nearly coincide are merged, which is worth little and may cost more."""
    from deepsteiner import refinement

    before = ds.solve(POINTS, "local")
    worse = ds.solve(POINTS, "mst")
    monkeypatch.setattr(refinement, "_refined", lambda *_: (worse.steiner_points, worse.edges))
    after = ds.refine(before)
    assert after.length == before.length
    assert np.array_equal(after.edges, before.edges)


def test_what_is_refused(monkeypatch):
    for given_ in (POINTS, None, "tree.json", ds.solve_many([POINTS], "mst")):
        with pytest.raises(OptionError, match="refine takes a Solution, got"):
            ds.refine(given_)
    with pytest.raises(TreeError, match="the edges sum to"):
        ds.refine(replace(ds.solve(POINTS, "mst"), length=1.0))
    from deepsteiner import refinement

    broken = np.zeros((len(POINTS) - 1, 2), dtype=np.int64)
    monkeypatch.setattr(refinement, "_refined", lambda *_: (np.empty((0, 2)), broken))
    with pytest.raises(InternalError, match="refine made an invalid tree"):
        ds.refine(ds.solve(POINTS, "mst"))
