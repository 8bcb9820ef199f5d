"""No test instance is trained on: golden and authors' instances against every training stream.

Instances are compared by a hash of their points to four decimals, in any order: the authors'
instances are rounded like that, so a rounded copy would be found as well.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from deepsteiner import datasets
from deepsteiner.datasets import BLOCK_INSTANCES

PACKAGE = Path(datasets.__file__).parent
GOLDEN = Path(__file__).parent / "golden"
# Instances looked at, in blocks spread over all that a model has drawn: of every model, and of
# every stream that models share.
SAMPLE = 60 * BLOCK_INSTANCES
MILLIONS = 2000 * BLOCK_INSTANCES
AUTHORS = {
    "d1_authors.npz": ("test_points",),
    "deg10_authors.npz": ("points",),
    "orlib_estein.npz": ("points_10", "points_20"),
}


def contents(instances: np.ndarray) -> np.ndarray:
    """Return (B,): what identifies each instance (B, n, 2), whatever the order of its points."""
    with np.errstate(over="ignore"):
        cells = np.round(1e4 * instances).astype(np.int64).astype(np.uint64)
        keys = cells[:, :, 0] * np.uint64(0x9E3779B97F4A7C15) + cells[:, :, 1]
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
        return (keys ^ (keys >> np.uint64(31))).sum(axis=1, dtype=np.uint64)


@dataclass(frozen=True)
class Stream:
    """Where a model's training instances came from, and how many it drew."""

    kind: str
    n: int
    seed: int
    drawn: int

    def chunks(self, most: int):
        """Yield the instances, block by block; of a long stream only some blocks up to `most`."""
        blocks = np.arange(-(-self.drawn // BLOCK_INSTANCES))
        if len(blocks) > most // BLOCK_INSTANCES:
            blocks = np.linspace(0, len(blocks) - 1, most // BLOCK_INSTANCES).astype(int)
        stream = datasets.generate(self.kind, self.n, 1 << 40, self.seed, "train")
        for block in blocks.tolist():
            yield stream[block * BLOCK_INSTANCES : (block + 1) * BLOCK_INSTANCES]


def stream_of(folder: Path) -> Stream:
    """Read a shipped model's description."""
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
    return Stream(kind, n, data["seed"], drawn)


def trained_models() -> list[Path]:
    """Return the shipped policies and tour models: what `train` and `pretrain` made."""
    folders = sorted(path.parent for path in (PACKAGE / "models").glob("*/config.json"))
    return [folder for folder in folders if {"candidates", "tour"} & set(_config(folder))]


def _config(folder: Path) -> dict[str, object]:
    described = json.loads((folder / "config.json").read_text())
    found: dict[str, object] = described.get("training", described).get("config", {})
    return found


def golden_contents() -> dict[int, np.ndarray]:
    """Return the contents of the golden instances by their number of points."""
    found: dict[int, list[np.ndarray]] = {}
    for path in sorted(GOLDEN.glob("*.npz")):
        with np.load(path) as data:
            found.setdefault(data["points"].shape[1], []).append(contents(data["points"]))
    return {n: np.concatenate(parts) for n, parts in found.items()}


def authors_contents(folder: Path) -> dict[int, np.ndarray]:
    """Return the contents of published test instances by their number of points."""
    found: dict[int, list[np.ndarray]] = {}
    for name, keys in AUTHORS.items():
        with np.load(folder / name) as data:
            for key in keys:
                found.setdefault(data[key].shape[1], []).append(contents(data[key]))
    return {n: np.concatenate(parts) for n, parts in found.items()}


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


def check(stream: Stream, tested: dict[int, np.ndarray], most: int) -> None:
    forbidden = np.sort(tested.get(stream.n, np.zeros(0, dtype=np.uint64)))
    if len(forbidden) == 0:
        return
    for chunk in stream.chunks(most):
        found = contents(chunk)
        place = np.searchsorted(forbidden, found).clip(max=len(forbidden) - 1)
        assert not (forbidden[place] == found).any()


@pytest.mark.parametrize("folder", trained_models(), ids=lambda folder: folder.name)
def test_no_golden_instance_was_trained_on(folder):
    check(stream_of(folder), golden_contents(), SAMPLE)


@pytest.mark.parametrize("folder", trained_models(), ids=lambda folder: folder.name)
def test_no_published_test_instance_was_trained_on(folder, shared_data):
    check(stream_of(folder), authors_contents(shared_data), SAMPLE)


@pytest.mark.slow
def test_no_test_instance_is_among_millions_of_trained_ones(shared_data):
    tested, published = golden_contents(), authors_contents(shared_data)
    both = {n: np.concatenate([d[n] for d in (tested, published) if n in d]) for n in (10, 20)}
    # Models that share a stream differ only in how far they read it.
    longest: dict[tuple[str, int, int], Stream] = {}
    for folder in trained_models():
        stream = stream_of(folder)
        key = (stream.kind, stream.n, stream.seed)
        longest[key] = max(longest.get(key, stream), stream, key=lambda one: one.drawn)
    for stream in longest.values():
        check(stream, both, MILLIONS)


@pytest.mark.parametrize("name", list(datasets.PAPER))
@pytest.mark.parametrize("seed", [0, 1])
def test_training_validation_and_test_streams_share_nothing(name, seed):
    splits = {
        split: contents(datasets.load(name, count=10_240, split=split, seed=seed).points)
        for split in datasets.SPLITS
    }
    everything = np.concatenate(list(splits.values()))
    assert len(np.unique(everything)) == len(everything)
    n = datasets.PAPER[name][1]
    assert not np.isin(everything, golden_contents()[n]).any()


def test_no_shipped_label_file_holds_a_test_instance():
    golden = golden_contents()
    for path in PACKAGE.rglob("*.npz"):
        with np.load(path) as data:
            points = data["points"] if "points" in data.files else np.empty((0, 1, 2))
        if points.ndim == 3 and points.shape[1] in golden:
            assert not np.isin(contents(points), golden[points.shape[1]]).any(), path.name
