"""Tiles: the curve, the exact spanning tree, valid trees, files, and the check in streams."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import Executor, Future

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.cli import run
from deepsteiner.core.errors import FormatError, OptionError, PointsError, TreeError, WorkerError
from deepsteiner.core.tree_kernels import unite
from deepsteiner.fleet.tiles.grid import (
    Tiling,
    cells_for,
    hilbert,
    hilbert_order,
    members_of,
)
from deepsteiner.fleet.tiles.solve import solve_tiles
from deepsteiner.fleet.tiles.store import check_parted, load_parted
from deepsteiner.geometry.spanning_trees import minimum_spanning_tree

RNG = np.random.default_rng(41)
FAST = {"method": "smith"}


def spread(kind, n):
    rng = np.random.default_rng(n)
    if kind == "uniform":
        return rng.random((n, 2))
    if kind == "clusters":  # far apart, so that strips must grow
        return rng.random((12, 2))[rng.integers(0, 12, n)] * 1e4 + rng.normal(0, 1, (n, 2))
    if kind == "line":
        return np.stack((rng.random(n) * 1e3, np.zeros(n)), axis=1)
    if kind == "lattice":
        return np.stack(np.divmod(np.arange(n), 50), axis=1).astype(float)
    doubled = rng.random((n // 2, 2)) - 5e6
    return np.concatenate((doubled, doubled))


KINDS = ["uniform", "clusters", "line", "lattice", "doubled"]


@pytest.mark.parametrize("bits", [1, 2, 3, 5])
def test_hilbert_visits_every_cell_by_single_steps(bits):
    grid = np.indices((1 << bits, 1 << bits)).reshape(2, -1)
    place = hilbert(*grid, bits)
    assert sorted(place) == list(range(4**bits))
    path = grid[:, np.argsort(place)]
    assert (np.abs(np.diff(path, axis=1)).sum(axis=0) == 1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_strips_hold_every_pair_of_near_cells(kind):
    points = spread(kind, 3000)
    cells = cells_for(points.min(axis=0), points.max(axis=0), len(points))
    order, starts = hilbert_order(points, cells)
    tiling = Tiling(cells, starts, 400)
    assert tiling.point_start[0] == 0
    assert tiling.point_start[-1] == 3000
    placed = cells.of(points[order])
    tile = tiling.tile_of(np.arange(3000))
    assert (np.diff(tile) >= 0).all()
    strips = dict(tiling.strips(2))
    for a, b in RNG.integers(0, 3000, (4000, 2)):
        if tile[a] != tile[b] and np.abs(placed[a] - placed[b]).max() <= 2:
            runs = strips[min(tile[a], tile[b])]
            assert {a, b} <= set(members_of(runs))
    for runs in strips.values():
        assert (np.diff(members_of(runs)) > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_areas_are_where_two_labels_are_near(kind):
    points = spread(kind, 2000)
    cells = cells_for(points.min(axis=0), points.max(axis=0), len(points))
    order, starts = hilbert_order(points, cells)
    label = np.random.default_rng(2).integers(0, 3, 2000) * (np.arange(2000) > 1500)
    near = set(Tiling(cells, starts, 400).near_borders(label, 1).tolist())
    placed = cells.of(points[order])
    for k in range(0, 2000, 7):
        beside = np.abs(placed - placed[k]).max(axis=1) <= 1
        assert (k in near) == (len(set(label[beside])) > 1)


def test_unite_counts_joins():
    edges = RNG.integers(0, 60, (50, 2))
    parent = np.arange(60)
    joined = unite(parent, edges[:20]) + unite(parent, edges[20:])
    groups = [{node} for node in range(60)]
    for a, b in edges.tolist():
        one, two = (next(g for g in groups if node in g) for node in (a, b))
        if one is not two:
            groups.remove(two)
            one |= two
    assert joined == 60 - len(groups)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tile", [150, 700])
def test_a_valid_tree_over_the_exact_spanning_tree(tmp_path, kind, tile):
    points = spread(kind, 2500)
    before = points.copy()
    tree = solve_tiles(points, str(tmp_path / "tree"), tile=tile, **FAST)
    assert (points == before).all()
    edges = minimum_spanning_tree(points)
    exact = np.hypot(*(points[edges[:, 0]] - points[edges[:, 1]]).T).sum()
    assert tree.spanning_length == pytest.approx(exact, rel=1e-12)
    assert tree.length <= tree.spanning_length * (1 + 1e-12)
    assert check_parted(load_parted(tree.folder), points) == pytest.approx(tree.length)
    assert whole(tree, points).length == pytest.approx(tree.length)
    assert not (tmp_path / "tree" / "work").exists()


def whole(tree, points):
    """Return a tree of parts as one solution, which checks itself."""
    n, shift, edges, steiner = len(points), 0, [], []
    for own, part in tree.iter_parts():
        edges.append(np.where(part >= n, part + shift, part))
        steiner.append(own)
        shift += len(own)
    coordinates = np.concatenate([points, *steiner])
    joined = np.concatenate(edges)
    length = np.hypot(*(coordinates[joined[:, 0]] - coordinates[joined[:, 1]]).T).sum()
    return ds.Solution(points, np.concatenate(steiner), joined, length).validate()


@pytest.mark.parametrize("method", ["smith", "local"])
def test_nearly_the_saving_of_one_piece(tmp_path, method):
    points = spread("uniform", 4000)
    tree = solve_tiles(points, str(tmp_path / "tree"), method, tile=1000)
    alone = ds.solve(points, method)
    saving = 1 - alone.length / tree.spanning_length
    best = 1 - ds.solve(points, "local").length / tree.spanning_length
    assert (0.995 if method == "local" else 0.97) * saving < tree.saving < 1.01 * best
    seamless = sum(len(edges) for steiner, edges in tree.iter_parts() if not len(steiner))
    assert seamless < 40  # seams took nearly all crossing edges in


def test_workers_and_tiny_instances(tmp_path):
    points = spread("uniform", 1500)
    one = solve_tiles(points, str(tmp_path / "one"), tile=300, **FAST)
    two = solve_tiles(points, str(tmp_path / "two"), tile=300, workers=2, **FAST)
    assert one.length == two.length
    for n in (1, 2, 3, 5):
        few = solve_tiles(points[:n], str(tmp_path / f"few{n}"), tile=300, **FAST)
        assert few.length <= few.spanning_length
    assert solve_tiles(np.zeros((9, 2)), str(tmp_path / "same"), **FAST).length == 0


class Flaky(Executor):
    """Fails the first tries of every call."""

    width = 2

    def __init__(self, failures):
        self.failures, self.tries = failures, {}

    def submit(self, function, *arguments):
        key = (function.__name__, repr(arguments)[:300])
        self.tries[key] = self.tries.get(key, 0) + 1
        future = Future()
        if self.tries[key] <= self.failures:
            future.set_exception(OSError("the worker died"))
        else:
            future.set_result(function(*arguments))
        return future


def test_lost_workers(tmp_path):
    points = spread("uniform", 1000)
    expected = solve_tiles(points, str(tmp_path / "a"), tile=300, **FAST)
    lost = solve_tiles(points, str(tmp_path / "b"), tile=300, executor=Flaky(1), **FAST)
    assert lost.length == expected.length
    with pytest.raises(WorkerError, match=r"failed on every try \(the worker died\)"):
        solve_tiles(points, str(tmp_path / "c"), tile=300, executor=Flaky(9), **FAST)


@pytest.mark.parametrize("kind", ["npy", "parquet", "geoparquet"])
def test_files_and_the_command_line(tmp_path, kind, capsys):
    points = spread("uniform", 1200)
    file = tmp_path / ("points.npy" if kind == "npy" else "points.parquet")
    if kind == "npy":
        np.save(file, points)
    else:
        write_parquet(file, points, kind == "geoparquet")
    out = str(tmp_path / "tree")
    arguments = ["solve", str(file), "-m", "smith", "--tiles", "300", "-O", out]
    assert run([*arguments, "--engine", "processes:1"]) == 0
    assert "1,200 points" in capsys.readouterr().out
    assert run(["verify", out, "--points", str(file)]) == 0
    assert "one tree over 1,200 points" in capsys.readouterr().out
    assert run(["verify", out]) == 2
    assert run(arguments) == 2  # the folder is there
    assert "must be an empty folder" in capsys.readouterr().err


def write_parquet(file, points, geo):
    arrow = pytest.importorskip("pyarrow", reason="the [parquet] extra")
    import pyarrow.parquet as parquet

    if not geo:
        table = arrow.table({"y": points[:, 1], "x": points[:, 0]})
    else:
        head = np.zeros(len(points), [("o", "u1"), ("t", "<u4"), ("x", "<f8"), ("y", "<f8")])
        head["o"], head["t"], head["x"], head["y"] = 1, 1, *points.T
        described = {"encoding": "WKB", "crs": {"type": "ProjectedCRS"}, "geometry_types": []}
        stated = {"version": "1.0.0", "primary_column": "geometry"}
        stated["columns"] = {"geometry": described}
        table = arrow.table({"geometry": [one.tobytes() for one in head]})
        table = table.replace_schema_metadata({"geo": json.dumps(stated)})
    parquet.write_table(table, file, row_group_size=500)


def test_a_stop_leaves_no_tree(tmp_path):
    points = spread("uniform", 1500)
    phases = []

    def stop(progress):
        phases.append(progress.phase)
        return progress.phase != "tiles"

    given = {"tile": 300, "on_progress": stop, **FAST}
    assert solve_tiles(points, str(tmp_path / "tree"), **given) is None
    assert phases.index("spanning trees") < phases.index("strips") < phases.index("tiles")
    assert list((tmp_path / "tree").iterdir()) == []


# --- the check -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    points = spread("uniform", 600)
    folder = tmp_path_factory.mktemp("tiles") / "tree"
    solve_tiles(points, str(folder), tile=200, **FAST)
    return points, folder


def rewritten(folder, name, change):
    array = np.load(folder / name)
    np.save(folder / name, change(array))


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("edges-000000.npy", lambda a: a[1:], "components"),
        ("edges-000000.npy", lambda a: np.concatenate((a[1:], a[-1:])), "and a cycle"),
        ("edges-000000.npy", lambda a: a + 10**6, "names a node that does not exist"),
        ("steiner-000000.npy", lambda a: a + 1e-3, "the length is stated as"),
        ("steiner-000000.npy", lambda a: a * np.nan, "is not finite"),
        ("steiner-000000.npy", lambda a: np.concatenate((a, a, a, a)), "more Steiner points"),
        ("steiner-000000.npy", lambda a: a.astype(complex), "expected pairs of numbers"),
    ],
)
def test_wrong_trees_are_found(sound, tmp_path, name, change, words):
    points, folder = sound
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    check_parted(load_parted(str(copy)), points)
    rewritten(copy, name, change)
    with pytest.raises((TreeError, FormatError), match=words):
        check_parted(load_parted(str(copy)), points)


def test_other_points_and_bad_manifests(sound, tmp_path):
    points, folder = sound
    with pytest.raises(TreeError, match="600 terminals, but 599 points"):
        check_parted(load_parted(str(folder)), points[1:])
    (tmp_path / "tree.json").write_text("{}")
    with pytest.raises(FormatError, match="expected a manifest"):
        load_parted(str(tmp_path))


@pytest.mark.parametrize(
    ("points", "given", "kind", "words"),
    [
        (np.zeros((5, 3)), {}, PointsError, "must be an .n, 2. array"),
        (np.full((5, 2), np.nan), {}, PointsError, "point 0 is"),
        (np.zeros((0, 2)), {}, PointsError, "no points given"),
        (np.zeros((5, 2)), {"tile": 3}, OptionError, "tile must be a whole number from 100"),
        (np.zeros((5, 2)), {"workers": 0}, OptionError, "workers must be"),
        (np.zeros((5, 2)), {"nonsense": 1}, OptionError, "no option 'nonsense'"),
        ("none.npy", {}, FormatError, "does not exist"),
        ("none.csv", {}, FormatError, "expected .npy or .parquet"),
    ],
)
def test_bad_arguments(tmp_path, points, given, kind, words):
    with pytest.raises(kind, match=words):
        solve_tiles(points, str(tmp_path / "tree"), **FAST, **given)
