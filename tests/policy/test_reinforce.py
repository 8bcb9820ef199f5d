"""Algorithm 2: its gradients against a plain twin, the baseline, the t-test, the expectation."""
# ruff: noqa: E402 - the modules under test need torch, which is an extra

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from deepsteiner.policy.candidates import candidates
from deepsteiner.policy.kit.registries import CRITERIA
from deepsteiner.policy.rollout import rollout
from deepsteiner.policy.settings import CandidateSpec
from deepsteiner.policy.training.instances import random_draws
from deepsteiner.policy.training.reinforce import one_sided_p
from small_runs import assert_same, gradients, small, trainer_of, tree_length


def plain_game(policy, spec, terminals, criterion, draws):
    """Play one instance alone; return cost and log-likelihood. `draws` None takes the likeliest."""
    points = torch.tensor(terminals)
    length, likelihood = tree_length(terminals), torch.zeros((), dtype=torch.float64)
    for step in range(len(terminals) - 2):
        count = torch.tensor([len(points)])
        edges = plain_edges(points.numpy())
        found = candidates(points[None], count, edges, spec)
        log_probs = policy(points[None], count, found)[0]
        if draws is None:
            chosen = int(log_probs.argmax())
        else:
            reached = np.cumsum(np.exp(log_probs.detach().numpy()))
            chosen = int(np.searchsorted(reached, float(draws[step]) * reached[-1], side="right"))
        likelihood = likelihood + log_probs[chosen]
        grown = torch.cat((points, found.points[0, chosen][None]))
        new_length = tree_length(grown.numpy())
        if criterion == "inference" and new_length > length:
            break
        points, longer, length = grown, new_length > length, new_length
        if criterion == "first_selection" or (criterion == "first_increment" and longer):
            break
    return length, likelihood


def plain_edges(points: np.ndarray) -> torch.Tensor:
    from deepsteiner.policy.spanning import prim

    return prim(torch.tensor(points)[None], torch.tensor([len(points)]))[0]


@pytest.mark.parametrize("kind", ["mst", "knn", "grid"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_reinforce_gradients_equal_a_plain_twin(tmp_path, criterion, kind):
    chosen = small(
        "algorithm-2",
        f"train.criterion={criterion}",
        f"candidates.kind={kind}",
        "network.norm=layer",
        "candidates.grid=4",
    )
    trainer = trainer_of(chosen, tmp_path)
    objective = trainer.objective
    with torch.no_grad():
        for parameter in objective.baseline.parameters():
            parameter.mul_(1.1)
    objective.begin_epoch(1)
    loss = trainer.backward(1, 2)
    found = gradients(objective)

    instances = trainer.stream.steps(1, 2, 3).points.numpy()
    draws = random_draws((8, objective.draws), chosen.train.seed, "draws", 1 * 3 + 2)
    spec = CandidateSpec(kind, k_star=2, grid=4)
    rule = "inference" if criterion == "first_increment" else criterion
    expected = torch.zeros((), dtype=torch.float64)
    for terminals, numbers in zip(instances, draws, strict=True):
        cost, likelihood = plain_game(objective.policy, spec, terminals, criterion, numbers)
        with torch.no_grad():
            usual, _ = plain_game(objective.baseline, spec, terminals, rule, None)
        expected = expected + (cost - usual) * likelihood / len(instances)
    objective.zero_grad()
    expected.backward()
    assert float(loss) == pytest.approx(float(expected.detach()), rel=1e-9, abs=1e-12)
    assert_same(found, gradients(objective), 1e-9)


def test_the_warm_up_baseline_is_an_exponential_mean(tmp_path):
    objective = trainer_of(small("algorithm-2"), tmp_path).objective
    costs = torch.tensor([2.0, 4.0], dtype=torch.float64)
    assert float(objective._running_mean(costs)) == 3.0
    assert float(objective._running_mean(costs + 1.0)) == pytest.approx(0.8 * 3.0 + 0.2 * 4.0)


def written_card(objective, folder):
    objective.write_model(folder, {"step": 6})
    return (folder / "card.md").read_text()


def test_the_baseline_changes_only_for_a_significantly_better_policy(tmp_path):
    objective = trainer_of(small("algorithm-2"), tmp_path).objective
    assert objective.end_epoch(0)["baseline_version"] == 0
    assert "the weights it began with" in written_card(objective, tmp_path / "before")
    objective.problem.lengths = lambda policy, part, precision: (
        part.points[:, 0, 0] + (0.0 if policy is objective.policy else 0.1) * part.points[:, 1, 0]
    )
    objective._defence = None
    before = objective._trial()[1].points
    with torch.no_grad():
        objective.policy.embed.bias.add_(1.0)
    assert objective.end_epoch(1)["baseline_version"] == 1
    assert "the weights of epoch 2" in written_card(objective, tmp_path / "after")
    assert_same(objective.policy.state_dict(), objective.baseline.state_dict(), 0.0)
    assert not torch.equal(objective._trial()[1].points, before)


def test_the_t_test_is_one_sided_and_paired():
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(0)
    first, second = rng.random(50), rng.random(50)
    expected = ttest_rel(first, second, alternative="less").pvalue
    assert one_sided_p(torch.tensor(first - second)) == pytest.approx(expected, rel=1e-9)
    assert one_sided_p(torch.zeros(5)) == 1.0


def test_the_expectation_is_the_mean_over_all_draws(tmp_path):
    changes = ("network.norm=layer", "reinforce.expectation=true")
    trainer = trainer_of(small("algorithm-2", *changes), tmp_path)
    objective = trainer.objective
    objective.begin_epoch(1)
    loss = trainer.backward(1, 0)
    found = gradients(objective)

    instances = trainer.stream.steps(1, 0, 1).points
    spec = CandidateSpec(k_star=2)
    expected = torch.zeros((), dtype=torch.float64)
    for terminals in instances.numpy():
        number = spec.number(len(terminals))
        for chosen in range(number):
            points, count = torch.tensor(terminals)[None], torch.tensor([len(terminals)])
            some = candidates(points, count, plain_edges(terminals), spec)
            log_prob = objective.policy(points, count, some)[0, chosen]
            longer = tree_length(np.concatenate((terminals, some.points[0, chosen][None].numpy())))
            expected = expected + log_prob.exp() * (longer - tree_length(terminals))
    expected = expected / len(instances)
    objective.zero_grad()
    expected.backward()
    assert float(loss) == pytest.approx(float(expected.detach()), rel=1e-9)
    assert_same(found, gradients(objective), 1e-9)


@pytest.mark.parametrize("keep", [False, True])
def test_the_baseline_of_first_increment_keeps_its_worsening_point_where_asked(tmp_path, keep):
    word = str(keep).lower()
    changes = ["train.criterion=first_increment", f"reinforce.keep_worsening={word}"]
    problem = trainer_of(small("algorithm-2", *changes), tmp_path).objective.problem
    instances = problem.stream.steps(0, 0, 3)
    found = problem.greedy_costs(problem.model, instances)
    rule = "first_increment" if keep else "inference"
    expected = rollout(problem.player(problem.model, rule), instances)[0]
    assert torch.equal(found, expected)
    other = rollout(
        problem.player(problem.model, "inference" if keep else "first_increment"), instances
    )
    assert not torch.equal(found, other[0])


def test_a_grid_over_the_points_box_is_trained(tmp_path):
    from deepsteiner.policy.training import training

    changes = ["candidates.kind=grid", "candidates.extent=box", "candidates.grid=3"]
    for flavour in ("algorithm-2", "distill"):
        chosen = small(flavour, *changes)
        run = training.train(chosen, tmp_path / flavour, device="cpu", quiet=True)
        assert run.status == "finished"
