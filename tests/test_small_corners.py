"""Corners that larger tests pass by: planes, streams of datasets, hashes, rows, weights."""

from __future__ import annotations

import json

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner import datasets
from deepsteiner.benchmark.optima import content_hash
from deepsteiner.benchmark.rows import read_rows
from deepsteiner.benchmark.runner import Bench, Task, _statistics, run_tasks
from deepsteiner.benchmark.specs import parse_dataset, parse_method
from deepsteiner.core.errors import FormatError, PointsError
from deepsteiner.core.geo import plane_of


class TestPlane:
    def test_it_ignores_how_dense_the_points_are(self):
        pytest.importorskip("pyproj")
        few = np.array([[13.4, 52.5], [13.5, 52.6], [13.2, 52.4]])
        many = np.concatenate((few, np.tile(few[1] - 0.01, (50, 1)), few[::-1]))
        assert plane_of("EPSG:4326", points=many) == plane_of("EPSG:4326", points=few)

    @pytest.mark.parametrize("bearing", [0.0, 45.0, 90.0, 200.0])
    def test_it_reaches_a_thousand_kilometres(self, bearing):
        pyproj = pytest.importorskip("pyproj")
        globe = pyproj.Geod(ellps="WGS84")
        for kilometres, fits in ((950, True), (1050, False)):
            ends = [globe.fwd(10.0, 50.0, bearing + turn, 1000.0 * kilometres)[:2]
                    for turn in (0.0, 180.0)]  # fmt: skip
            if fits:
                assert "aeqd" in plane_of("EPSG:4326", points=ends).plane_crs
            else:
                with pytest.raises(PointsError, match="km from their centre"):
                    plane_of("EPSG:4326", points=ends)


def test_streams_of_other_sizes_and_kinds_are_others():
    """No coordinate of one stream comes again in another one."""
    drawn = [
        datasets.generate(kind, n, 200, seed=0, split=split)[:]
        for kind in ("uniform", "normal", "clustered", "separated")
        for n in (10, 11, 20)
        for split in datasets.SPLITS
    ]
    values = np.concatenate([points.ravel() for points in drawn])
    assert len(np.unique(values)) == len(values)


class TestBenchmark:
    def test_gaps_that_are_rounding_are_none(self):
        optima = np.array([1.0, 2.0, 3.0])
        found = _statistics(optima * [1 + 5e-12, 1 - 5e-12, 1.0], optima)
        assert (found["gap_mean"], found["gap_min"], found["gap_max"]) == (0.0, 0.0, 0.0)
        found = _statistics(optima * [1.01, 1.0, 1.0], optima)
        assert found["gap_max"] == pytest.approx(1.0)
        assert found["examples"]["worst"] == 0

    def test_instances_of_no_length_have_no_gap(self):
        assert _statistics(np.zeros(2), np.zeros(2))["gap_mean"] == 0.0

    def test_the_same_row_is_made_once_in_a_run(self, tmp_path, monkeypatch):
        monkeypatch.setenv("DEEPSTEINER_CACHE", str(tmp_path / "cache"))
        path = tmp_path / "rows.jsonl"
        task = Task(parse_dataset("D1"), parse_method("mst"), 5)
        assert len(run_tasks([task, task], Bench(), path)) == 1
        assert len(read_rows(path)) == 1

    def test_a_hash_knows_the_shape(self):
        points = np.random.default_rng(0).random((6, 4, 2))
        hashes = {
            content_hash(points.reshape(shape)) for shape in ((6, 4, 2), (4, 6, 2), (3, 8, 2))
        }
        assert len(hashes) == 3
        assert content_hash(points.copy()) in hashes


@pytest.mark.parametrize("change", ["shape", "nan", "missing", "rounds", "format"])
def test_weights_that_do_not_fit_the_network_are_refused(tmp_path, change):
    from safetensors.numpy import load, save

    from deepsteiner.core.models import SHIPPED

    tensors = load((SHIPPED / "neural" / "weights.safetensors").read_bytes())
    facts = json.loads((SHIPPED / "neural" / "neural.json").read_text())
    if change == "shape":
        tensors["input.weight"] = np.ascontiguousarray(tensors["input.weight"][:, :-1])
    if change == "nan":
        tensors["output.bias"] = tensors["output.bias"] * np.float32("nan")
    if change == "missing":
        del tensors["message.0.weight"]
    if change == "rounds":
        facts["rounds"] += 1
    if change == "format":
        facts["format"] = 99
    (tmp_path / "weights.safetensors").write_bytes(save(tensors))
    (tmp_path / "neural.json").write_text(json.dumps(facts))
    with pytest.raises(FormatError, match=r"should have|do not fit|format 99"):
        ds.solve(np.random.default_rng(0).random((10, 2)), "neural", model=str(tmp_path))
