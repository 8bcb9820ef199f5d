"""Training configurations: composition, overrides, and one sentence for each mistake."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from itertools import product

import pytest

from deepsteiner.core.errors import DeepSteinerError
from deepsteiner.policy.training import config
from deepsteiner.policy.training.config import Config, PretrainConfig


def test_the_paper_flavour_has_the_papers_values():
    chosen = config.load(["paper"])
    assert (chosen.train.batch, chosen.train.learning_rate, chosen.train.clip) == (32, 5e-5, 1.0)
    assert (chosen.train.epochs, chosen.data.instances, chosen.data.fresh) == (100, 10_240, False)
    network = chosen.network
    assert (network.layers, network.dim, network.heads, network.ff) == (5, 128, 8, 512)
    assert (network.norm, network.inputs, network.decoder) == ("batch", "raw", "paper")
    assert (chosen.reinforce.beta, chosen.reinforce.alpha) == (0.8, 0.05)
    assert (chosen.reinforce.instances, chosen.reinforce.expectation) == (10_000, False)
    assert (chosen.train.schedule, chosen.train.start) == ("constant", "tsp20")


def test_algorithm_2_is_the_papers_flavour_without_its_start():
    paper, bare = config.load(["paper"]), config.load(["algorithm-2"])
    assert bare.train.start is None
    assert paper.reinforce.keep_worsening
    printed = replace(paper.reinforce, keep_worsening=False)
    assert replace(paper, train=replace(paper.train, start=None), reinforce=printed) == bare


def test_flavours_candidates_criteria_and_data_compose():
    choices = product(
        ("paper", "distill"),
        ("mst", "knn", "grid", "all"),
        ("first-selection", "first-increment", "all-selection"),
        ("d1", "d2", "d3"),
    )
    for flavour, candidates, criterion, data in choices:
        chosen = config.load([flavour, candidates, criterion, data])
        assert chosen.train.objective == {"paper": "reinforce"}.get(flavour, flavour)
        assert chosen.candidates.kind == candidates
        assert chosen.train.criterion == criterion.replace("-", "_")
        assert chosen.data.name == data.upper()


def test_the_nine_distilled_models_have_a_configuration_each():
    for kind, data in product(("mst", "knn", "grid"), ("d1", "d2", "d3")):
        chosen = config.load([f"{kind}-{data}"])
        assert chosen.train.objective == "distill"
        assert (chosen.candidates.kind, chosen.data.name) == (kind, data.upper())
        assert (chosen.network.norm, chosen.network.inputs) == ("layer", "edge")
        assert (chosen.distill.depth > 6) == (data == "d2")
        assert (chosen.train.start is None) == (f"{kind}-{data}" == "mst-d1")


def test_the_short_papers_recipe_keeps_network_and_loss():
    paper, short = config.load(["paper"]), config.load(["paper-short"])
    assert (short.network, short.train.objective) == (paper.network, paper.train.objective)
    assert (short.train.criterion, short.train.start) == (paper.train.criterion, "tsp20")


def test_every_shipped_configuration_loads():
    assert len(config.shipped_names()) > 20
    for name in config.shipped_names():
        root = PretrainConfig if name.startswith("tsp") else Config
        config.load([name], root=root)


def test_files_extend_files_and_overrides_come_last(tmp_path):
    (tmp_path / "mine.toml").write_text('extends = "paper"\n[train]\nbatch = 64\nseed = 7\n')
    (tmp_path / "more.toml").write_text('extends = ["mine.toml", "knn"]\n[train]\nseed = 8\n')
    chosen = config.load([str(tmp_path / "more.toml")], ["train.epochs=3", "data.name=D3"])
    assert (chosen.train.batch, chosen.train.seed, chosen.train.epochs) == (64, 8, 3)
    assert (chosen.candidates.kind, chosen.data.name) == ("knn", "D3")


def test_configurations_survive_json(tmp_path):
    chosen = config.load(["mst-d1"], ["train.start=some/folder", "train.learning_rate=1"])
    assert chosen.train.learning_rate == 1.0
    (tmp_path / "config.json").write_text(json.dumps(asdict(chosen)))
    assert config.load_run(tmp_path) == chosen
    assert config.load_run(tmp_path, ["train.epochs=9"]).train.epochs == 9


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[train]\nbatchsize = 3", "unknown key train.batchsize; the keys are: objective"),
        ("[training]\nbatch = 3", "unknown table \\[training\\]; the tables are: data"),
        ('[train]\nbatch = "3"', "train.batch must be int, got '3'"),
        ("[train]\nbatch = true", "train.batch must be int, got True"),
        ("[train]\nbatch = 1.5", "train.batch must be int, got 1.5"),
        ("[train]\nbatch = 0", "train.batch must be at least 1, got 0"),
        ("[train]\nlearning_rate = nan", "train.learning_rate must be a finite number, got nan"),
        ('[train]\nobjective = "sarsa"', "must be one of reinforce, distill, got 'sarsa'"),
        ("[reinforce]\nalpha = 2.0", "reinforce.alpha must be at most 1.0, got 2.0"),
        ("train = 3", "'train' must be a table, got 3"),
        ("[train\n", "is not a TOML file"),
        ("extends = 3", "extends must be a name or a list of names, got 3"),
        (
            'extends = "nothing"',
            "unknown configuration 'nothing'; the shipped ones are: algorithm-2, all",
        ),
        ('extends = "absent.toml"', "absent.toml does not exist"),
        ('extends = "wrong.toml"', "extends itself"),
    ],
)
def test_each_mistake_in_a_file_is_one_sentence(tmp_path, content, sentence):
    path = tmp_path / "wrong.toml"
    path.write_text(content)
    with pytest.raises(DeepSteinerError, match=sentence) as caught:
        config.load([str(path)])
    assert "\n" not in str(caught.value).strip()


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("train.batch", "has the form table.key=value, got 'train.batch'"),
        ("batch=3", "has the form table.key=value"),
        ("trian.batch=3", r"unknown table \[trian\]; the tables are: data"),
        ("train.bach=3", "unknown key train.bach"),
        ("train.batch=many", "train.batch must be int, got 'many'"),
        ("train.batch=20_000", "train.batch must be at most data.instances = 10240, got 20000"),
        (
            "train.criterion=inference",
            "reinforce.expectation needs train.criterion = 'first_selection', got 'inference'",
        ),
        ("network.heads=7", "network.dim must be a multiple of network.heads, got 128 and 7"),
    ],
)
def test_each_mistake_in_an_override_is_one_sentence(override, sentence):
    with pytest.raises(DeepSteinerError, match=sentence):
        config.load(["paper"], ["reinforce.expectation=true", override])


def test_a_missing_file_is_named():
    with pytest.raises(DeepSteinerError, match=r"configuration gone\.toml does not exist"):
        config.load(["gone.toml"])
