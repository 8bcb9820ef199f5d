"""`neural` with its network in torch: the same logits as the numba inference."""

from __future__ import annotations

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core import device as device_choice
from deepsteiner.core.errors import OptionError
from deepsteiner.core.points import Frame
from deepsteiner.run.threads import Workers
from deepsteiner.run.watch import Watch
from deepsteiner.scoring import device_network
from deepsteiner.scoring import weights as neural_weights

torch = pytest.importorskip("torch")


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("torch finds no CUDA device")
    return request.param


def drawn(n, count=1):
    points = np.random.default_rng(n).random((count, n, 2))
    return np.stack([Frame.of(one).into(one) for one in points])


@pytest.mark.parametrize("n", [4, 30, 100])
@pytest.mark.parametrize("at_once", [7, 1 << 20])
def test_logits_of_a_batch_are_those_of_the_kernels(n, at_once, device):
    from deepsteiner.fst.enumerate.nearby.small_listing_kernels import list_grown
    from deepsteiner.scoring.network_kernels import scores

    weights = neural_weights.load_weights()
    points = drawn(n, 4)
    scored = device_network.ScoredLists(
        points, 6, device_network.forward_on(device, weights, at_once)
    )
    for b, one in enumerate(points):
        listing = list_grown(one, 6)
        logits = scores(listing, weights)
        same, found = scored[b]
        for mine, theirs in zip(listing, same, strict=True):
            assert np.array_equal(mine, theirs)
        assert np.abs(found - logits).max() <= 1e-5 * max(1.0, np.abs(logits).max())


def test_logits_of_a_large_list_are_those_of_the_kernels(device):
    from deepsteiner.fst.enumerate.nearby.small_listing_kernels import list_grown
    from deepsteiner.fst.trees import FullTrees
    from deepsteiner.fst.union_kernels import caterpillar_edges
    from deepsteiner.run.monitor import Monitor
    from deepsteiner.scoring.scores import NetworkScore

    weights = neural_weights.load_weights()
    points = drawn(300)[0]
    listed = list_grown(points, 6)
    listing = FullTrees(*listed, caterpillar_edges(listed.start))
    watch, go_on = Watch(Monitor(), patient=False), lambda *_: True
    with Workers(2) as workers:
        known = NetworkScore(weights, 0.0).logits(listing, workers, go_on, watch)
        forward = device_network.forward_on(device, weights)
        score = NetworkScore(weights, 0.0, forward)
        found = score.logits(listing, workers, go_on, watch)
    assert np.abs(found - known).max() <= 1e-5 * np.abs(known).max()


def test_a_missing_accelerator_is_said_in_one_sentence():
    if torch.cuda.is_available():
        pytest.skip("there is an accelerator")
    for n in (20, 300):
        with pytest.raises(OptionError, match="no CUDA device"):
            ds.solve(np.random.default_rng(0).random((n, 2)), "neural", device="cuda")


@pytest.mark.parametrize("n", [20, 300])
def test_trees_with_the_network_in_torch(monkeypatch, n):
    """The accelerator's way through the method, walked on the processor."""
    points = np.random.default_rng(n).random((3, n, 2))
    plain = ds.solve_many(points, "neural")
    monkeypatch.setattr(device_choice, "has_cuda", lambda: True)
    monkeypatch.setattr(device_network, "place", lambda name: torch.device("cpu"))
    for workers in (1, 2) if n == 20 else (1,):  # processes would not know the changed place
        other = ds.solve_many(points, "neural", device="cuda", workers=workers)
        assert other.lengths == pytest.approx(plain.lengths, rel=1e-3)
        for solution in other:
            solution.validate(strict=True)
    one = ds.solve(points[0], "neural", device="cuda")
    assert one.length == pytest.approx(plain.lengths[0], rel=1e-3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device")
@pytest.mark.parametrize("n", [20, 300])
def test_trees_with_the_network_on_an_accelerator(n):
    points = np.random.default_rng(n).random((3, n, 2))
    plain = ds.solve_many(points, "neural")
    other = ds.solve_many(points, "neural", device="cuda")
    assert other.lengths == pytest.approx(plain.lengths, rel=1e-3)
    for solution in other:
        solution.validate(strict=True)
