"""No test instance is trained on: golden and published instances against all that was.

Instances are compared by a hash of their points to four decimals, in any order: the authors'
instances are rounded like that, so a rounded copy would be found as well. Every stream is read
from its beginning to the last instance that a shipped model drew, every label to the last.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from deepsteiner import datasets
from deepsteiner.datasets import BLOCK_INSTANCES
from deepsteiner.scoring.labels import Label, load_labels, mixture, save_labels

PACKAGE = Path(datasets.__file__).parent
GOLDEN = Path(__file__).parents[1] / "golden"
PUBLISHED = Path(__file__).resolve().parents[3] / "shared" / "data"
MODELS = sorted(path for path in (PACKAGE / "models").iterdir() if (path / "card.md").is_file())
AUTHORS = {"d1_authors.npz": "test_points", "deg10_authors.npz": "", "orlib_estein.npz": ""}
# Files of the package that hold no points; anything else would have to be read here.
WITHOUT_POINTS = {
    ".py", ".pyc", ".nbi", ".nbc", ".kernel", ".typed", ".md", ".toml", ".safetensors",
    ".css", ".html", ".js", ".svg", ".json", ".jsonl",
}  # fmt: skip

Contents = dict[int, np.ndarray]


def contents(instances: np.ndarray) -> np.ndarray:
    """Return (B,): what identifies each instance (B, n, 2), whatever the order of its points."""
    cells = np.rint(1e4 * instances).astype(np.int64).view(np.uint64)
    keys = cells[:, :, 0] * np.uint64(0x9E3779B97F4A7C15)
    keys += cells[:, :, 1]
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys ^= keys >> np.uint64(shift)
        keys *= np.uint64(factor)
    keys ^= keys >> np.uint64(31)
    return keys.sum(axis=1, dtype=np.uint64)


def by_size(arrays: Iterable[np.ndarray]) -> Contents:
    """Return the sorted contents of instances (B, n, 2) by their number of points."""
    found: dict[int, list[np.ndarray]] = {}
    for instances in arrays:
        found.setdefault(instances.shape[1], []).append(contents(instances))
    return {n: np.sort(np.concatenate(parts)) for n, parts in found.items()}


def golden_instances() -> list[np.ndarray]:
    return [np.load(path)["points"] for path in sorted(GOLDEN.glob("*.npz"))]


def published_instances(folder: Path) -> list[np.ndarray]:
    found = []
    for name, only in AUTHORS.items():
        with np.load(folder / name) as data:
            keys = [only] if only else [key for key in data.files if key.startswith("points")]
            found += [data[key] for key in keys]
    return found


@pytest.fixture(scope="module")
def tested() -> Contents:
    """What nothing may be trained on: golden instances, and published ones where they are."""
    published = published_instances(PUBLISHED) if PUBLISHED.is_dir() else []
    return by_size([*golden_instances(), *published])


def shared(found: np.ndarray, forbidden: np.ndarray) -> bool:
    """Return whether any content is among the (sorted) forbidden ones."""
    place = np.searchsorted(forbidden, found).clip(max=len(forbidden) - 1)
    return bool((forbidden[place] == found).any())


@dataclass(frozen=True)
class Stream:
    """Where training instances came from, and how many were drawn."""

    kind: str
    n: int
    seed: int
    drawn: int

    def chunks(self) -> Iterator[np.ndarray]:
        """Yield all that was drawn."""
        stream = datasets.generate(self.kind, self.n, self.drawn, self.seed, "train")
        yield from stream.iter_chunks(BLOCK_INSTANCES)


def streams_of(folder: Path) -> list[Stream]:
    """Return what a policy or a tour model was trained on, by its own description.

    What a run began from may not be shipped. It drew from the stream of the same name, with
    some seed up to this run's, and the description counts how much at most.
    """
    described = json.loads((folder / "config.json").read_text())
    facts = described.get("training", described)
    config = facts["config"]
    data, drawn = config["data"], facts["step"] * config["train"]["batch"]
    assert data["path"] is None, f"{folder.name} was trained on a file: check that file here"
    kind, n = datasets.PAPER.get(data["name"], (data["name"], data["n"]))
    if "tour" in config:
        kind, n = "uniform", config["tour"]["n"]
    if not data["fresh"]:
        drawn = min(drawn, data["instances"])
    found = [Stream(kind, n, data["seed"], drawn)]
    start = config["train"].get("start")
    if start is not None and start not in {model.name for model in MODELS}:
        before = facts["instances_before"]
        found += [Stream(kind, n, seed, before) for seed in range(data["seed"] + 1)]
    return found


def longest_streams() -> list[Stream]:
    """Return every stream once, as far as any model read it."""
    longest: dict[tuple[str, int, int], Stream] = {}
    for folder in MODELS:
        if (folder / "config.json").is_file():
            for stream in streams_of(folder):
                key = (stream.kind, stream.n, stream.seed)
                longest[key] = max(longest.get(key, stream), stream, key=lambda one: one.drawn)
    return list(longest.values())


def label_sources() -> list[str]:
    """Return what the labels of the shipped networks of `neural` were drawn from."""
    found = []
    for folder in MODELS:
        if (folder / "neural.json").is_file():
            found += json.loads((folder / "neural.json").read_text())["labels"]
    return found


def instances_in(path: Path) -> list[np.ndarray]:
    """Return all instances of a file: of labels, or of an array (B, n, 2)."""
    with np.load(path) as data:
        names = data.files
    if "sizes" in names:
        return [label.points for label in load_labels(path)]
    return list(np.load(path)["points"])


def holds_any(instances: Iterable[np.ndarray], forbidden: Contents) -> bool:
    """Return whether any of the instances, of whatever size, is forbidden."""
    found = by_size(points[None] for points in instances)
    return any(shared(keys, forbidden[n]) for n, keys in found.items() if n in forbidden)


def test_contents_ignore_order_and_see_changes_and_roundings():
    points = np.random.default_rng(0).random((50, 10, 2))
    assert len(np.unique(contents(points))) == 50
    assert np.array_equal(contents(points), contents(points[:, ::-1]))
    assert np.array_equal(contents(points), contents(np.round(points, 4)))
    swapped = points[:, :, ::-1]
    assert not np.isin(contents(swapped), contents(points)).any()
    moved = points.copy()
    moved[:, 3, 1] += 2e-4
    assert not np.isin(contents(moved), contents(points)).any()


def test_every_shipped_model_says_what_it_was_trained_on():
    assert len(MODELS) > 10
    for folder in MODELS:
        policy, neural = (folder / name for name in ("config.json", "neural.json"))
        assert policy.is_file() != neural.is_file(), folder.name
        if policy.is_file():
            assert all(stream.drawn > 0 for stream in streams_of(folder))
    assert {(stream.kind, stream.n) for stream in longest_streams()} == set(datasets.PAPER.values())


def test_golden_and_published_instances_are_looked_for(tested, shared_data):
    for instances in [*golden_instances(), *published_instances(shared_data)]:
        assert np.isin(contents(instances), tested[instances.shape[1]]).all()
    assert {n: len(tested[n]) for n in (10, 20)} == {10: 15_015, 20: 1_015}


@pytest.mark.slow
@pytest.mark.parametrize("stream", longest_streams(), ids=str)
def test_no_test_instance_was_drawn_from_a_training_stream(stream, tested):
    read = 0
    for chunk in stream.chunks():
        read += len(chunk)
        assert not shared(contents(chunk), tested[stream.n])
    assert read == stream.drawn


@pytest.mark.parametrize("place", [0, BLOCK_INSTANCES, 2999])
def test_an_instance_anywhere_in_a_stream_would_be_found(place):
    stream = Stream("uniform", 10, 0, 3000)
    drawn = np.concatenate(list(stream.chunks()))
    assert len(drawn) == 3000
    copy = np.round(drawn[place, ::-1], 4)[None]
    assert any(shared(contents(chunk), contents(copy)) for chunk in stream.chunks())
    assert not any(shared(contents(chunk), contents(1.0 - copy)) for chunk in stream.chunks())


@pytest.mark.parametrize("source", label_sources())
def test_no_test_instance_was_labelled(source, tested):
    kind, count, seed, split = source.split()
    assert (kind, split) == ("mixture", "train")
    instances = list(mixture(int(count), int(seed), split))
    assert len(instances) == int(count)
    assert {len(points) for points in instances} <= set(tested)
    assert not holds_any(instances, tested)


def test_the_networks_labels_are_named():
    assert len(label_sources()) >= 3


@pytest.mark.parametrize("name", ["u10", "g10", "u20", "c50", "i30", "u100"])
@pytest.mark.parametrize("place", [0, 3, 6])
def test_a_test_instance_anywhere_in_a_label_file_would_be_found(
    tmp_path, golden, tested, name, place
):
    """Among labels of other sizes, its points in another order and rounded."""
    path = tmp_path / "labels.npz"
    points, _ = golden(name)
    rng = np.random.default_rng(place)
    instances = [rng.random((n, 2)) for n in (10, 30, 10, 20, 50, 100)]
    for planted in (False, True):
        if planted:
            instances.insert(place, np.round(points[-1][::-1], 4))
        labels = [
            Label(one, np.empty((0, 2)), np.array([[0, i] for i in range(1, len(one))]))
            for one in instances
        ]
        save_labels(path, labels)
        assert holds_any(instances_in(path), tested) == planted


def test_no_file_of_the_package_holds_a_test_instance(tested):
    # (what is compiled meanwhile comes and goes)
    files = [p for p in PACKAGE.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert len(files) > 200
    for path in files:
        if path.suffix not in WITHOUT_POINTS:
            assert not holds_any(instances_in(path), tested), path.name


@pytest.mark.parametrize("name", list(datasets.PAPER))
@pytest.mark.parametrize("seed", [0, 1])
def test_training_validation_and_test_streams_share_nothing(name, seed, tested):
    splits = {
        split: contents(datasets.load(name, count=10_240, split=split, seed=seed).points)
        for split in datasets.SPLITS
    }
    everything = np.concatenate(list(splits.values()))
    assert len(everything) == 3 * 10_240
    assert len(np.unique(everything)) == len(everything)
    assert not shared(everything, tested[datasets.PAPER[name][1]])
