"""The batched environment against plain Python: candidates, spanning trees, steps and stopping."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra [learn]")

from deepsteiner.core.errors import OptionError  # noqa: E402
from deepsteiner.core.trees import tree_length  # noqa: E402
from deepsteiner.geometry.candidates import CandidateOptions, candidate_points  # noqa: E402
from deepsteiner.geometry.spanning_trees import minimum_spanning_tree  # noqa: E402
from deepsteiner.policy import spanning  # noqa: E402
from deepsteiner.policy.candidates import candidates  # noqa: E402
from deepsteiner.policy.device import resolve  # noqa: E402
from deepsteiner.policy.environment import Environment  # noqa: E402
from deepsteiner.policy.kit.registries import CRITERIA  # noqa: E402
from deepsteiner.policy.settings import CandidateSpec  # noqa: E402

torch.set_num_threads(1)

SPECS = [
    CandidateSpec("mst"),
    CandidateSpec("knn", k_star=4),
    CandidateSpec("grid", grid=6),
    CandidateSpec("all", k_star=2),
    CandidateSpec("grid", grid=3, extent="box"),
]
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def ragged(batch: int, largest: int, seed: int, dtype=torch.float64):
    """Return padded random points (B, n, 2) and their counts from 1 to n."""
    rng = np.random.default_rng(seed)
    points = torch.tensor(rng.random((batch, largest, 2)), dtype=dtype)
    count = torch.tensor(rng.integers(1, largest + 1, batch))
    return points, count


def core_candidates(points: np.ndarray, spec: CandidateSpec) -> np.ndarray:
    options = CandidateOptions(spec.kind, spec.k_star, spec.k_neighbors, spec.grid, spec.extent)
    box = (np.zeros(2), np.ones(2)) if spec.extent == "unit" else None
    return candidate_points(points, options, box)


def mst_length(points) -> float:
    array = np.array(points)
    return tree_length(array, minimum_spanning_tree(array))


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_candidates_equal_those_of_core(spec):
    points, count = ragged(40, 9, seed=1)
    edges, _ = spanning.spanning_tree(points, count)
    found = candidates(points, count, edges, spec)
    assert found.points.shape[1] == spec.number(9)
    for row, number in enumerate(count.tolist()):
        if number < 2 and spec.kind != "grid":
            assert not found.mask[row].any()
            continue
        expected = core_candidates(points[row, :number].numpy(), spec)
        got = found.points[row, found.mask[row]].numpy()
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
        assert spec.number(number) == len(expected)


@pytest.mark.parametrize("kind", ["mst", "knn", "all"])
def test_candidates_see_their_ends_under_120_degrees(kind):
    points, count = ragged(10, 7, seed=2)
    edges, _ = spanning.spanning_tree(points, count)
    found = candidates(points, count, edges, CandidateSpec(kind))
    for row in range(10):
        mask = found.mask[row]
        here, ends = found.points[row, mask], points[row][found.ends[row, mask]]
        to_first, to_second = ends[:, 0] - here, ends[:, 1] - here
        cosine = (to_first * to_second).sum(1) / (to_first.norm(dim=1) * to_second.norm(dim=1))
        assert torch.allclose(cosine, torch.full_like(cosine, -0.5))


def test_single_precision_candidates_are_close():
    points, count = ragged(20, 10, seed=3)
    count[:] = 10
    edges, _ = spanning.spanning_tree(points, count)
    fine = candidates(points, count, edges, CandidateSpec())
    coarse = candidates(points.float(), count, edges, CandidateSpec())
    assert (fine.points - coarse.points).abs().max() < 1e-6


def test_spanning_trees_are_those_of_core():
    points, count = ragged(60, 12, seed=4)
    edges, weights = spanning.spanning_tree(points, count)
    for row, number in enumerate(count.tolist()):
        expected = minimum_spanning_tree(points[row, :number].numpy())
        assert (edges[row, : number - 1].numpy() == expected).all()
        assert (edges[row, number - 1 :] == 0).all()
        assert (weights[row, number - 1 :] == 0).all()
        length = tree_length(points[row, :number].numpy(), expected)
        assert weights[row].sum().item() == pytest.approx(length, rel=1e-14)


def test_ties_are_broken_as_in_core():
    lattice = torch.tensor([[x, y] for x in range(4) for y in range(4)], dtype=torch.float64)
    edges, _ = spanning.spanning_tree(lattice[None], torch.tensor([16]))
    assert (edges[0].numpy() == minimum_spanning_tree(lattice.numpy())).all()


def test_bottlenecks_are_the_heaviest_edges_of_paths():
    points, _ = ragged(5, 8, seed=5)
    edges, weights = spanning.spanning_tree(points, torch.full((5,), 8))
    heaviest = spanning.bottlenecks(edges, weights)
    for row in range(5):
        best = np.where(np.eye(8) > 0, 0.0, np.inf)
        for (a, b), w in zip(edges[row].tolist(), weights[row].tolist(), strict=True):
            best[a, b] = best[b, a] = w
        for k, i, j in itertools.product(range(8), repeat=3):  # minimax Floyd-Warshall
            best[i, j] = min(best[i, j], max(best[i, k], best[k, j]))
        np.testing.assert_array_equal(heaviest[row].numpy(), best)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_lookahead_equals_fresh_spanning_trees(spec):
    points, count = ragged(12, 8, seed=6)
    edges, weights = spanning.spanning_tree(points, count)
    found = candidates(points, count, edges, spec)
    saving = spanning.lookahead(points, count, edges, weights, found.points, found.mask)
    assert (saving.isinf() == ~found.mask).all()
    for row, number in enumerate(count.tolist()):
        own = points[row, :number].numpy()
        before = mst_length(own)
        for c in np.flatnonzero(found.mask[row].numpy())[::5]:
            after = mst_length(np.concatenate((own, found.points[row, c][None].numpy())))
            assert saving[row, c].item() == pytest.approx(before - after, abs=1e-12)


def test_lookahead_on_points_that_coincide():
    points = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]], dtype=torch.float64)
    count = torch.tensor([4])
    edges, weights = spanning.spanning_tree(points, count)
    new = torch.tensor([[[1.0, 0.0], [0.0, 0.0], [0.2, 0.2]]], dtype=torch.float64)
    mask = torch.ones((1, 3), dtype=torch.bool)
    saving = spanning.lookahead(points, count, edges, weights, new, mask)
    for c in range(3):
        after = mst_length(torch.cat((points[0], new[0, c : c + 1])).numpy())
        assert saving[0, c].item() == pytest.approx(2.0 - after, abs=1e-14)


def test_lookahead_works_in_pieces(monkeypatch):
    points, count = ragged(9, 6, seed=7)
    edges, weights = spanning.spanning_tree(points, count)
    found = candidates(points, count, edges, CandidateSpec())
    call = (points, count, edges, weights, found.points, found.mask)
    whole = spanning.lookahead(*call)
    monkeypatch.setattr(spanning, "_CHUNK_ELEMENTS", 1)
    assert torch.equal(spanning.lookahead(*call), whole)


def reference_rollout(terminals, spec, criterion, choose):
    """Algorithms 1 and 2 for one instance, in plain Python; yields what each step leaves behind.

    `choose(number)` picks one of that many candidates.
    """
    points = [tuple(p) for p in terminals]
    limit = len(points) - 2
    length = mst_length(points)
    steps, active = 0, limit > 0
    yield points, length, active
    while active:
        found = core_candidates(np.array(points), spec)
        x, y = found[choose(len(found))]
        extended = [*points, (x, y)]
        new_length = mst_length(extended)
        longer = new_length > length * (1 + 1e-14)  # more than another order of adding makes it
        if criterion == "inference" and longer:
            active = False
        else:
            steps += 1
            if criterion == "first_selection":
                active = False
            elif criterion == "all_selection":
                active = steps < limit
            else:
                active = steps < limit and not longer
            points, length = extended, new_length
        yield points, length, active


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", ["mst", "knn", "grid"])
def test_the_environment_plays_by_algorithms_1_and_2(kind, criterion):
    """200 random instances of 1 to 7 points, each with random choices, step by step."""
    spec = CandidateSpec(kind, k_star=3, grid=5)
    environment = Environment(spec, criterion)
    points, count = ragged(200, 7, seed=8)
    rng = np.random.default_rng(9)
    # Small fractions: a mixture of good and bad places, so that all ways to stop occur.
    fraction = rng.random((8, 200))
    references = []
    for row, number in enumerate(count.tolist()):
        draws = iter(fraction[:, row])
        own = points[row, :number].numpy()
        references.append(
            list(
                reference_rollout(own, spec, criterion, lambda c, d=draws: math.floor(next(d) * c))
            )
        )
    state = environment.reset(points, count)
    for step in range(8):
        for row, reference in enumerate(references):
            expected, length, active = reference[min(step, len(reference) - 1)]
            number = int(state.count[row])
            assert number == len(expected)
            assert bool(state.active[row]) == active
            assert int(state.steps[row]) == number - int(count[row])
            assert state.length[row].item() == pytest.approx(length, rel=1e-12)
            np.testing.assert_allclose(
                state.points[row, :number].numpy(), np.array(expected), rtol=0, atol=1e-9
            )
        if not state.active.any():
            break
        found = environment.candidates(state)
        numbers = found.mask.sum(dim=1)
        position = (torch.tensor(fraction[step]) * numbers).floor().long()
        # The position among the real candidates; padding may stand between them.
        order = (~found.mask).to(torch.int8).argsort(dim=1, stable=True)
        choice = order.gather(1, position[:, None])[:, 0]
        state = environment.step(state, choice, found)
    assert not state.active.any()


def test_steps_leave_the_state_before_as_it_was():
    environment = Environment(CandidateSpec(), "all_selection")
    points, _ = ragged(4, 6, seed=10)
    state = environment.reset(points)
    choice = torch.tensor([0, 3, 20, 71])
    after = environment.step(state, choice, environment.candidates(state))
    assert (after.width, after.full, after.dense) == (7, True, True)
    assert (after.count == 7).all()
    assert (state.count == 6).all()


def test_lookahead_of_a_state_is_what_steps_then_save():
    environment = Environment(CandidateSpec("knn"), "all_selection")
    points, count = ragged(10, 9, seed=11)
    state = environment.reset(points, count.clamp(min=3))
    for _ in range(3):
        found = environment.candidates(state)
        best, choice = environment.lookahead(state, found).max(dim=1)
        after = environment.step(state, choice, found)
        was = state.active
        assert torch.allclose((state.length - after.length)[was], best[was], atol=1e-12)
        assert torch.equal(state.length[~was], after.length[~was])
        state = after


def test_going_keeps_the_active_rows():
    environment = Environment(CandidateSpec(), "inference")
    points, _ = ragged(30, 6, seed=12)
    state = environment.reset(points)
    state = environment.step(state, torch.full((30,), 4), environment.candidates(state))
    some, rows = state.going()
    assert 0 < len(rows) < 30
    assert some.dense
    assert some.active.all()
    back = state.put(rows, some)
    assert torch.equal(back.points, state.points)
    assert not back.dense


def test_bad_criteria_and_devices_are_refused():
    with pytest.raises(OptionError, match="criterion must be one of first_increment"):
        Environment(criterion="never")
    with pytest.raises(OptionError, match="device must be 'cpu', 'cuda' or 'auto', got 'tpu'"):
        resolve("tpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_that_is_absent_is_refused_in_one_sentence():
    assert resolve("auto").type == "cpu"
    with pytest.raises(OptionError, match="torch finds no CUDA device; use 'cpu' or 'auto'"):
        resolve("cuda")


@needs_cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("size", [2, 3, 10, 18, 38, 64, 100])
def test_triton_kernels_equal_their_plain_twins(size, dtype):
    points, count = ragged(50, size, seed=size, dtype=dtype)
    points, count = points.cuda(), count.cuda()
    edges, weights = spanning.spanning_tree(points, count)
    plain_edges, plain_weights = spanning.prim(points, count)
    assert torch.equal(edges, plain_edges)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    assert torch.allclose(weights, plain_weights, rtol=tolerance, atol=tolerance)
    found = candidates(points, count, edges, CandidateSpec())
    saving = spanning.lookahead(points, count, edges, weights, found.points, found.mask)
    heaviest = spanning.bottlenecks(edges, weights)
    plain = spanning.savings(points, count, heaviest, found.points, found.mask)
    assert torch.allclose(saving, plain, rtol=tolerance, atol=tolerance)
