"""Datasets: streams that never overlap, statistics as stated, files as given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deepsteiner import datasets
from deepsteiner.core.errors import DeepSteinerError
from deepsteiner.io import save_points


def test_load_by_name() -> None:
    data = datasets.load("D1", count=7)
    assert len(data) == 7
    assert data.n == 10
    assert data.name == "D1"
    assert data.optimal_length is None
    assert np.shape(data.points) == (7, 10, 2)
    assert repr(data) == "<Dataset D1: 7 instances of 10 points>"
    assert len(datasets.load("D2")) == 10_000
    assert datasets.load("D2").n == 20


@pytest.mark.parametrize("kind", list(datasets.KINDS))
def test_instances_do_not_depend_on_count_or_chunks(kind: str) -> None:
    few = datasets.generate(kind, 6, 5, seed=3)
    many = datasets.generate(kind, 6, 1500, seed=3)
    assert (many[:5] == few.points).all()
    assert (many[1100] == np.asarray(many.points)[1100]).all()
    for size in (700, 1024, 5000):
        assert (np.concatenate(list(many.iter_chunks(size))) == many.points).all()
    assert [len(chunk) for chunk in few.iter_chunks(1)] == [1] * 5
    assert (np.concatenate(list(few.iter_chunks(1))) == few.points).all()
    assert sum(1 for _ in few) == 5
    assert (few[-1] == few[4]).all()


@pytest.mark.parametrize("kind", ["uniform", "normal", "clustered", "separated"])
def test_splits_and_seeds_are_disjoint(kind: str) -> None:
    drawn = [
        datasets.generate(kind, 4, 300, seed=seed, split=split).points
        for seed in (0, 1, 2)
        for split in datasets.SPLITS
    ]
    x = np.concatenate([np.asarray(points)[:, :, 0].ravel() for points in drawn])
    assert len(np.unique(x)) == len(x)


def test_statistics_of_the_papers_sets() -> None:
    for name in ("D1", "D2"):
        points = np.asarray(datasets.load(name, count=5000).points)
        assert points.min() >= 0.0
        assert points.max() < 1.0
        assert points.mean() == pytest.approx(0.5, abs=0.005)
        assert points.std() == pytest.approx(12**-0.5, abs=0.005)
    points = np.asarray(datasets.load("D3", count=5000).points)
    assert points.mean() == pytest.approx(0.5, abs=0.005)
    assert points.std() == pytest.approx(0.2, abs=0.005)
    assert np.corrcoef(points[:, :, 0].ravel(), points[:, :, 1].ravel())[0, 1] < 0.02


@pytest.mark.parametrize("n", [1, 2, 3, 10, 57])
def test_separated_distance_holds(n: int) -> None:
    for points in datasets.generate("separated", n, 50, seed=5):
        difference = points[:, None] - points[None]
        distance = np.hypot(difference[..., 0], difference[..., 1])
        np.fill_diagonal(distance, np.inf)
        assert distance.min() >= 0.5 / np.sqrt(n)
        assert (points >= 0).all()
        assert (points < 1).all()


def test_separated_is_possible_for_many_points() -> None:
    from scipy.spatial import cKDTree

    points = datasets.generate("separated", 20_000)[0]
    assert len(cKDTree(points).query_pairs(0.5 / np.sqrt(20_000))) == 0


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_grid_and_lattice_points_are_distinct_whole_numbers(n: int) -> None:
    for kind in ("grid", "lattice"):
        for points in datasets.generate(kind, n, 3):
            assert (points == np.rint(points)).all()
            assert points.min() >= 0
            assert len(np.unique(points, axis=0)) == n


def test_large_sets_are_not_materialised() -> None:
    data = datasets.load("D1", count=10**9)
    assert len(data) == 10**9
    assert data[10**9 - 1].shape == (10, 2)
    chunks = data.iter_chunks(2000)
    assert np.shape(next(chunks)) == (2000, 10, 2)


def test_reading_does_not_expose_the_cache() -> None:
    data = datasets.generate("uniform", 3, 2)
    first = data[0].copy()
    data[0][:] = 0
    assert (data[0] == first).all()


def test_own_files(tmp_path: Path) -> None:
    points = np.random.default_rng(0).random((6, 4, 2))
    np.savez(tmp_path / "a.npz", points=points, optimal_length=np.arange(6.0))
    data = datasets.load("DEG", path=tmp_path / "a.npz", count=4)
    assert (data.points == points[:4]).all()
    assert data.optimal_length is not None
    assert data.optimal_length.tolist() == [0, 1, 2, 3]
    np.savez(tmp_path / "b.npz", test_points=points, train_points=points + 1)
    assert (
        datasets.load("mine", path=tmp_path / "b.npz", split="train").points == points + 1
    ).all()
    save_points([points[0], points[1, :3]], tmp_path / "c.jsonl")
    mixed = datasets.load("mixed", path=tmp_path / "c.jsonl")
    assert mixed.n is None
    assert [len(one) for one in mixed] == [4, 3]


def test_authors_files(shared_data) -> None:
    deg = datasets.load("DEG", path=shared_data / "deg10_authors.npz")
    assert np.shape(deg.points) == (1000, 10, 2)
    assert deg.optimal_length is not None
    d1 = datasets.load("D1", path=shared_data / "d1_authors.npz", split="train")
    assert len(d1) == 10_240


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "D9"}, "unknown dataset 'D9'; the names are: D1, D2"),
        ({"name": "DEG"}, "give path="),
        ({"name": "D1", "n": 11}, "D1 has 10 points"),
        ({"name": "uniform"}, "needs n="),
        ({"name": "uniform", "n": 0}, "n must be a whole number from 1, got 0"),
        ({"name": "uniform", "n": 2.5}, "n must be a whole number"),
        ({"name": "D1", "count": -1}, "count must be a whole number from 0"),
        ({"name": "D1", "seed": -1}, "seed must be a whole number from 0"),
        ({"name": "D1", "split": "dev"}, "split must be one of train, validation, test"),
        ({"name": "D1", "path": "nowhere.npz"}, "nowhere.npz does not exist"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(DeepSteinerError, match=message):
        datasets.load(**arguments)  # type: ignore[arg-type]


def test_bad_optimal_length_and_count(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", points=np.ones((6, 4, 2)), optimal_length=np.arange(5.0))
    with pytest.raises(DeepSteinerError, match="optimal_length must hold 6 numbers"):
        datasets.load("DEG", path=tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", points=np.ones((6, 4, 2)))
    with pytest.raises(DeepSteinerError, match="holds 6 instances, got count=7"):
        datasets.load("DEG", path=tmp_path / "b.npz", count=7)
