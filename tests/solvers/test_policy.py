"""Decoding and the method `policy`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra [learn]")

import deepsteiner as ds  # noqa: E402
from deepsteiner.core.errors import OptionError, PointsError  # noqa: E402
from deepsteiner.core.options import parse  # noqa: E402
from deepsteiner.core.points import Problem, frames  # noqa: E402
from deepsteiner.core.trees import tree_length  # noqa: E402
from deepsteiner.geometry.spanning_trees import minimum_spanning_tree  # noqa: E402
from deepsteiner.policy import checkpoint, decoding  # noqa: E402
from deepsteiner.policy.rollout import Player, turned  # noqa: E402
from deepsteiner.policy.settings import CandidateSpec  # noqa: E402
from deepsteiner.run.method import Batch, Run  # noqa: E402
from deepsteiner.run.monitor import Monitor  # noqa: E402
from deepsteiner.solvers import policy as method  # noqa: E402
from small_policies import SMALL, SPEC, build  # noqa: E402


class Teacher(torch.nn.Module):
    """Stands in for a trained policy: prefers the candidates that save most."""

    def forward(self, points, count, candidates, pause=None):
        from deepsteiner.policy.spanning import lookahead, spanning_tree

        edges, weights = spanning_tree(points, count)
        call = (points, count, edges, weights, candidates.points, candidates.mask)
        return (1000.0 * lookahead(*call)).log_softmax(dim=1).float()


def instances(batch: int, n: int, seed: int = 0) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(seed).random((batch, n, 2)))


def plain_algorithm_1(player: Player, terminals: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Algorithm 1 for one instance, as it is printed (with the indices put right)."""
    points = terminals
    for _ in range(len(terminals) - 2):
        state = player.rules.reset(points[None])
        found = player.rules.candidates(state)
        with torch.no_grad():
            chosen = found.points[0, decoding.likeliest(player.score(state, found))]
        extended = torch.cat((points, chosen))
        if mst(extended) > mst(points) * (1 + 1e-14):
            break
        points = extended
    return points, mst(points)


def mst(points: torch.Tensor) -> float:
    return tree_length(points.numpy(), minimum_spanning_tree(points.numpy()))


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("kind", ["mst", "knn", "grid"])
def test_a_batch_and_its_members_give_the_trees_of_algorithm_1(kind, norm):
    player = Player(build(replace(SMALL, norm=norm)), CandidateSpec(kind, k_star=3, grid=6))
    sizes = [3, 9, 5, 7, 4, 9, 2, 1] * 3
    points = instances(len(sizes), 9)
    together = decoding.greedy(player, player.rules.reset(points, torch.tensor(sizes)))
    assert not together.active.any()
    for row, size in enumerate(sizes):
        alone = decoding.greedy(player, player.rules.reset(points[row : row + 1, :size]))
        expected, length = plain_algorithm_1(player, points[row, :size])
        count = int(together.count[row])
        assert count == int(alone.count[0]) == len(expected)
        assert torch.equal(together.points[row, :count], alone.points[0, :count])
        assert torch.equal(together.edges[row, : count - 1], alone.edges[0, : count - 1])
        assert torch.allclose(together.points[row, :count], expected, atol=1e-12)
        assert together.length[row].item() == pytest.approx(length, rel=1e-12)


def test_a_good_policy_finds_short_trees(golden):
    points, optimum = golden("u10", 40)
    player = Player(Teacher(), CandidateSpec())
    state = decoding.greedy(player, player.rules.reset(torch.tensor(points)))
    gap = state.length.numpy() / optimum - 1
    assert gap.min() > -1e-9
    assert gap.mean() < 0.002


def test_sampling_is_never_worse_than_greedy_and_uses_its_numbers():
    player = Player(build(), SPEC)
    start = player.rules.reset(instances(12, 7))
    greedy = decoding.greedy(player, start)
    draws = torch.rand((12, 6, 5), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    draws[:, 0] = -1
    best = decoding.sample(player, start, draws)
    assert (best.length <= greedy.length).all()
    assert (best.length < greedy.length).any()
    only = decoding.sample(player, start, torch.full((12, 1, 5), -1.0))
    assert torch.equal(only.points, greedy.points)
    again = decoding.sample(player, start, draws)
    assert torch.equal(best.points, again.points)


def test_a_beam_of_one_is_greedy_and_wider_ones_are_no_longer_on_average():
    player = Player(build(), SPEC)
    start = player.rules.reset(instances(20, 7))
    lengths = {width: decoding.beam(player, start, width).length for width in (1, 3, 6)}
    assert torch.equal(lengths[1], decoding.greedy(player, start).length)
    assert lengths[6].mean() < lengths[3].mean() < lengths[1].mean()


def test_beams_serve_ragged_batches():
    player = Player(build(), SPEC)
    sizes = [6, 3, 2, 5, 1]
    points = instances(5, 6)
    together = decoding.beam(player, player.rules.reset(points, torch.tensor(sizes)), 3)
    for row, size in enumerate(sizes):
        alone = decoding.beam(player, player.rules.reset(points[row : row + 1, :size]), 3)
        assert together.length[row] == alone.length[0]


def test_images_are_the_eight_symmetries_of_the_unit_square():
    points = torch.rand((1, 5, 2), dtype=torch.float64).expand(8, 5, 2)
    seen = turned(points, torch.arange(8))
    distances = torch.cdist(seen, seen)
    assert torch.allclose(distances, distances[:1].expand(8, 5, 5))
    assert len({tuple(row) for row in seen[:, 0].numpy().round(6).tolist()}) == 8
    corners = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).expand(8, 4, 2)
    for image in turned(corners, torch.arange(8)).tolist():
        assert sorted(image) == sorted(corners[0].tolist())


def test_augmentation_takes_the_best_image():
    player = Player(build(), SPEC)
    start = player.rules.reset(instances(10, 6))
    each = decoding.greedy(player, decoding.images(start))
    best = decoding.best_of(each, 8)
    assert torch.equal(best.length, each.length.view(10, 8).amin(dim=1))
    assert torch.equal(each.length[::8], decoding.greedy(player, start).length)
    assert (best.length < each.length[::8]).any()


def test_twins_do_not_depend_on_rounding():
    scores = torch.tensor([[-3.0, -1.0 - 5e-7, -1.0, -2.0], [-torch.inf] * 4])
    assert decoding.likeliest(scores).tolist() == [1, 0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A saved model."""
    path = tmp_path_factory.mktemp("models") / "small"
    return checkpoint.save(path, build(), SPEC, {"seed": 3}, card="# small\n")


def solve(points, folder, *, monitor=None, trace=None, seed=0, **options):
    """Call the method as `deepsteiner.solve` does; return (points in the frame, tree)."""
    problem = Problem.of(np.asarray(points, dtype=np.float64))
    given = parse(method.Options, {"model": str(folder), **options}, method="policy")
    run = Run(problem.points, problem.frame, monitor or Monitor(), seed, "cpu", trace)
    return problem, method.solve(run, given)


def length_of(problem, tree) -> float:
    return tree_length(np.concatenate((problem.points, tree.steiner)), tree.edges)


POINTS = np.random.default_rng(602).random((8, 2))  # the small model adds four points
DECODINGS = [
    {},
    {"augment": True},
    {"decode": "sample", "samples": 5},
    {"decode": "sample", "samples": 3, "augment": True},
    {"decode": "beam", "beam": 3},
    {"decode": "beam", "beam": 2, "augment": True},
    {"refine": True},
    {"normalize": False},
    {"precision": "bfloat16"},
]


@pytest.mark.parametrize("options", DECODINGS, ids=str)
def test_the_method_makes_trees_alone_and_in_batches(folder, options):
    batch = np.stack([np.random.default_rng(k).random((8, 2)) for k in (431, 557, 602, 3, 4)])
    shifts, exponents = frames(batch)
    inside = np.ldexp(batch - shifts[:, None], exponents[:, None, None].astype(np.int32))
    given = parse(method.Options, {"model": str(folder), **options}, method="policy")
    seeds = np.full(5, 7, dtype=np.int64)
    packed = method.solve_batch(Batch(inside, shifts, exponents, seeds), given)
    edge = 0
    for row in range(5):
        problem, tree = solve(batch[row], folder, seed=7, **options)
        spanning = tree_length(problem.points, minimum_spanning_tree(problem.points))
        assert length_of(problem, tree) <= spanning * (1 + 1e-12)
        assert len(tree.steiner) <= 6
        first, last = packed.steiner_start[row : row + 2]
        own = packed.edges[edge : edge + 7 + last - first]
        edge += 7 + last - first
        if options.get("precision") == "bfloat16":
            continue  # too coarse for batches to agree in every tie
        assert np.array_equal(packed.steiner[first:last], tree.steiner)
        assert np.array_equal(own, tree.edges)
    if options.get("refine"):
        assert (np.bincount(tree.edges.ravel())[8:] == 3).all()


def test_other_scales_are_mapped_to_the_training_box(folder):
    problem, tree = solve(POINTS * 2.0, folder)
    expected = problem.frame.back(tree.steiner) / 2.0
    assert len(expected) > 0
    for factor, shift in ((1e6, 1e7), (0.25, 0.0), (1e-9, -3e-9)):
        moved, other = solve(POINTS * factor + shift, folder)
        got = (moved.frame.back(other.steiner) - shift) / factor
        np.testing.assert_allclose(got, expected, atol=1e-6)
    far = solve(POINTS * 4, folder, normalize=False)[1]
    assert far.edges.shape[0] == 7 + len(far.steiner)


def test_instances_that_fit_the_training_box_are_seen_as_they_are(folder):
    seen = []
    original = Player.score

    def spy(self, state, found):
        seen.append(state.points[0, :8].numpy().copy())
        return original(self, state, found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Player, "score", spy)
        solve(POINTS, folder)
        solve(POINTS * 100 - 7, folder)
    np.testing.assert_allclose(seen[0], POINTS, atol=1e-15)
    assert seen[-1].min() == pytest.approx(0)
    assert seen[-1].max() == pytest.approx(1)


def test_the_trace_tells_every_step(folder):
    trace = []
    problem, tree = solve(POINTS, folder, trace=trace)
    json.dumps(trace)
    steiner = problem.frame.back(tree.steiner)
    assert [step["kept"] for step in trace][: len(steiner)] == [True] * len(steiner)
    assert len(trace) == min(len(steiner) + 1, 6)
    for number, step in enumerate(trace):
        assert len(step["candidates"]) == len(step["probabilities"]) == 6 * (7 + number)
        assert sum(step["probabilities"]) == pytest.approx(1, abs=1e-5)
        best = int(np.argmax(step["probabilities"]))
        assert step["probabilities"][best] == pytest.approx(
            step["probabilities"][step["candidates"].index(step["chosen"])], abs=1e-4
        )
        if step["kept"]:
            np.testing.assert_allclose(step["chosen"], steiner[number], atol=1e-12)
            nodes = np.concatenate((POINTS, steiner[: number + 1]))
            expected = tree_length(nodes, minimum_spanning_tree(nodes))
            assert step["length"] == pytest.approx(expected)


def test_limits_and_progress(folder):
    reports = []
    _, tree = solve(POINTS, folder, monitor=Monitor(None, reports.append))
    assert reports[-1].phase == "done"
    assert reports[0].total == 6
    _, stopped = solve(POINTS, folder, monitor=Monitor(0.0))
    assert len(stopped.steiner) == 0
    assert len(tree.steiner) == 4
    halted = Monitor(None, lambda progress: progress.done < 2)
    _, part = solve(POINTS, folder, monitor=halted)
    assert halted.stop_reason == "interrupted"
    np.testing.assert_array_equal(part.steiner, tree.steiner[:2])


def test_time_can_run_out_inside_a_step(folder):
    """The network pauses; what was finished before comes back."""
    calls = []

    def stop_later(progress):
        calls.append(progress.done)
        return calls.count(3) < 2

    _, whole = solve(POINTS, folder)
    _, part = solve(POINTS, folder, monitor=Monitor(None, stop_later))
    np.testing.assert_array_equal(part.steiner, whole.steiner[:3])


def test_a_large_instance_stops_in_time(folder, tmp_path):
    wide = checkpoint.save(tmp_path / "wide", build(replace(SMALL, layers=8)), SPEC, {})
    points = np.random.default_rng(0).random((600, 2))
    solve(points[:10], wide)
    started = time.perf_counter()
    monitor = Monitor(0.3)
    solve(points, wide, monitor=monitor)
    assert time.perf_counter() - started < 3.0
    assert monitor.stop_reason == "time_limit"


def test_too_many_tokens_are_refused(folder):
    with pytest.raises(PointsError, match=r"at most 20000 tokens .* method 'local' takes any"):
        solve(np.random.default_rng(0).random((2000, 2)), folder)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_an_absent_device_is_refused(folder):
    with pytest.raises(OptionError, match="torch finds no CUDA device"):
        ds.solve(POINTS, "policy", model=str(folder), device="cuda")


def test_the_method_module_is_light():
    program = (
        "import sys, deepsteiner.solvers.policy; "
        "print([name for name in ('torch', 'numba', 'scipy') if name in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "[]"


def test_changed_models_are_read_again(folder, tmp_path):
    target = tmp_path / "changing"
    checkpoint.save(target, build(seed=1), SPEC, {})
    first = solve(POINTS, target)[1]
    checkpoint.save(target, build(seed=2), SPEC, {})
    second = solve(POINTS, target)[1]
    assert first.steiner.shape != second.steiner.shape or (first.steiner != second.steiner).any()


def test_keep_worsening_keeps_the_point_that_ended_the_game():
    points = np.random.default_rng(12).random((12, 9, 2))
    for model in ("grid-d1", "mst-d1"):
        stopped = ds.solve_many(points, "policy", model=model)
        kept = ds.solve_many(points, "policy", model=model, keep_worsening=True)
        for one, other in zip(stopped, kept, strict=True):
            extra = len(other.steiner_points) - len(one.steiner_points)
            assert extra in (0, 1)
            np.testing.assert_array_equal(
                other.steiner_points[: len(one.steiner_points)], one.steiner_points
            )
            assert (other.length > one.length) == (extra == 1)
        assert kept.lengths.sum() > stopped.lengths.sum()
        single = ds.solve(points[0], "policy", model=model, keep_worsening=True, trace=True)
        assert single.length == pytest.approx(kept[0].length, rel=1e-12)
        assert len(single.info["trace"]) == len(single.steiner_points)
    with pytest.raises(ds.errors.DeepSteinerError, match="keep_worsening needs decode='greedy'"):
        ds.solve(points[0], "policy", keep_worsening=True, augment=True)
