"""Trained models: which are shipped, which fit a method, and that weights follow the files."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner import cli
from deepsteiner.core import models
from deepsteiner.core.errors import FormatError, InputError, OptionError
from deepsteiner.core.models import SHIPPED, find_model, fitting_models, kind_of, read_model
from deepsteiner.scoring import weights as neural_weights

POINTS = np.random.default_rng(3).random((20, 2))


def copied(name, target):
    shutil.copytree(SHIPPED / name, target)
    return target


# --- what there is ------------------------------------------------------------------------------


def test_every_folder_of_the_package_is_a_model_of_a_known_kind():
    folders = {path.name for path in SHIPPED.iterdir() if path.is_dir()}
    assert set(models.shipped_models()) == folders
    assert models.shipped_models()["neural"] == "neural"
    assert models.shipped_models()["tsp20"] == "tour"
    assert {models.shipped_models()[name] for name in folders - {"neural", "tsp20"}} == {"policy"}


def test_the_default_of_an_option_fits_it():
    for info in ds.methods().values():
        for one in info.options:
            if one.models is not None:
                assert one.default in fitting_models(one.models)
            assert (one.name == "model") == (one.models is not None)


def test_the_command_line_lists_every_model_with_its_method(capsys):
    assert cli.run(["models"]) == 0
    rows = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()[3:-3]}
    wanted = {"policy": "policy", "neural": "neural", "tour": "-"}
    assert rows == {name: wanted[kind] for name, kind in models.shipped_models().items()}
    assert cli.run(["models", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert {name: facts["method"] for name, facts in described.items()} == {
        name: None if kind == "tour" else kind for name, kind in models.shipped_models().items()
    }
    assert described["neural"]["rounds"] == 2
    assert described["mst-d1"]["candidates"]["kind"] == "mst"


@pytest.mark.parametrize("method", ["policy", "neural", "mst"])
def test_the_command_line_tells_what_fits_a_method(capsys, method):
    assert cli.run(["methods", method]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"devices: {'cpu' if method == 'mst' else 'cpu, cuda'}" in text
    assert (f"({' | '.join(fitting_models(method))} | a folder)" in text) == (method != "mst")


@pytest.mark.parametrize("name", sorted(models.shipped_models()))
def test_the_command_line_shows_every_model(capsys, name):
    assert cli.run(["models", "show", name]) == 0
    assert capsys.readouterr().out.startswith("# ")
    assert cli.run(["models", "show", "--json", str(SHIPPED / name)]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == 1


def test_what_is_no_model_is_not_shown(capsys, tmp_path):
    assert cli.run(["models", "show", str(tmp_path)]) == 2
    assert "give a model's folder or one of: grid-d1" in capsys.readouterr().err
    (tmp_path / "neural.json").write_text("{}")
    assert cli.run(["models", "show", str(tmp_path)]) == 2
    assert "has no card.md; --json prints its neural.json" in capsys.readouterr().err


# --- which fit ----------------------------------------------------------------------------------

WRONG = [
    ("policy", "neural", "is for method 'neural'"),
    ("policy", "tsp20", "is a tour model"),
    ("neural", "mst-d1", "is for method 'policy'"),
    ("neural", "tsp20", "is a tour model"),
]


@pytest.mark.parametrize(("method", "model", "reason"), WRONG)
def test_a_model_of_another_kind_is_refused(tmp_path, method, model, reason):
    names = ", ".join(fitting_models(method))
    for given in (model, str(copied(model, tmp_path / "copy"))):
        sentence = f"model {given!r} {reason}.*shipped models \\({names}\\)$"
        with pytest.raises(OptionError, match=sentence):
            ds.solve(POINTS, method, model=given)
        with pytest.raises(OptionError, match=sentence):  # which no method would look at
            ds.solve(POINTS[:2], method, model=given)
        with pytest.raises(OptionError, match=sentence):
            ds.solve_many([POINTS], method, model=given)


@pytest.mark.parametrize("kind", ["policy", "neural"])
def test_what_is_no_model_is_refused(tmp_path, kind):
    description = models.DESCRIPTIONS[kind]
    with pytest.raises(FormatError, match=f"no model 'x': give a folder .* and {description}, or"):
        find_model("x", kind)
    for name in ("x" * 5000, "x\0y"):
        with pytest.raises(FormatError, match="no model 'x"):
            ds.solve(POINTS, kind, model=name)
    with pytest.raises(FormatError, match=f"has no file {description}"):
        find_model(tmp_path, kind)
    (tmp_path / description).write_text("{")
    with pytest.raises(FormatError, match=r"has no file weights\.safetensors"):
        find_model(tmp_path, kind)
    (tmp_path / "weights.safetensors").mkdir()
    with pytest.raises(InputError, match=r"has no file weights\.safetensors"):
        ds.solve(POINTS, kind, model=str(tmp_path))
    (tmp_path / "weights.safetensors").rmdir()
    (tmp_path / "weights.safetensors").write_bytes(b"")
    with pytest.raises(FormatError, match=r"is not readable JSON|does not describe a model"):
        ds.solve(POINTS, kind, model=str(tmp_path))


def test_trainings_start_from_policies_and_tours_alone():
    assert find_model("tsp20", "policy", "tour").name == "tsp20"
    assert find_model("mst-d1", "policy", "tour").name == "mst-d1"
    with pytest.raises(OptionError, match="model 'neural' is for method 'neural'"):
        find_model("neural", "policy", "tour")


def test_a_damaged_description_is_left_to_whoever_loads_it(tmp_path):
    (tmp_path / "config.json").write_text("[" * 100_000)
    assert kind_of(tmp_path) == "policy"
    (tmp_path / "config.json").write_text("[]")
    assert kind_of(tmp_path) == "policy"


def test_the_server_offers_what_fits_and_nothing_else():
    options = pytest.importorskip("deepsteiner.server.options")
    offered = {
        method["name"]: one["choices"]
        for method in options.describe_methods()
        for one in method["options"]
        if one["name"] == "model"
    }
    assert offered == {kind: fitting_models(kind) for kind in ("policy", "neural")}
    for method, names in offered.items():
        for name in names:
            assert options.open_options(method, {"model": name}) == {"model": name}
        for other in (*sorted(set(models.shipped_models()) - set(names)), "/etc", 3, None):
            with pytest.raises(OptionError, match=f"shipped for method {method!r} .*{names[0]}"):
                options.open_options(method, {"model": other})


# --- weights follow the files -------------------------------------------------------------------


def overwrite(source, target):
    """Replace a model's files in place, with the times of those that were there."""
    for name in ("weights.safetensors", models.DESCRIPTIONS[kind_of(source)]):
        times = (target / name).stat()
        (target / name).write_bytes((source / name).read_bytes())
        os.utime(target / name, ns=(times.st_atime_ns, times.st_mtime_ns))


def negated(target):
    """Turn the network of `neural` around: it then likes what it disliked."""
    from safetensors.numpy import load, save

    copied("neural", target)
    tensors = load((target / "weights.safetensors").read_bytes())
    for name in ("output.weight", "output.bias"):
        tensors[name] = -tensors[name]
    (target / "weights.safetensors").write_bytes(save(tensors))
    return target


def test_neural_serves_the_weights_that_lie_there(tmp_path):
    first, other = copied("neural", tmp_path / "first"), negated(tmp_path / "other")
    before = neural_weights.load_weights(str(first))
    assert neural_weights.load_weights() is before  # a copy shares what was built
    overwrite(other, first)
    after = neural_weights.load_weights(str(first))
    assert np.array_equal(after[5], -before[5])
    assert neural_weights.load_weights(str(other)) is after
    overwrite(SHIPPED / "neural", first)
    assert neural_weights.load_weights(str(first)) is before


def test_a_solve_with_a_replaced_model(tmp_path):
    folder = copied("neural", tmp_path / "model")
    points = np.random.default_rng(0).random((60, 2))

    def length():
        return ds.solve(points, "neural", model=str(folder), effort="fast", pieces="none").length

    before = length()
    overwrite(negated(tmp_path / "other"), folder)
    assert length() > before
    overwrite(SHIPPED / "neural", folder)
    assert length() == before


def test_policy_serves_the_weights_that_lie_there(tmp_path):
    torch = pytest.importorskip("torch")
    from deepsteiner.policy import play
    from deepsteiner.policy.settings import PlayOptions

    def network(model):
        return play._player(PlayOptions(model=str(model)), "cpu").policy

    folder = copied("mst-d1", tmp_path / "model")
    before = network(folder)
    assert network("mst-d1") is before
    assert network(copied("mst-d1", tmp_path / "copy")) is before
    overwrite(SHIPPED / "mst-d2", folder)
    after = network(folder)
    assert not torch.equal(after.embed.weight, before.embed.weight)
    assert network("mst-d2") is after
    shutil.rmtree(folder)
    copied("mst-d1", folder)
    assert network(folder) is before


def test_a_changed_description_counts_as_well(tmp_path):
    pytest.importorskip("torch")
    from deepsteiner.policy import play
    from deepsteiner.policy.settings import PlayOptions

    folder = copied("mst-d1", tmp_path / "model")
    facts = json.loads((folder / "config.json").read_text())
    facts["candidates"]["k_star"] = 3
    (folder / "config.json").write_text(json.dumps(facts))
    assert play._player(PlayOptions(model="mst-d1"), "cpu").spec.k_star == 9
    assert play._player(PlayOptions(model=str(folder)), "cpu").spec.k_star == 3


def test_the_files_of_the_package_are_read_once(monkeypatch):
    read_model("neural", "neural")
    monkeypatch.setattr(type(SHIPPED), "read_bytes", lambda path: pytest.fail(f"{path} read again"))
    read_model("neural", "neural")
    ds.solve(POINTS, "neural")


# --- models in a package of their own -------------------------------------------------------------


@pytest.fixture
def apart(tmp_path, monkeypatch):
    """Move all models but `neural` to a package of their own, which is not yet to be found."""
    core, extra = tmp_path / "core", tmp_path / "site" / models.EXTRA_PACKAGE
    for path in SHIPPED.iterdir():
        if path.is_dir():
            shutil.copytree(path, (core if path.name == "neural" else extra) / path.name)
    (extra / "__init__.py").write_text("")
    monkeypatch.setattr(models, "SHIPPED", core)
    functions = (models._homes, models.shipped_models, models._read_once)
    for function in functions:
        function.cache_clear()
    yield extra
    monkeypatch.undo()
    for function in functions:
        function.cache_clear()


def test_without_their_package_policies_are_asked_for_in_a_sentence(apart):
    import deepsteiner as ds

    assert set(models.shipped_models()) == {"neural"}
    with pytest.raises(
        ds.errors.MissingDependencyError, match=r"pip install 'deepsteiner\[learn\]'"
    ):
        ds.solve([[0, 0], [1, 0], [0, 1]], "policy")
    assert find_model("neural", "neural") == models.SHIPPED / "neural"


def test_models_of_the_other_package_go_by_their_names(apart, monkeypatch, capsys):
    monkeypatch.syspath_prepend(apart.parent)
    assert {"neural", "mst-d1", "tsp20"} < set(models.shipped_models())
    assert find_model("mst-d1", "policy") == apart / "mst-d1"
    assert read_model("mst-d1", "policy") is read_model("mst-d1", "policy")
    assert cli.run(["models", "show", "mst-d1"]) == 0
    assert capsys.readouterr().out.strip() == (apart / "mst-d1" / "card.md").read_text().strip()


def test_weights_that_begin_as_a_pickle_does_are_read(tmp_path):
    """The first bytes of a safetensors file are the length of its header, such as 0x0280."""
    from safetensors.numpy import load, save

    from deepsteiner.io.model_folders import read_tensors

    wanted = {"weight": np.arange(3.0)}
    made = (save(wanted, {"said": "x" * length}) for length in range(500, 700))
    weights = next(one for one in made if one.startswith(b"\x80\x02"))
    files = models.ModelFiles(tmp_path, b"{}", weights)
    assert read_tensors(files, load)["weight"].tolist() == [0.0, 1.0, 2.0]
