"""Fixtures that tests share: golden instances, data beside the project, a browser, the zoo."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from page_visit import Visit

# The first call of a kernel compiles it, which no deadline survives.
settings.register_profile("deepsteiner", deadline=None)
settings.load_profile("deepsteiner")

ROOT = Path(__file__).resolve().parents[1]
BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


# What costs seconds to make and serves several tests: those of one go to one test process, which
# makes it once (`pytest --dist loadgroup`).
SHARED = {
    "browser": "page",
    "built": "prebuilt",
    "dask": "dask",
    "in_one_go": "resumed streams",
    "wheel": "wheel",
}
# Names that several modules give to fixtures of their own.
SHARED_IN_A_MODULE = {"client", "labels", "drawn", "lone", "server"}


def pytest_collection_modifyitems(items):
    """Keep together what shares something costly."""
    for item in items:
        for name in item.fixturenames:
            group = item.path.stem if name in SHARED_IN_A_MODULE else SHARED.get(name)
            if group is not None:
                item.add_marker(pytest.mark.xdist_group(group))
                break


@pytest.fixture(autouse=True)
def no_withdrawn_proofs(request):
    """Fail every test during which a proof had to be withdrawn, unless it is about that."""
    heard: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: heard.append(record.getMessage())
    logger = logging.getLogger("deepsteiner")
    logger.addHandler(handler)
    yield
    logger.removeHandler(handler)
    withdrawn = [text for text in heard if "claimed a lower bound" in text]
    if request.node.get_closest_marker("withdraws") is None:
        assert withdrawn == []


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


@pytest.fixture(scope="session")
def playground():
    """Return the address of a real server."""
    pytest.importorskip("fastapi", reason="the page needs the server of the [serve] extra")
    command = [sys.executable, "-m", "deepsteiner", "serve", "--no-open", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        assert line.startswith("serving on "), line
        yield line.split()[-1]
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()


# Not for the whole session: while it lives, its event loop keeps other tests from theirs.
@pytest.fixture(scope="module")
def browser():
    """Return a running browser: the system's, or playwright's own where it was installed."""
    api = pytest.importorskip("playwright.sync_api", reason="the page's tests need playwright")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    with api.sync_playwright() as playwright:
        try:
            chromium = playwright.chromium.launch(executable_path=found, args=BROWSER_FLAGS)
        except api.Error as error:
            pytest.skip(f"no browser could be started: {str(error).splitlines()[0]}")
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, playground):
    """Return a maker of visits, by default with a square; none may end with a complaint."""
    visits = []

    def make(fragment: str = "#points=0,0;1,0;1,1;0,1", **settings) -> Visit:
        visits.append(Visit(browser, playground, **settings))
        return visits[-1].open(fragment)

    yield make
    for made in visits:
        made.context.close()
        assert made.problems == []


def zoo() -> dict[str, np.ndarray]:
    """Return degenerate instances by name."""
    rng = np.random.default_rng(7)
    lattice = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=-1).reshape(-1, 2)
    circle = 2 * np.pi * np.arange(12) / 12
    ring = np.linspace(0, 2 * np.pi, 6)
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
        "denormal": rng.integers(-1000, 1000, (9, 2)) * 5e-324,
        "next to 2**53": 2.0**53 - rng.integers(0, 50, (7, 2)),
        "closed ring": np.stack((np.cos(ring), np.sin(ring)), axis=1),
    }


@pytest.fixture(params=list(zoo()), scope="session")
def zoo_points(request) -> np.ndarray:
    """One degenerate instance after the other."""
    return zoo()[request.param]
