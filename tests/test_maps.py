"""Maps with obstacles: valid, seeded, covered as asked, with terminals outside."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import OptionError
from deepsteiner.datasets import generate_map
from deepsteiner.maps import MAPS

shapely = pytest.importorskip("shapely")


def polygons(found):
    return [shapely.Polygon(one[0], one[1:]) for one in found.obstacles]


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize(("count", "cover"), [(1, 0.2), (10, 0.3), (60, 0.05)])
def test_maps_are_what_they_say(kind, count, cover):
    found = generate_map(kind, 40, obstacles=count, cover=cover, seed=3)
    shapes = polygons(found)
    assert len(shapes) == count
    assert all(shape.is_valid for shape in shapes)
    whole = shapely.union_all(shapes)
    assert whole.area == pytest.approx(sum(shape.area for shape in shapes))  # none overlap
    assert 0.4 * cover < whole.area < 1.6 * cover
    assert shapely.box(0, 0, 1, 1).covers(whole)
    filled = shapely.union_all([shapely.Polygon(shape.exterior) for shape in shapes])
    assert found.points.shape == (40, 2)
    assert not shapely.intersects(shapely.points(found.points), filled).any()


def test_convex_ones_are_convex_and_blocks_cover_exactly():
    for shape in polygons(generate_map("convex", 5, obstacles=30)):
        assert shape.convex_hull.area == pytest.approx(shape.area)
    blocks = polygons(generate_map("blocks", 5, obstacles=16, cover=0.36))
    assert sum(shape.area for shape in blocks) == pytest.approx(0.36)


def test_seeds_and_indices():
    one, same = generate_map("lakes", 9, seed=1), generate_map("lakes", 9, seed=1)
    assert np.array_equal(one.points, same.points)
    for other in (generate_map("lakes", 9, seed=2), generate_map("lakes", 9, seed=1, index=1)):
        assert not np.array_equal(one.points, other.points)


def test_a_map_can_be_solved():
    found = generate_map("blocks", 6, obstacles=4, cover=0.2)
    tree = ds.solve(found.points, "mst", obstacles=found.to_geojson()["obstacles"])
    assert len(tree.obstacles) == 4


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "hills"}, "unknown kind of map 'hills'; the kinds are: convex, lakes, blocks"),
        ({"n": 0}, "n must be a whole number"),
        ({"obstacles": 0}, "obstacles must be a whole number"),
        ({"cover": 0.9}, "cover must be above 0 and at most 0.6, got 0.9"),
        ({"cover": float("nan")}, "cover must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_what_is_refused(given, words):
    with pytest.raises(OptionError, match=words):
        generate_map(**{"kind": "convex", "n": 3, **given})


def test_command_line(tmp_path):
    run = [sys.executable, "-m", "deepsteiner"]
    given = ["generate", "lakes", "--n", "8", "--obstacles", "lakes.geojson", "-O", "sites.csv"]
    done = subprocess.run([*run, *given], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(json.loads((tmp_path / "lakes.geojson").read_text())["features"]) == 20
    relays = ["relays", "sites.csv", "--radius", "0.2", "--obstacles", "lakes.geojson"]
    relays += ["--effort", "fast", "-O", "network.geojson"]
    done = subprocess.run(
        [*run, *relays], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "8 terminals" in done.stdout
    assert ds.Solution.load(tmp_path / "network.geojson").info["max_edge"] == 0.2
    for bad in (["--radius", "0"], ["--radius", "1", "--effort", "huge"]):
        done = subprocess.run(
            [*run, "relays", "sites.csv", *bad], cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == 2
