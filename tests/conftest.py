"""Fixtures shared by all tests: the golden instances, the data beside the project, and the zoo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# The first call of a kernel compiles it, which no deadline survives.
settings.register_profile("deepsteiner", deadline=None)
settings.load_profile("deepsteiner")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def golden():
    """Return a loader: golden("u10", 100) gives (points, optimal lengths) of the first 100."""

    def load(name: str, count: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        with np.load(ROOT / "tests" / "golden" / f"{name}.npz") as data:
            return data["points"][:count], data["optimal_length"][:count]

    return load


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of instances beside the project; tests skip where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the instances in ../shared/data, which are not part of the project")
    return folder


def zoo() -> dict[str, np.ndarray]:
    """Return degenerate instances by name."""
    rng = np.random.default_rng(7)
    lattice = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=-1).reshape(-1, 2)
    circle = 2 * np.pi * np.arange(12) / 12
    spread = rng.random((10, 2))
    angle = 2 * np.pi / 3
    clusters = np.concatenate([centre + 1e-9 * rng.random((4, 2)) for centre in spread])
    dyadic = rng.integers(0, 2**20, (12, 2)) / 2**20
    return {
        "one": np.array([[0.3, 0.4]]),
        "two": np.array([[0.0, 0.0], [3.0, 4.0]]),
        "three": np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]]),
        "all equal": np.ones((5, 2)),
        "duplicates": np.concatenate((spread[:6], spread[:3], spread[2:4])),
        "two distinct": np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]),
        "collinear": np.stack((np.linspace(0, 1, 9) ** 2, 2 * np.linspace(0, 1, 9) ** 2), axis=1),
        "vertical": np.stack((np.zeros(7), np.arange(7.0)), axis=1),
        "cocircular": np.stack((np.cos(circle), np.sin(circle)), axis=1),
        "lattice": lattice,
        "integer": rng.integers(0, 5, (15, 2)),
        "120 degrees": np.array([[1.0, 0.0], [0.0, 0.0], [np.cos(angle), np.sin(angle)]]),
        "120 + 1e-12": np.array(
            [[1.0, 0.0], [0.0, 0.0], [np.cos(angle + 1e-12), np.sin(angle + 1e-12)]]
        ),
        "120 - 1e-12": np.array(
            [[1.0, 0.0], [0.0, 0.0], [np.cos(angle - 1e-12), np.sin(angle - 1e-12)]]
        ),
        "times 1e9": spread * 1e9,
        "times 1e-9": spread * 1e-9,
        "shifted": dyadic + 1e7,
        "clusters": clusters,
        "near pair": np.array([[0.0, 0.0], [1e-15, 0.0], [1.0, 0.0], [0.5, 0.8]]),
        "collapsing pair": np.array([[1e-20, 0.0], [2e-20, 0.0], [1.0, 0.0], [0.5, 0.8]]),
        "tiny": spread * 1e-300,
        "huge": (spread - 0.5) * 1e149,
    }


@pytest.fixture(params=list(zoo()), scope="session")
def zoo_points(request) -> np.ndarray:
    """One degenerate instance after the other."""
    return zoo()[request.param]
