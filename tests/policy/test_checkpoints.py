"""Model folders: what is saved is what is loaded, and what is not a model is refused."""

from __future__ import annotations

import json
import pickle

import pytest

torch = pytest.importorskip("torch", reason="needs the extra [learn]")

from deepsteiner.core.errors import FormatError  # noqa: E402
from deepsteiner.policy import checkpoint  # noqa: E402
from deepsteiner.policy.settings import CandidateSpec  # noqa: E402
from small_policies import SMALL, SPEC, build  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A saved model."""
    path = tmp_path_factory.mktemp("models") / "small"
    return checkpoint.save(path, build(), SPEC, {"seed": 3}, card="# small\n")


def test_checkpoints_round_trip(folder):
    loaded, meta = checkpoint.load(folder)
    original = build()
    for name, value in original.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value)
    assert not loaded.training
    assert loaded.config == SMALL
    assert checkpoint.candidate_spec(meta) == SPEC
    assert meta["seed"] == 3
    assert sorted(p.name for p in folder.iterdir()) == [
        "card.md",
        "config.json",
        "weights.safetensors",
    ]


def test_half_checkpoints_are_small_and_load_as_single(folder, tmp_path):
    half = checkpoint.save(tmp_path / "half", build(), CandidateSpec("knn"), {}, half=True)
    loaded, meta = checkpoint.load(str(half))
    assert loaded.embed.weight.dtype == torch.float32
    assert torch.allclose(loaded.embed.weight, build().embed.weight, atol=1e-3)
    assert meta["candidates"]["kind"] == "knn"
    sizes = [(one / "weights.safetensors").stat().st_size for one in (half, folder)]
    assert sizes[0] < 0.7 * sizes[1]


def rewrite(source, target, change):
    """Copy a model, its description changed."""
    target.mkdir()
    for name in ("weights.safetensors", "config.json"):
        (target / name).write_bytes((source / name).read_bytes())
    meta = json.loads((target / "config.json").read_text())
    change(meta)
    (target / "config.json").write_text(json.dumps(meta))
    return target


def _deeper(meta):
    meta["network"]["layers"] = 3


def _shallower(meta):
    meta["network"]["layers"] = 1


def _wider(meta):
    meta["network"]["ff"] = 64


def _newer(meta):
    meta["format"] = 99


def _without_format(meta):
    del meta["format"]


def _unknown_field(meta):
    meta["network"]["colour"] = "red"


def _bad_value(meta):
    meta["candidates"]["kind"] = "star"


def _without_network(meta):
    del meta["network"]


BAD_DESCRIPTIONS = [
    (_deeper, r"do not fit .*: encoder\.layers\.2\.\S+ is missing \(and \d+ more\)"),
    (_shallower, r"do not fit .*: encoder\.layers\.1\.\S+ is not part of the network"),
    (_wider, r"do not fit .*: encoder\.layers\.\d\.ff_\S+ has shape .*32.* instead of"),
    (_newer, "has format 99; this version of deepsteiner reads formats up to 1"),
    (_without_format, "does not describe a model: it names no format"),
    (_unknown_field, "section 'network' has no field 'colour'; its fields are decoder, dim"),
    (_bad_value, "candidate kind must be one of mst, knn, all, grid, got 'star'"),
    (_without_network, "has no section 'network'"),
]


@pytest.mark.parametrize(("change", "message"), BAD_DESCRIPTIONS)
def test_checkpoints_of_another_kind_are_refused(folder, tmp_path, change, message):
    with pytest.raises(FormatError, match=message):
        checkpoint.load(rewrite(folder, tmp_path / "bad", change))


def test_damaged_checkpoints_are_refused(folder, tmp_path):
    bad = rewrite(folder, tmp_path / "bad", lambda meta: None)
    whole = (bad / "weights.safetensors").read_bytes()
    for content in (whole[: len(whole) // 2], whole[:4], b""):
        (bad / "weights.safetensors").write_bytes(content)
        with pytest.raises(FormatError, match="is damaged or cut off"):
            checkpoint.load(bad)
    (bad / "config.json").write_text("{")
    with pytest.raises(FormatError, match="is not readable JSON"):
        checkpoint.load(bad)
    (bad / "weights.safetensors").unlink()
    with pytest.raises(FormatError, match=r"has no file weights\.safetensors$"):
        checkpoint.load(bad)
    poisoned = build()
    with torch.no_grad():
        poisoned.embed.bias[0] = torch.nan
    with pytest.raises(FormatError, match=r"embed\.bias holds values that are not finite"):
        checkpoint.load(checkpoint.save(tmp_path / "nan", poisoned, SPEC, {}))


class Bomb:
    """What a pickle could do when loaded."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_pickles_are_never_loaded(folder, tmp_path):
    file = tmp_path / "model.pt"
    file.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(FormatError, match="is a pickle, which could run any program"):
        checkpoint.load(file)
    bad = rewrite(folder, tmp_path / "bad", lambda meta: None)
    (bad / "weights.safetensors").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(FormatError, match="is a pickle, not a safetensors file"):
        checkpoint.load(bad)
    torch.save({"weight": torch.ones(2)}, bad / "weights.safetensors")
    with pytest.raises(FormatError, match="is a pickle, not a safetensors file"):
        checkpoint.load(bad)
    (bad / "weights.safetensors").rename(bad / "weights.pt")
    with pytest.raises(FormatError, match=r"weights\.pt is a pickle and is never loaded"):
        checkpoint.load(bad)


def test_unknown_models_are_refused(tmp_path):
    with pytest.raises(FormatError, match=r"no model 'nothing': give a folder .* shipped models"):
        checkpoint.load("nothing")
    with pytest.raises(FormatError, match=r"has no file config\.json"):
        checkpoint.load(tmp_path)
