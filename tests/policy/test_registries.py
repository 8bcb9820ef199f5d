"""Parts of one's own: registered in a file, named in a configuration, trained, saved and loaded."""
# ruff: noqa: E402 - the modules under test need torch, which is an extra

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import deepsteiner as ds
from deepsteiner.core.errors import DeepSteinerError, OptionError
from deepsteiner.policy import checkpoint
from deepsteiner.policy.kit.registries import (
    CANDIDATE_SETS,
    CRITERIA,
    DECODERS,
    NETWORKS,
    OBJECTIVES,
    Registry,
)
from deepsteiner.policy.training import config, training
from small_runs import SMALL

MINE = """
import torch
from torch import nn
from deepsteiner.policy.candidates import Candidates, CandidateSet
from deepsteiner.policy.kit.criteria import Criterion
from deepsteiner.policy.kit.registries import *
from deepsteiner.policy.network import Decoder, Network
from deepsteiner.policy.training.distill import Distill


@CANDIDATE_SETS.register("PREFIX_middles")
class Middles(CandidateSet):
    '''The middles of every point and its two successors: fewer where the rows are short.'''

    regular = False

    def number(self, size, spec):
        return size

    def __call__(self, points, count, edges, spec):
        found = (points + points.roll(-1, dims=1) + points.roll(-2, dims=1)) / 3
        mask = torch.arange(points.shape[1]) < count[:, None] - 2
        ends = torch.zeros((*mask.shape, 2), dtype=torch.int64)
        return Candidates(found, mask & (found[..., 0] > 0.2), ends)


@CRITERIA.register("PREFIX_two")
class Two(Criterion):
    together = True

    def most_steps(self, size):
        return 2

    def goes_on(self, before, after, longer):
        return torch.ones_like(longer)


@OBJECTIVES.register("PREFIX_mine")
class Mine(Distill):
    def forward(self, instances, row, draws):
        return 2.0 * super().forward(instances, row, draws)


@DECODERS.register("PREFIX_sum")
class Sum(Decoder):
    def __init__(self, config):
        super().__init__()
        self.out = nn.Linear(config.dim, 1)

    def forward(self, graph, nodes, mask):
        return self.out(nodes + graph[:, None])[:, :, 0]


@NETWORKS.register("PREFIX_blind")
class Blind(Network):
    def __init__(self, config):
        super().__init__(config)
        self.weight = nn.Parameter(torch.zeros(2))

    def forward(self, points, count, candidates, pause=None):
        logits = (candidates.points.to(self.weight.dtype) * self.weight).sum(dim=2)
        mask = candidates.mask | ~candidates.mask.any(dim=1, keepdim=True)
        scores = logits.masked_fill(~mask, -1e9).log_softmax(dim=1)
        return scores.masked_fill(~candidates.mask, -torch.inf)
"""


@pytest.fixture
def parts(tmp_path, request):
    """A file of parts whose names no other test uses, and a configuration that runs it."""
    prefix = f"t{abs(hash(request.node.name)):x}"
    (tmp_path / "mine.py").write_text(MINE.replace("PREFIX", prefix))
    (tmp_path / "mine.toml").write_text('[plugins]\nmodules = ["mine.py"]\n')
    yield prefix, str(tmp_path / "mine.toml")
    for registry in (CANDIDATE_SETS, CRITERIA, OBJECTIVES, NETWORKS, DECODERS):
        for name in [name for name in registry if name.startswith(prefix)]:
            del registry._parts[name]


@pytest.mark.parametrize(
    "change",
    [
        "candidates.kind={}_middles",
        "train.criterion={}_two",
        "network.decoder={}_sum",
        "network.kind={}_blind",
        "train.objective={}_mine",
    ],
)
@pytest.mark.parametrize("flavour", ["algorithm-2", "distill"])
def test_a_part_in_a_file_is_trained_saved_loaded_and_used(parts, tmp_path, change, flavour):
    prefix, toml = parts
    chosen = config.load([flavour, toml], [*SMALL, change.format(prefix)])
    run = tmp_path / "run"
    outcome = training.train(chosen, run, device="cpu", quiet=True, minutes=None)
    assert outcome.status == "finished"
    assert outcome.results["saving"] >= 0.0
    points = np.random.default_rng(3).random((3, 5, 2))
    solved = ds.solve_many(points, "policy", model=str(run / "model"))
    mst = ds.solve_many(points, "mst")
    assert (solved.lengths <= mst.lengths * (1 + 1e-12)).all()
    again = config.load_run(run, ["train.epochs=4"])
    assert again.plugins.modules == [str(tmp_path / "mine.py")]
    more = training.train(again, run, device="cpu", resume=True, quiet=True)
    assert more.step == 12


def test_a_model_of_unknown_parts_is_refused_in_one_sentence(parts, tmp_path):
    prefix, toml = parts
    chosen = config.load(["distill", toml], [*SMALL, f"network.kind={prefix}_blind"])
    training.train(chosen, tmp_path / "run", device="cpu", quiet=True, minutes=0.0)
    path = tmp_path / "run" / "model" / "config.json"
    meta = json.loads(path.read_text())
    meta["network"]["kind"] = "elsewhere"
    path.write_text(json.dumps(meta))
    with pytest.raises(DeepSteinerError, match=r"must be one of attention.*import its file"):
        checkpoint.load(tmp_path / "run" / "model")


def test_names_are_taken_once():
    registry = Registry("shape", {"round": "math:pi"})
    assert registry["round"] == pytest.approx(3.14159, abs=1e-5)
    with pytest.raises(OptionError, match="there is a shape 'round' already"):
        registry.register("round")(object())
    with pytest.raises(OptionError, match="shape must be one of round, got 'square'"):
        registry.find("square")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('[plugins]\nmodules = ["gone.py"]', "gone.py does not exist"),
        ('[plugins]\nmodules = ["broken.py"]', "broken.py is not a Python file"),
        ('[plugins]\nmodules = "mine.py"', "plugins.modules must be list, got 'mine.py'"),
        ('[plugins]\nfiles = ["mine.py"]', "unknown key plugins.files; the keys are: modules"),
    ],
)
def test_each_mistake_about_files_is_one_sentence(tmp_path, content, sentence):
    (tmp_path / "broken.py").write_text("def (:\n")
    (tmp_path / "wrong.toml").write_text(content)
    with pytest.raises(DeepSteinerError) as caught:
        config.load([str(tmp_path / "wrong.toml")])
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
