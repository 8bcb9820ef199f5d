"""Lookahead distillation against games played one by one, and two of its neighbours' corners."""
# ruff: noqa: E402 - the modules under test need torch, which is an extra

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from deepsteiner.policy import decoding
from deepsteiner.policy.candidates import candidates
from deepsteiner.policy.environment import Environment
from deepsteiner.policy.settings import CandidateSpec
from deepsteiner.policy.spanning import prim
from deepsteiner.policy.training.instances import random_draws
from small_runs import assert_same, gradients, small, trainer_of, tree_length


def plain_states(policy, spec, terminals, settings, draws):
    """Yield (divergence, share of the best saving) of every state of one instance's game."""
    points = terminals
    for depth in range(min(settings.depth + 1, len(terminals) - 2)):
        count = torch.tensor([len(points)])
        edges = prim(torch.tensor(points)[None], count)[0]
        found = candidates(torch.tensor(points)[None], count, edges, spec)
        length = tree_length(points)
        places = found.points[0].numpy()
        saving = np.array([length - tree_length(np.concatenate((points, [p]))) for p in places])
        if not saving.max() > settings.threshold * length:
            return
        log_probs = policy(torch.tensor(points)[None], count, found)[0]
        target = np.exp(saving / (settings.temperature * saving.max()))
        target = torch.tensor(target / target.sum())
        divergence = (target * (target.log() - log_probs)).sum()
        if draws[0] < settings.explore:
            reached = np.cumsum(np.exp(log_probs.detach().numpy()))
            wanted = float(draws[1 + depth]) * reached[-1]
            choice = int(np.searchsorted(reached, wanted, side="right"))
        else:
            choice = int(log_probs.argmax())
        yield divergence, max(saving[choice], 0.0) / saving.max()
        if saving[choice] <= 0:
            choice = int(saving.argmax())
        points = np.concatenate((points, places[choice][None]))


@pytest.mark.parametrize("kind", ["mst", "knn", "grid"])
@pytest.mark.parametrize("explore", [0.0, 0.5, 1.0])
def test_distillation_gradients_equal_a_plain_twin(tmp_path, kind, explore):
    chosen = small(
        "distill",
        f"candidates.kind={kind}",
        "candidates.grid=9",
        "network.norm=layer",
        f"distill.explore={explore}",
        "distill.threshold=0.004",
        "data.n=7",
    )
    trainer = trainer_of(chosen, tmp_path)
    objective = trainer.objective
    objective.begin_epoch(1)
    loss = trainer.backward(1, 2)
    found = gradients(objective)
    stats = {name: float(value) for name, value in objective.stats.items()}

    instances = trainer.stream.steps(1, 2, 3).points.numpy()
    draws = random_draws((8, objective.draws), chosen.train.seed, "draws", 1 * 3 + 2)
    spec = CandidateSpec(kind, k_star=2, grid=9)
    states = [
        state
        for terminals, numbers in zip(instances, draws, strict=True)
        for state in plain_states(objective.policy, spec, terminals, chosen.distill, numbers)
    ]
    assert len(states) > len(instances)  # some games go on
    expected = torch.stack([divergence for divergence, _ in states]).mean()
    objective.zero_grad()
    expected.backward()
    assert float(loss) == pytest.approx(float(expected.detach()), rel=1e-9)
    assert_same(found, gradients(objective), 1e-9)
    assert stats["captured"] == pytest.approx(np.mean([share for _, share in states]))
    assert stats["states_per_instance"] == pytest.approx(len(states) / len(instances))


def test_what_stands_beyond_the_points_does_not_matter():
    """Padding may hold anything."""
    points = torch.tensor(np.random.default_rng(0).random((3, 7, 2)))
    count = torch.tensor([7, 4, 5])
    rules = Environment(CandidateSpec(k_star=2), "all_selection")
    dirty = points.clone()
    dirty[1, 4:], dirty[2, 5:] = 1e6, torch.nan
    dirty = torch.where(dirty.isnan(), torch.tensor(-3.0, dtype=dirty.dtype), dirty)
    clean, other = rules.reset(points, count), rules.reset(dirty, count)
    for name in ("points", "edges", "weights", "length"):
        assert torch.equal(getattr(clean, name), getattr(other, name)), name
    assert (clean.points[1, 4:] == 0).all()
    assert (clean.points[2, 5:] == 0).all()


def test_a_beam_holds_each_tree_once():
    """Of equally long trees one goes on, and the places of the others are free."""
    rules = Environment(CandidateSpec(k_star=2), "inference")
    points = torch.tensor(np.random.default_rng(1).random((2, 6, 2)))
    start = rules.reset(points)
    found = rules.candidates(start)
    saving = rules.lookahead(start, found)
    order = saving.argsort(dim=1, descending=True)
    steps = [rules.step(start, order[:, k], found) for k in (0, 0, 1, 2)]
    children = decoding.repeated(start, 4)
    for k, step in enumerate(steps):
        children = children.put(torch.arange(2) * 4 + k, step)
    children = replace(children, active=torch.ones(8, dtype=torch.bool))
    kept, held = decoding._survivors(children, 4, 3)
    assert held == 3
    for row in range(2):
        lengths = kept.length[3 * row : 3 * row + 3][kept.active[3 * row : 3 * row + 3]].tolist()
        expected = sorted({float(step.length[row]) for step in steps})
        assert sorted(lengths) == pytest.approx(expected[:3])
        assert len(lengths) == 3


@pytest.mark.parametrize("kind", ["mst", "grid"])
def test_two_steps_ahead_are_what_trying_all_pairs_gives(kind):
    from deepsteiner.policy.training.distill import two_steps

    spec = CandidateSpec(kind, k_star=2, grid=4)
    rules = Environment(spec, "all_selection")
    points = torch.rand((3, 5, 2), generator=torch.manual_seed(8), dtype=torch.float64)
    state = rules.reset(points)
    found = rules.candidates(state)
    saving = rules.lookahead(state, found)
    worth = two_steps(spec, state, found, saving, width=4)
    for row in range(3):
        best = saving[row].sort(descending=True).indices[:4].tolist()
        for candidate in range(saving.shape[1]):
            expected = float(saving[row, candidate])
            if candidate in best and expected > 0:
                given = [*points[row].numpy().tolist(), found.points[row, candidate].tolist()]
                after = rules.reset(torch.tensor([given], dtype=torch.float64))
                more = rules.candidates(after).points[0].tolist()
                lengths = [tree_length(np.array([*given, extra])) for extra in more]
                shortest = min([tree_length(np.array(given)), *lengths])
                expected = float(state.length[row]) - shortest
            assert float(worth[row, candidate]) == pytest.approx(expected, abs=1e-9)


def test_distillation_two_steps_ahead_trains(tmp_path):
    from deepsteiner.policy.training import training

    chosen = small("distill", "distill.lookahead=2", "distill.width=3")
    outcome = training.train(chosen, tmp_path / "run", device="cpu", quiet=True)
    assert outcome.status == "finished"
    training.train(small("distill"), tmp_path / "one", device="cpu", quiet=True)
    weights = [(tmp_path / run / "model" / "weights.safetensors") for run in ("run", "one")]
    assert weights[0].read_bytes() != weights[1].read_bytes()
