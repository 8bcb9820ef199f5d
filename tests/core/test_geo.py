"""Geographic points: the plane they are solved in, and what is refused."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

from deepsteiner.core.errors import DeepSteinerError, MissingDependencyError, PointsError
from deepsteiner.core.geo import GeoPoints, Plane, plane_of, to_lonlat

pyproj = pytest.importorskip("pyproj")

BERLIN = np.array([[13.4, 52.5], [13.5, 52.6], [13.2, 52.4]])


def around(longitude: float, latitude: float, radius: float, count: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    offsets = rng.uniform(-radius, radius, (count, 2))
    return np.array([longitude, latitude]) + offsets


def test_geopoints_keep_their_system() -> None:
    points = GeoPoints(BERLIN, crs=4258)
    assert points.crs == "EPSG:4258"
    assert points[1:].crs == "EPSG:4258"
    assert points.copy().crs == "EPSG:4258"
    assert pickle.loads(pickle.dumps(points)).crs == "EPSG:4258"
    assert np.concatenate((points, points)).crs == "EPSG:4258"
    assert np.stack((points, points)).shape == (2, 3, 2)
    with pytest.raises(PointsError, match="different systems"):
        np.concatenate((points, GeoPoints(BERLIN)))


def test_local_plane_measures_geodesic_distances() -> None:
    plane = plane_of("EPSG:4326", points=BERLIN)
    metres = plane.into(BERLIN)
    geodesic = pyproj.Geod(ellps="WGS84")
    for i, j in ((0, 1), (1, 2), (0, 2)):
        true = geodesic.inv(*BERLIN[i], *BERLIN[j])[2]
        assert np.hypot(*(metres[i] - metres[j])) == pytest.approx(true, rel=1e-6)


@pytest.mark.parametrize(
    ("longitude", "latitude", "radius"),
    [(13.4, 52.5, 0.1), (179.9, -16.5, 1.0), (-179.9, 65.0, 2.0), (20.0, 89.0, 0.9), (0, 0, 5)],
)
def test_there_and_back(longitude: float, latitude: float, radius: float) -> None:
    points = around(longitude, latitude, radius)
    plane = plane_of("EPSG:4326", points=points)
    metres = plane.into(points)
    assert np.abs(metres).max() < 1_000_000
    back = plane.back(metres)
    assert np.abs(plane.into(back) - metres).max() < 1e-6
    turns = (back[:, 0] - points[:, 0]) / 360
    assert np.abs(turns - np.rint(turns)).max() < 1e-9
    assert np.abs(back[:, 1] - points[:, 1]).max() < 1e-9


def test_text_rebuilds_the_same_plane() -> None:
    plane = plane_of("EPSG:4326", points=BERLIN)
    again = plane_of(plane.crs, plane.plane_crs)
    assert again == plane
    assert (again.into(BERLIN) == plane.into(BERLIN)).all()
    assert plane_of("EPSG:4326", points=BERLIN[::-1]) == plane


def test_projected_system_is_its_own_plane() -> None:
    points = np.array([[391_000.25, 5_820_000.5], [392_000.0, 5_821_000.0]])
    plane = plane_of("EPSG:25833")
    assert plane == Plane("EPSG:25833", "EPSG:25833", 1.0, False)
    assert (plane.into(points) == points).all()
    assert (plane.back(points) == points).all()
    assert np.abs(to_lonlat(points, "EPSG:25833")[0] - BERLIN[0]).max() < 0.1


def test_feet_become_metres() -> None:
    plane = plane_of(2263)
    assert plane.into([[1000.0, 0.0]])[0, 0] == pytest.approx(304.8006, abs=1e-3)
    assert plane.back(plane.into([[1000.0, 7.0]]))[0] == pytest.approx([1000.0, 7.0])


def test_web_mercator_is_not_taken_for_metres() -> None:
    mercator = pyproj.Transformer.from_crs(4326, 3857, always_xy=True)
    points = np.stack(mercator.transform(BERLIN[:, 0], BERLIN[:, 1]), axis=1)
    plane = plane_of("EPSG:3857", points=points)
    assert "aeqd" in plane.plane_crs
    metres, expected = plane.into(points), plane_of(4326, points=BERLIN).into(BERLIN)
    assert np.hypot(*(metres[0] - metres[1])) == pytest.approx(
        np.hypot(*(expected[0] - expected[1])), rel=1e-6
    )


def test_given_plane() -> None:
    plane = plane_of("EPSG:4326", "EPSG:25833")
    assert plane.plane_crs == "EPSG:25833"
    assert np.abs(plane.back(plane.into(BERLIN)) - BERLIN).max() < 1e-9


@pytest.mark.parametrize(
    ("crs", "plane_crs", "points", "message"),
    [
        ("EPSG:4326", None, [[0, 0], [120, 10]], "km from their centre"),
        ("EPSG:4326", None, [[0, 0], [180, 0]], "km from their centre"),
        ("EPSG:4326", None, [[1, 95]], "latitudes from -90 to 90"),
        ("EPSG:4326", None, None, "points are needed"),
        ("nonsense", None, BERLIN, "'nonsense' is not a coordinate reference system"),
        ("EPSG:4978", None, BERLIN, "neither a geographic"),
        ("EPSG:4807", None, BERLIN, "does not count degrees from Greenwich"),
        ("EPSG:4326", "EPSG:4258", BERLIN, "is not a projected system"),
        (None, None, BERLIN, "crs must be text such as"),
    ],
)
def test_refused(crs: object, plane_crs: object, points: object, message: str) -> None:
    with pytest.raises(DeepSteinerError, match=message) as caught:
        plane_of(crs, plane_crs, points)
    assert "\n" not in str(caught.value)


def test_point_outside_the_plane_is_named() -> None:
    with pytest.raises(PointsError, match="point 1 is \\(100, 0\\)"):
        plane_of(4326, 25832).into([[9.0, 50.0], [100.0, 0.0]])


def test_without_pyproj_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from deepsteiner.core import geo

    geo._crs.cache_clear()
    monkeypatch.setitem(sys.modules, "pyproj", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "deepsteiner\[geo\]"'):
        plane_of("EPSG:4326", points=BERLIN)
