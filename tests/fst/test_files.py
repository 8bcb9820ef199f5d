"""Lists of full Steiner trees in files: nothing false is read, and no file makes a proof."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import DeepSteinerError, FormatError, OptionError
from deepsteiner.core.folders import own_secret
from deepsteiner.fst.enumerate.complete.generate import generate
from deepsteiner.fst.files import FIELDS, digest_of
from deepsteiner.fst.trees import FullTrees

POINTS = np.random.default_rng(3).random((30, 2))
# A square: three edges, and full Steiner trees of which the last joins all four points.
HAND = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the secret that lists are signed with out of the real cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file with the list of HAND."""
    generate(HAND).save(tmp_path / "trees.npz")
    return tmp_path / "trees.npz"


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    with np.load(path) as file:
        arrays = dict(file)
    return arrays, json.loads(str(arrays.pop("notes")))


def write(path: Path, arrays: dict[str, Any], notes: Any, *, forge: bool = True) -> None:
    """Write a list as an attacker would who knows the format, but not the user's secret."""
    if forge and all(name in arrays for name in FIELDS):
        claims = {name: notes[name] for name in notes if name not in ("digest", "seal")}
        notes = {**notes, "digest": digest_of(arrays, claims)}
    np.savez(path, notes=np.array(json.dumps(notes)), **arrays)


def solved(path: Path, points: np.ndarray = POINTS, **options: Any) -> ds.Solution:
    return ds.solve(points, "exact", load_fsts=str(path), **options)


# --- one's own list -------------------------------------------------------------------------------


def test_a_list_of_ones_own_is_as_good_as_a_fresh_one(tmp_path: Path, own_cache: Path) -> None:
    path = tmp_path / "trees.npz"
    fresh = ds.solve(POINTS, "exact", save_fsts=str(path))
    again = solved(path)
    assert (again.status, again.length) == ("optimal", fresh.length)
    assert again.info["load_fsts"] == {"complete": True, "doubt": ""}
    assert (own_cache / "deepsteiner").stat().st_mode & 0o777 == 0o700


def test_an_unfinished_list_proves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "trees.npz"
    ds.solve(POINTS, "exact", save_fsts=str(path), max_fst_size=3)
    again = solved(path)
    assert again.status == "feasible"
    assert again.lower_bound < again.length * 0.9
    assert again.info["load_fsts"] == {"complete": False, "doubt": ""}


# --- somebody else's ------------------------------------------------------------------------------


def without_tree(arrays: dict[str, np.ndarray], tree: int) -> dict[str, np.ndarray]:
    trees = SimpleNamespace(**arrays)
    low, high = int(trees.start[tree]), int(trees.start[tree + 1])
    start = np.delete(trees.start, tree + 1)
    start[tree + 1 :] -= high - low
    gone_steiner = np.arange(low - 2 * tree, high - 2 * (tree + 1))
    gone_edges = np.arange(2 * low - 3 * tree, 2 * high - 3 * (tree + 1))
    return {
        "points": trees.points,
        "start": start,
        "terminals": np.delete(trees.terminals, np.arange(low, high)),
        "length": np.delete(trees.length, tree),
        "steiner": np.delete(trees.steiner, gone_steiner, axis=0),
        "edges": np.delete(trees.edges, gone_edges, axis=0),
    }


def test_a_forged_list_that_lacks_a_tree_is_used_but_proves_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "trees.npz"
    best = ds.solve(POINTS, "exact", save_fsts=str(path))
    arrays, notes = read(path)
    while len(arrays["length"]) > len(POINTS):  # all but the spanning tree and one more
        arrays = without_tree(arrays, len(arrays["length"]) - 1)
    write(path, arrays, notes)
    with caplog.at_level(logging.WARNING):
        forged = solved(path)
    assert forged.length > best.length * 1.01
    assert forged.status == "feasible"
    assert forged.lower_bound < best.length
    assert "does not bear this user's signature" in forged.info["load_fsts"]["doubt"]
    assert "trees.npz: it does not bear this user's signature" in caplog.text


@pytest.mark.parametrize("loss", ["no cache", "another secret", "open to others"])
def test_without_the_secret_the_claim_is_not_believed(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    path = tmp_path / "trees.npz"
    best = ds.solve(POINTS, "exact", save_fsts=str(path))
    if loss == "no cache":
        monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    elif loss == "another secret":
        (own_cache / "deepsteiner" / "private" / "list-key").write_bytes(bytes(32))
    else:
        (own_cache / "deepsteiner" / "private").chmod(0o755)
    again = solved(path)
    assert again.status == "feasible"
    assert again.length == pytest.approx(best.length)


def test_other_caches_may_have_made_the_folder_around_the_secret(
    tmp_path: Path, own_cache: Path
) -> None:
    (own_cache / "deepsteiner").mkdir(mode=0o755, parents=True)
    path = tmp_path / "trees.npz"
    ds.solve(POINTS, "exact", save_fsts=str(path))
    assert solved(path).status == "optimal"


def test_a_list_can_be_saved_where_there_is_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert own_secret("list-key", create=True) is None
    generate(HAND).save(tmp_path / "trees.npz")
    assert not FullTrees.load(tmp_path / "trees.npz").complete


@pytest.mark.parametrize("name", [*FIELDS, "complete", "stats", "version"])
def test_every_change_is_noticed(path: Path, name: str) -> None:
    arrays, notes = read(path)
    if name in arrays:
        arrays[name] = arrays[name].copy()
        flat = arrays[name].reshape(-1)
        flat[-1] = np.nextafter(flat[-1], 2.0) if flat.dtype == np.float64 else flat[-1] - 1
    elif name == "stats":
        notes["stats"]["trees"] += 1
    else:
        notes[name] = not notes[name] if name == "complete" else "0.0.1"
    write(path, arrays, notes, forge=False)
    with pytest.raises(FormatError, match=r"was changed after it was written|was written by deep"):
        FullTrees.load(path)


def test_a_list_of_another_version_is_refused(path: Path) -> None:
    arrays, notes = read(path)
    write(path, arrays, {**notes, "version": "0.0.1"})
    with pytest.raises(FormatError, match=r"written by deepsteiner '0\.0\.1', and this is \d"):
        FullTrees.load(path)


# --- what can be checked, is ----------------------------------------------------------------------


def swapped(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Exchange the Steiner points of the largest tree: same topology, other lengths."""
    steiner = arrays["steiner"].copy()
    steiner[-2:] = steiner[-2:][::-1]
    return {"steiner": steiner}


def with_last_edges(*edges: tuple[int, int]):
    def change(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        new = arrays["edges"].copy()
        new[-len(edges) :] = edges
        return {"edges": new}

    return change


def with_entry(name: str, place: Any, value: Any):
    def change(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        new = arrays[name].copy()
        new[place] = value
        return {name: new}

    return change


def wrapping(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Offsets whose differences are positive and sum up only because they wrap around."""
    far = np.array([0, 2**62, -(2**63), -(2**62), len(arrays["terminals"])], dtype=np.int64)
    return {"start": far, "length": arrays["length"][:4]}


FORGERIES = [
    (lambda a: {"start": a["start"][:-1]}, "'start' does not fit"),
    (lambda a: {"length": np.zeros(3)}, "'start' does not fit"),
    (wrapping, "'start' has to rise"),
    (with_entry("start", 1, 0), "'start' has to rise"),
    (with_entry("start", 1, -5), "'start' has to rise"),
    (with_entry("start", 1, 3), "edges of a spanning tree have to stand in front"),
    (lambda a: {"points": np.zeros((0, 2))}, "edges of a spanning tree have to stand in front"),
    (with_entry("length", 0, np.nan), "'length' contains a number that is not finite"),
    (with_entry("steiner", (0, 0), np.inf), "'steiner' contains a number that is not finite"),
    (lambda a: {"terminals": a["terminals"].astype(float)}, "1-dimensional array of int64"),
    (lambda a: {"points": a["points"].ravel()}, "2-dimensional array of float64"),
    (lambda a: {"points": np.zeros((4, 3))}, "'points' has to have two columns"),
    (lambda a: {"steiner": a["steiner"][:-1]}, "k - 2 rows"),
    (lambda a: {"edges": a["edges"][:-1]}, "2 k - 3 rows"),
    (with_entry("terminals", 0, 9), "names a point that does not exist"),
    (with_entry("terminals", 0, -1), "names a point that does not exist"),
    (with_entry("terminals", slice(-2, None), 3), "a tree has a terminal twice"),
    (with_entry("edges", (-1, 0), 77), "names a node that does not exist"),
    (with_entry("edges", (-1, 0), -1), "names a node that does not exist"),
    (with_last_edges((0, 4), (0, 4), (1, 5), (2, 5), (3, 4)), "do not connect all points"),
    (with_last_edges((0, 1), (1, 2), (2, 3), (3, 4), (4, 5)), "have one edge and Steiner points"),
    (with_entry("length", -1, 0.1), "length is not the sum of its edges"),
    (with_entry("steiner", (-1, 0), 0.3), "length is not the sum of its edges"),
    (swapped, "length is not the sum of its edges"),
    (with_entry("terminals", slice(0, 6), [0, 1, 0, 1, 0, 1]), "do not connect all points"),
]


@pytest.mark.parametrize(("change", "message"), FORGERIES)
def test_forged_arrays_are_refused(path: Path, change: Any, message: str) -> None:
    arrays, notes = read(path)
    arrays |= change(arrays)
    write(path, arrays, notes)
    with pytest.raises(FormatError, match=message) as caught:
        FullTrees.load(path)
    assert "\n" not in str(caught.value)


def test_a_longer_spanning_tree_in_front_is_refused(path: Path) -> None:
    arrays, notes = read(path)
    arrays["terminals"][:6] = [0, 1, 1, 3, 3, 2]  # over a diagonal
    spans = HAND[arrays["terminals"][:6].reshape(3, 2)]
    arrays["length"][:3] = np.hypot(*(spans[:, 0] - spans[:, 1]).T)
    write(path, arrays, notes)
    with pytest.raises(FormatError, match="spanning tree in front is not a shortest one"):
        FullTrees.load(path)


BAD_NOTES = [
    ([], "expected a list of format 3, got \\[\\]"),
    ({"format": 2}, "expected a list of format 3, got 2"),
    ({"format": 3}, "the notes must be format, version"),
    ({"complete": "yes"}, "'complete' must be true or false"),
    ({"stats": []}, "'stats' must be numbers by name"),
    ({"stats": {"trees": "many"}}, "'stats' must be numbers by name"),
    ({"stats": {"trees": 10**400}}, "'stats' must be numbers by name"),
    ({"seal": 5}, "'seal' must be a text"),
    ({"digest": None}, "'digest' a text"),
    ({"more": 1}, "the notes must be format, version"),
]


@pytest.mark.parametrize(("change", "message"), BAD_NOTES)
def test_forged_notes_are_refused(path: Path, change: Any, message: str) -> None:
    arrays, notes = read(path)
    wanted = change if isinstance(change, list) or "format" in change else {**notes, **change}
    write(path, arrays, wanted, forge=False)
    with pytest.raises(FormatError, match=message):
        FullTrees.load(path)


def test_files_of_something_else(tmp_path: Path, path: Path) -> None:
    arrays, notes = read(path)
    del arrays["length"]
    write(path, arrays, notes)
    with pytest.raises(FormatError, match="is no list of full Steiner trees: it has no 'length'"):
        FullTrees.load(path)
    np.savez(path, notes=np.array("[" * 100_000), **read_fields(tmp_path))
    with pytest.raises(FormatError, match="not valid JSON"):
        FullTrees.load(path)
    np.savez(path, notes=np.arange(3), **read_fields(tmp_path))
    with pytest.raises(FormatError, match="must be a single string"):
        FullTrees.load(path)
    path.write_text("not a zip archive")
    with pytest.raises(FormatError, match="is not an npz archive"):
        FullTrees.load(path)
    with pytest.raises(FormatError, match="does not exist"):
        FullTrees.load(tmp_path / "absent.npz")
    with pytest.raises(FormatError, match="is a folder"):
        FullTrees.load(tmp_path)


def read_fields(folder: Path) -> dict[str, np.ndarray]:
    generate(HAND).save(folder / "again.npz")
    return read(folder / "again.npz")[0]


def arrays_of(trees: FullTrees) -> dict[str, np.ndarray]:
    return {**vars(trees), "edges": trees.edges}


def test_random_damage_never_gets_past_the_errors(path: Path) -> None:
    rng = np.random.default_rng(0)
    whole = path.read_bytes()
    expected = FullTrees.load(path)
    refused = 0
    for _ in range(300):
        damaged = bytearray(whole)
        if rng.random() < 0.3:
            del damaged[rng.integers(len(whole)) :]
        for _ in range(rng.integers(1, 4)):
            if damaged:
                damaged[rng.integers(len(damaged))] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            found = FullTrees.load(path)
        except DeepSteinerError:
            refused += 1
        else:  # the damage was in what no reader looks at
            assert digest_of(arrays_of(found), {}) == digest_of(arrays_of(expected), {})
    assert refused > 200


# --- saving ---------------------------------------------------------------------------------------


def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    phases: list[str] = []
    for target, message in (
        (tmp_path / "missing" / "trees.npz", "does not exist"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(FormatError, match=message):
            ds.solve(
                POINTS, "exact", save_fsts=str(target), on_progress=lambda p: phases.append(p.phase)
            )
    assert phases == []


def test_a_disk_that_is_full_in_the_end_does_not_cost_the_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*arguments: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    solution = ds.solve(POINTS, "exact", save_fsts=str(tmp_path / "trees.npz"))
    assert solution.status == "optimal"
    assert "No space left on device" in solution.info["save_fsts"]
    assert "No space left on device" in caplog.text
    assert not list(tmp_path.glob("*.npz"))


def test_lists_of_other_points_are_refused(path: Path) -> None:
    with pytest.raises(OptionError, match="holds the full Steiner trees of other points"):
        solved(path)
