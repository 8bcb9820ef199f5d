"""Training on a part of the labels, models without messages, and what a card says."""

from __future__ import annotations

import json

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import FormatError
from deepsteiner.scoring.labels import Label, kinds_of, load_labels, mixture, proven, save_labels
from deepsteiner.scoring.weights import load_weights


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A label file of all kinds; trees do not matter to what is tested, so most are stars."""
    path = tmp_path_factory.mktemp("labels") / "drawn.npz"
    labels = [
        Label(points, np.empty((0, 2)), np.array([[0, i] for i in range(1, len(points))]))
        for points in mixture(20, 3, "validation")
    ]
    save_labels(path, labels, "mixture 20 3 validation")
    return path


def test_kinds_are_recognised(drawn, tmp_path):
    labels = load_labels(drawn)
    kinds = kinds_of(drawn, labels)
    assert set(kinds) == {"uniform", "normal", "clustered", "tight", "separated", "grid"}
    assert kinds_of(drawn, labels[5:]) == kinds[5:]  # also where unproven ones are missing
    moved = Label(labels[0].points + 1.0, labels[0].steiner, labels[0].edges)
    assert kinds_of(drawn, [moved]) == ["unknown"]
    save_labels(tmp_path / "other.npz", labels)
    with pytest.raises(FormatError, match="does not say how"):
        kinds_of(tmp_path / "other.npz", labels)


def test_parts_leave_out_kinds_and_sizes(drawn):
    pytest.importorskip("torch")
    from deepsteiner.scoring.train import Part

    everything = Part().of(str(drawn))
    assert len(everything) == len(load_labels(drawn))
    assert max(len(label.points) for label in Part(most_points=50).of(str(drawn))) == 50
    rest = Part(("clustered", "tight")).of(str(drawn))
    assert 0 < len(rest) < len(everything)
    assert not {"clustered", "tight"} & set(kinds_of(drawn, rest))


def test_the_card_says_how_labels_and_model_were_made(tmp_path):
    pytest.importorskip("torch")
    from deepsteiner.scoring import train

    points = [one for one in mixture(12, 0, "validation") if len(one) <= 20]
    path = tmp_path / "few.npz"
    save_labels(path, proven(ds.solve_many(points, "exact")), "mixture 12 0 validation")
    how = ["--epochs", "1", "--without", "tight", "--most-points", "20", "--label-minutes", "2"]
    train.main([str(path), "--out", str(tmp_path / "model"), *how])
    card = (tmp_path / "model" / "card.md").read_text()
    facts = json.loads((tmp_path / "model" / "neural.json").read_text())
    made = "deepsteiner generate mixture --labels --split validation --count 12 --seed 0 -O few.npz"
    assert made in card
    assert facts["command"] in card
    assert "10 to 20 points" in card
    assert "tight" not in card.split("\n- made")[0]
    assert "2 minutes of one core" in card
    assert facts["most_points"] == 20


def test_a_model_without_messages(tmp_path):
    from safetensors.numpy import load, save

    from deepsteiner.core.models import SHIPPED

    tensors = load((SHIPPED / "neural" / "weights.safetensors").read_bytes())
    few = {name: value for name, value in tensors.items() if name.startswith(("input", "output"))}
    (tmp_path / "weights.safetensors").write_bytes(save(few))
    (tmp_path / "neural.json").write_text('{"format": 1, "rounds": 0}')
    weights = load_weights(str(tmp_path))
    assert [len(value) for value in weights[2:5]] == [0, 0, 0]
    for n in (30, 300):
        points = np.random.default_rng(n).random((n, 2))
        solution = ds.solve(points, "neural", model=str(tmp_path))
        solution.validate(strict=True)
        assert solution.length < ds.solve(points, "mst").length
