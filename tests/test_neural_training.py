"""Labels and training of the network behind `neural`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import FormatError
from deepsteiner.core.models import SHIPPED
from deepsteiner.learned.neural_labels import (
    load_labels,
    mixture,
    proven,
    save_labels,
    source_of,
)
from deepsteiner.search.neural_weights import load_weights

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def labels():
    points = [one for one in mixture(20, 0, "validation") if len(one) <= 30]
    return proven(ds.solve_many(points, "exact"))


def test_labels_come_back_as_they_were(tmp_path, labels):
    save_labels(tmp_path / "labels.npz", labels, "mixture 20 0 validation")
    again = load_labels(tmp_path / "labels.npz")
    assert len(again) == len(labels) > 3
    for one, two in zip(labels, again, strict=True):
        assert np.array_equal(one.points, two.points)
        assert np.array_equal(one.steiner, two.steiner)
        assert np.array_equal(one.edges, two.edges)
    assert source_of(tmp_path / "labels.npz") == "mixture 20 0 validation"
    np.savez(tmp_path / "other.npz", points=np.zeros((3, 2)))
    with pytest.raises(FormatError, match="no label file"):
        load_labels(tmp_path / "other.npz")
    with np.load(tmp_path / "labels.npz") as file:
        arrays = dict(file)
    np.savez(tmp_path / "other.npz", **{**arrays, "sizes": arrays["sizes"] + 1})
    with pytest.raises(FormatError, match="its arrays do not fit its sizes"):
        load_labels(tmp_path / "other.npz")


def test_mixture_holds_all_kinds_and_splits_are_disjoint():
    one, two = (
        {row.tobytes() for points in mixture(40, 3, split) for row in points}
        for split in ("train", "validation")
    )
    shared = one & two  # grids share coordinates
    assert len(shared) < 0.2 * len(one)
    assert {len(points) for points in mixture(40, 3)} == {10, 20, 30, 50, 100}
    first, second = (list(mixture(12, 5)) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_training_learns_writes_and_is_repeatable(tmp_path, labels):
    pytest.importorskip("torch")
    from deepsteiner.learned import neural_train

    save_labels(tmp_path / "labels.npz", labels)
    weights = []
    for name in ("one", "two"):
        source = str(tmp_path / "labels.npz")
        how = ["--epochs", "30", "--rounds", "1", "--validation", source]
        neural_train.main([source, "--out", str(tmp_path / name), *how])
        weights.append((tmp_path / name / "weights.safetensors").read_bytes())
        facts = json.loads((tmp_path / name / "neural.json").read_text())
        assert facts["rounds"] == 1
        assert facts["validation"]["loss"] < 0.5
    assert weights[0] == weights[1]
    assert "proven shortest trees" in (tmp_path / "one" / "card.md").read_text()
    assert len(load_weights(str(tmp_path / "one"))[2]) == 1


def test_no_golden_instance_was_trained_on():
    facts = json.loads((SHIPPED / "neural" / "neural.json").read_text())
    tested = set()
    for path in GOLDEN.glob("*.npz"):
        with np.load(path) as data:
            tested |= {np.sort(np.ravel(np.round(one, 9))).tobytes() for one in data["points"]}
    for source in facts["labels"]:
        kind, count, seed, split = source.split()
        assert (kind, split) == ("mixture", "train")
        for points in mixture(int(count), int(seed), split):
            assert np.sort(np.ravel(np.round(points, 9))).tobytes() not in tested


def test_labels_from_the_command_line(tmp_path, capsys):
    from deepsteiner.cli import run

    path = tmp_path / "labels.npz"
    arguments = ["generate", "uniform", "--n", "8", "--count", "3", "--labels", "-O"]
    assert run([*arguments, str(path)]) == 0
    assert "3 shortest trees" in capsys.readouterr().out
    assert [len(label.points) for label in load_labels(path)] == [8, 8, 8]
    assert source_of(path) == "uniform 3 0 test"
    assert run([*arguments, str(tmp_path / "labels.csv")]) == 2
    assert "ends in .npz" in capsys.readouterr().err
