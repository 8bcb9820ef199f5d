# mypy: disable-error-code="misc,type-arg,untyped-decorator,no-any-unimported"
"""The game as a Gymnasium environment, one instance an episode.

    from deepsteiner.policy.kit.gymnasium_env import SteinerEnv
    env = SteinerEnv(10)
    observation, info = env.reset(seed=0)

`pip install gymnasium` first. The fields of an observation are those of `kit.game`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces

from ...core.errors import InputError
from ..settings import CandidateSpec
from .game import Game

Observation = dict[str, Any]


class SteinerEnv(gymnasium.Env[Observation, np.int64]):
    """Add candidate points to the spanning tree of random terminals in the unit square.

    Parameters
    ----------
    size : int
        Terminals of an instance, at least 3.
    spec : CandidateSpec or None
        The candidates of every step; the paper's MST candidates by default.
    criterion : str
        When an episode ends: Algorithm 1's rule by default.

    Examples
    --------
    >>> env = SteinerEnv(5, CandidateSpec(k_star=1))
    >>> seen, _ = env.reset(seed=1)
    >>> int(seen["action_mask"].sum()), float(seen["length"][0]) > 1.0
    (8, True)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium reads it so

    def __init__(
        self, size: int = 10, spec: CandidateSpec | None = None, criterion: str = "inference"
    ) -> None:
        if size < 3:
            raise InputError(f"size must be at least 3, got {size}")
        self.game = Game(size, spec or CandidateSpec(), criterion)
        room, actions = self.game.room, self.game.actions
        self.action_space = spaces.Discrete(actions)
        everything = {"low": -np.inf, "high": np.inf, "dtype": np.float64}
        self.observation_space = spaces.Dict(
            {
                "points": spaces.Box(shape=(room, 2), **everything),
                "count": spaces.Box(0, room, (1,), np.int64),
                "candidates": spaces.Box(shape=(actions, 2), **everything),
                "action_mask": spaces.MultiBinary(actions),
                "length": spaces.Box(shape=(1,), **everything),
            }
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin with random terminals, or with `options={"points": array}`."""
        super().reset(seed=seed)
        points = (options or {}).get("points")
        if points is None:
            points = self.np_random.random((self.game.size, 2))
        points = np.asarray(points, dtype=np.float64)
        if points.shape != (self.game.size, 2):
            raise InputError(f"points must have shape {(self.game.size, 2)}, got {points.shape}")
        return _plain(self.game.reset(torch.from_numpy(points)[None])), {}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Add a candidate; the reward is how much shorter the tree got."""
        seen, reward, done = self.game.step(torch.tensor([int(action)]))
        return _plain(seen), float(reward[0]), bool(done[0]), False, {}


def _plain(seen: dict[str, torch.Tensor]) -> Observation:
    """Return the only row of each field, as an array."""
    found = {name: np.atleast_1d(value[0].numpy()) for name, value in seen.items()}
    return found | {"action_mask": found["action_mask"].astype(np.int8)}
