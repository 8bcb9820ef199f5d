"""Labels and training of the network behind `neural`."""

from __future__ import annotations

import json

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import FormatError
from deepsteiner.scoring.labels import load_labels, mixture, proven, save_labels, source_of
from deepsteiner.scoring.weights import load_weights


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
        {points.tobytes() for points in mixture(40, 3, split)} for split in ("train", "validation")
    )
    assert len(one) == len(two) == len(list(mixture(40, 3))) >= 39  # none comes twice
    assert not one & two
    assert {len(points) for points in mixture(40, 3)} == {10, 20, 30, 50, 100}
    first, second = (list(mixture(12, 5)) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def full_parts(label) -> set[tuple[int, ...]]:
    """The terminals of each full Steiner tree of a label: what stays joined without terminals."""
    n = len(label.points)
    edges = label.edges.tolist()
    parts = {tuple(sorted(edge)) for edge in edges if max(edge) < n}
    group = {v: {v} for edge in edges for v in edge if v >= n}
    for a, b in edges:
        if min(a, b) >= n and group[a] is not group[b]:
            group[a] |= group[b]
            group.update(dict.fromkeys(group[b], group[a]))
    for members in {id(one): one for one in group.values()}.values():
        ends = {v for edge in edges for v in edge if v < n and members & set(edge)}
        parts.add(tuple(sorted(ends)))
    return parts


def test_every_label_names_the_parts_of_its_tree(labels):
    pytest.importorskip("torch")
    from deepsteiner.core.points import Frame
    from deepsteiner.fst.enumerate.nearby.neighbour_kernels import ON_ONE, ON_TWO
    from deepsteiner.fst.enumerate.nearby.small_listing_kernels import list_grown
    from deepsteiner.scoring.train import LARGEST, describe_label

    assert len(labels) > 3
    found = wanted = 0
    for label in labels:
        (rows, begin, _), chosen = describe_label(label)
        points = Frame.of(label.points).into(label.points)
        _, start, terminals, *_ = list_grown(points, LARGEST, ON_ONE, ON_TWO)
        assert len(rows) == len(begin) - 1 == len(chosen) == len(start) - 1
        named = [
            tuple(sorted(terminals[start[f] : start[f + 1]].tolist()))
            for f in np.flatnonzero(chosen)
        ]
        parts = full_parts(label)
        assert len(named) == len(set(named))
        assert set(named) <= parts
        found, wanted = found + len(named), wanted + len(parts)
    assert found > 0.98 * wanted  # a part may be too large for the list


def test_training_learns_writes_and_is_repeatable(tmp_path, labels):
    pytest.importorskip("torch")
    from deepsteiner.scoring import train as neural_train

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


def test_the_command_trains_scores_from_labels(tmp_path, labels):
    pytest.importorskip("torch")
    import typer
    from typer.testing import CliRunner

    from deepsteiner.cli.commands import pretrain, train
    from deepsteiner.core.errors import DeepSteinerError

    path, out = tmp_path / "labels.npz", tmp_path / "model"
    save_labels(path, labels, "mixture 20 0 validation")
    app = typer.Typer()
    app.command("train")(train.train)
    app.command("pretrain")(pretrain.pretrain)

    def run(*words: str):
        found = CliRunner().invoke(app, [*words, "--labels", str(path)])
        if isinstance(found.exception, DeepSteinerError):
            raise found.exception
        return found

    words = ["train", "--out", str(out), "--set", "scores.epochs=2"]
    done = run(*words, "--set", f"validation.path={path}")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output.splitlines()[-1])["loss"] > 0
    facts = json.loads((out / "neural.json").read_text())
    assert (facts["epochs"], facts["instances"]) == (2, len(labels))
    points = np.random.default_rng(0).random((30, 2))
    assert ds.solve(points, "neural", model=str(out)).length < ds.solve(points, "mst").length
    for more, sentence in (
        ([*words], "is not an empty folder"),
        ([*words, "--seeds", "2"], "--labels is for `train` alone"),
        (["pretrain", "--out", str(out)], "--labels is for `train` alone"),
        (["train", "--out", str(out), "--set", "scores.epochs=0"], "epochs must be at least 1"),
    ):
        with pytest.raises(DeepSteinerError, match=sentence):
            run(*more)
