"""The environments for Gymnasium and TorchRL: their own checkers, and our lengths."""
# ruff: noqa: E402 - the modules under test need extras

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import deepsteiner as ds
from deepsteiner.core.errors import InputError
from deepsteiner.policy.environment import Environment
from deepsteiner.policy.kit.game import Game
from deepsteiner.policy.settings import CandidateSpec


@pytest.mark.parametrize("criterion", ["inference", "first_increment", "all_selection"])
@pytest.mark.parametrize("kind", ["mst", "knn", "grid"])
def test_rewards_sum_up_to_the_saving_of_the_plain_environment(criterion, kind):
    spec = CandidateSpec(kind, k_star=3, grid=4)
    points = torch.rand((6, 7, 2), generator=torch.manual_seed(4), dtype=torch.float64)
    game, rules = Game(7, spec, criterion), Environment(spec, criterion)
    seen, state = game.reset(points), rules.reset(points)
    total = torch.zeros(6, dtype=torch.float64)
    for _ in range(5):
        found = rules.candidates(state)
        best = rules.lookahead(state, found).argmax(dim=1)
        state = rules.step(state, best, found)
        seen, reward, done = game.step(best)
        total += reward
        assert torch.equal(done, ~state.active)
    torch.testing.assert_close(seen["length"], state.length)
    start = rules.reset(points).length
    torch.testing.assert_close(start - total, state.length)


def test_an_action_off_the_mask_ends_the_episode_without_a_reward():
    game = Game(5, CandidateSpec(k_star=1), "inference")
    seen = game.reset(torch.rand((2, 5, 2), generator=torch.manual_seed(1), dtype=torch.float64))
    assert not seen["action_mask"][0, -1]
    after, reward, done = game.step(torch.tensor([game.actions - 1, game.actions - 1]))
    assert done.all()
    assert (reward == 0).all()
    assert after["action_mask"].sum(dim=1).tolist() == [1, 1]
    assert torch.equal(after["length"], seen["length"])


def test_gymnasium_finds_nothing_wrong():
    pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    from deepsteiner.policy.kit.gymnasium_env import SteinerEnv

    env = SteinerEnv(6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends other ranges and a render mode
        check_env(env, skip_render_check=True)
    points = np.random.default_rng(2).random((6, 2))
    seen, _ = env.reset(options={"points": points})
    assert seen["length"][0] == pytest.approx(ds.solve(points, "mst").length, rel=1e-12)
    with pytest.raises(InputError, match=r"points must have shape \(6, 2\), got \(5, 2\)"):
        env.reset(options={"points": points[:5]})
    with pytest.raises(InputError, match="size must be at least 3, got 2"):
        SteinerEnv(2)


def test_torchrl_finds_nothing_wrong():
    pytest.importorskip("torchrl")
    from deepsteiner.policy.kit.torchrl_env import SteinerEnv

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torchrl.envs.utils import check_env_specs

        env = SteinerEnv(6, batch=3)
        check_env_specs(env)
        data = env.rollout(4)
    assert set(data.keys()) >= {"action_mask", "action", "points", "candidates"}
    assert data["next", "reward"].shape[:1] == (3,)
    with pytest.raises(InputError, match="size must be at least 3, got 2"):
        SteinerEnv(2)


@pytest.mark.heavy
def test_rl4co_trains_its_attention_model_on_our_game():
    pytest.importorskip("rl4co")
    root = Path(__file__).resolve().parents[2]
    script = root / "examples" / "rl4co" / "attention_model.py"
    words = [sys.executable, str(script), "--steps", "10", "--batch", "8"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "greedy: mean saving" in done.stdout
