"""With the kernels of a wheel nothing is ever compiled: every way to solve, in fresh processes.

The package is copied without caches, with the kernels that `make wheel` puts into the wheel. Each
way runs in a process of its own whose cache is empty: what is in the cache afterwards was missed.
A miss costs a user up to a minute; `deepsteiner/warmup.py` then needs another call.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deepsteiner.core.compiled import files
from deepsteiner.core.compiled.sources import PACKAGE
from deepsteiner.registry import MODULES

pytestmark = pytest.mark.heavy
ROOT = Path(__file__).resolve().parents[1]

HEAD = """
import numpy as np, deepsteiner as ds
from deepsteiner import datasets
rng = np.random.default_rng({seed})
def stop_at(last):
    left = [last]
    def stop(progress):
        left[0] -= 1
        return left[0] > 0
    return stop
def kinds(n):
    side = int(n ** 0.5) + 1
    lattice = np.stack(np.meshgrid(*2 * [np.arange(float(side))]), -1).reshape(-1, 2)[:n]
    centres = rng.random((max(1, n // 10), 2))
    yield rng.random((n, 2))
    yield lattice
    yield lattice + 0.05 * rng.standard_normal(lattice.shape)
    yield centres[rng.integers(0, len(centres), n)] + 0.01 * rng.standard_normal((n, 2))
    yield np.repeat(rng.random(((n + 1) // 2, 2)), 2, axis=0)[:n]
    yield rng.integers(0, 7, (n, 2))
    yield np.c_[np.arange(n), np.zeros(n)]
"""
SIZES = "(3, 5, 9, 21, 33, 70, 130)"
SMALL_SIZES = "(3, 5, 9, 21, 33)"
SLOW = ("bereta", "exact", "greedy", "rand2", "policy")  # exact: on lattices
WAYS = {
    "single": "for n in {sizes}:\n  for points in kinds(n): ds.solve(points, {method!r})",
    "batch": (
        "for n in {sizes}: ds.solve_many([*kinds(n)] * 3, {method!r})\n"
        "ds.solve_many(rng.random((40, 7, 2)), {method!r})"
    ),
    "trace": "for n in (3, 12, 40): ds.solve(rng.random((n, 2)), {method!r}, trace=True)",
    "limit": (
        "for n in (12, 60, 150):\n"
        "  for limit in (1e-9, 0.003, 0.1, 1.0):\n"
        "    ds.solve(rng.random((n, 2)), {method!r}, time_limit=limit)"
    ),
    "stopped": (
        "for n in (12, 60, 150):\n"
        "  for last in (1, 2, 4, 6, 9, 15, 40):\n"
        "    ds.solve(rng.random((n, 2)), {method!r}, on_progress=stop_at(last))"
    ),
    "geographic": (
        "lonlat = np.array([8.0, 47.0]) + rng.random((30, 2))\n"
        "ds.refine(ds.solve(lonlat, {method!r}, crs='EPSG:4326'))"
    ),
    "refined": (
        "for points in kinds(40): ds.refine(ds.solve(points, {method!r})).validate()\n"
        "ds.solve(rng.random((12, 2)).astype(np.float32), {method!r}).plot()\n"
        "ds.solve(np.asfortranarray(rng.random((12, 2))), {method!r}).validate()\n"
        "ds.solve(rng.random((24, 2))[::2], {method!r}).validate()\n"
        "points = rng.random((12, 2)); points.flags.writeable = False; ds.solve(points, {method!r})"
    ),
    "again": (
        "from deepsteiner.geometry.relaxation import refine\n"
        "one = ds.solve(rng.random((30, 2)), {method!r})\n"
        "refine(one.terminals + 0.01, one.steiner_points, one.edges)\n"
        "ds.solve(one.terminals, {method!r})"
    ),
    "workers": (
        "ds.solve_many([rng.random((n, 2)) for n in (8, 30, 31, 140, 9)], {method!r}, workers=2)"
    ),
}
OTHER = {
    **{
        f"{method} {effort}": (
            f"for n in (5, 40, 150, 300): "
            f"ds.solve(rng.random((n, 2)), {method!r}, effort={effort!r})\n"
            f"ds.solve_many(rng.random((5, 30, 2)), {method!r}, effort={effort!r})"
        )
        for method in ("local", "neural")
        for effort in ("fast", "default", "best")
    },
    "turned": (
        "for method in ('local', 'neural'):\n"
        "  for n in (3, 20, 200):\n"
        "    for points in kinds(n): ds.solve(points, method, effort='fast', turns=1)\n"
        "    ds.solve(rng.random((n, 2)), method, turns=2, time_limit=3, trace=True)"
    ),
    "neural pieces": (
        "for pieces in ('none', 'third', 'any'):\n"
        "  for n in (30, 400): ds.solve(rng.random((n, 2)), 'neural', pieces=pieces)"
    ),
    "local parts": (
        "for how in ('closed', 'grown'):\n"
        "  for score in ('hand', 'network'):\n"
        "    for n in (30, 300):\n"
        "      ds.solve(rng.random((n, 2)), 'local', enumerate=how, score=score, effort='fast')"
    ),
    "started": (
        "for method in ('exact', 'local', 'neural'):\n"
        "  for n in (10, 60, 300):\n"
        "    points = rng.random((n, 2))\n"
        "    for first in ('mst', 'thompson'):\n"
        "      ds.solve(points, method, start=ds.solve(points, first), time_limit=10)"
    ),
    "exact lists": (
        "points = rng.random((50, 2)); import tempfile, os\n"
        "path = os.path.join(tempfile.mkdtemp(), 'list.npz')\n"
        "ds.solve(points, 'exact', save_fsts=path); ds.solve(points, 'exact', load_fsts=path)\n"
        "ds.solve(points, 'exact', max_fst_size=4)\n"
        "for work in (1, 20): ds.solve(rng.random((300, 2)), 'exact', max_work=work)"
    ),
    "exact in tiles": (
        "from deepsteiner.run.executor import HereExecutor\n"
        "points = rng.random((270, 2)) * [90, 3]\n"
        "ds.solve(points, 'exact', executor=HereExecutor(), tile=130)"
    ),
    "exact 1000": "ds.solve(rng.random((1000, 2)), 'exact')",
    "exact boards": "for points in kinds(400): ds.solve(points, 'exact', time_limit=10)",
    "auto large": "for n in (600, 6000): ds.solve(rng.random((n, 2)), time_limit=5)",
    "auto 10,000": "ds.solve(rng.random((10_000, 2)))",
    "auto 30,000": (
        "ds.solve(rng.random((30_000, 2)), time_limit=20)\n"
        "for limit in (0.05, 0.3, 2): ds.solve(rng.random((30_000, 2)), time_limit=limit)"
    ),
    "mst large": "for n in (2000, 12_000): ds.solve(rng.random((n, 2)), 'mst')",
    "classics large": (
        "for method in ('smith', 'thompson', 'dreyer', 'rand1'):\n"
        "  for n in (600, 3000): ds.solve(rng.random((n, 2)), method, time_limit=5)"
    ),
    "candidates": (
        "for method in ('greedy', 'rand2'):\n"
        "  for kind in ('mst', 'knn', 'all', 'grid'):\n"
        "    ds.solve(rng.random((12, 2)), method, candidates=kind)\n"
        "    ds.solve_many(rng.random((4, 9, 2)), method, candidates=kind)"
    ),
    **{
        f"{method} around {kind}": (
            f"for n, count in ((1, 1), (3, 5), (12, 8), (30, 25), (150, 40)):\n"
            f"  one = datasets.generate_map({kind!r}, n, obstacles=count, seed=n)\n"
            f"  tree = ds.solve(one.points, {method!r}, obstacles=one.obstacles, time_limit=5)\n"
            f"  tree.validate()\n"
            f"ds.solve(one.points, {method!r}, obstacles=one.obstacles, on_progress=stop_at(4))\n"
            f"ds.solve(one.points[:20], {method!r}, obstacles=one.obstacles[:6], trace=True).plot()"
        )
        for method in ("mst", "local", "exact", "auto")
        for kind in ("convex", "lakes", "blocks")
    },
    "around 3000": (
        "one = datasets.generate_map('lakes', 3000, obstacles=300)\n"
        "for options in ({}, {'time_limit': 0.3}, {'time_limit': 5}, {'effort': 'fast'}):\n"
        "  ds.solve(one.points, 'local', obstacles=one.obstacles, **options)"
    ),
    "clearance and soft regions": (
        "for n in (2, 8, 25):\n"
        "  one = datasets.generate_map('convex', n, obstacles=6, cover=0.05, seed=n)\n"
        "  ds.solve(one.points, obstacles=one.obstacles, clearance=0.001)\n"
        "  soft = [(shape, 1.5 if k % 2 else None) for k, shape in enumerate(one.obstacles)]\n"
        "  ds.solve(one.points, obstacles=soft, time_limit=5)"
    ),
    "existing": (
        "for method in ('mst', 'local', 'exact', 'auto'):\n"
        "  for n in (1, 4, 20, 60):\n"
        "    ends = rng.random((n // 2 + 1, 2))\n"
        "    lines = [[end.tolist(), (end + 0.1 * rng.random(2)).tolist()] for end in ends]\n"
        "    for given in (lines, [(lines, 'optional')]):\n"
        "      ds.solve(rng.random((n, 2)), method, existing=given, time_limit=5)"
    ),
    "obstacles and existing": (
        "lines = [[[0.1, 0.5], [0.9, 0.55]], ([[0.3, 0.1], [0.3, 0.4]], 'optional')]\n"
        "for method in ('mst', 'local', 'exact', 'auto'):\n"
        "  for n in (1, 4, 20, 60):\n"
        "    one = datasets.generate_map('convex', n, obstacles=8, cover=0.2, seed=n)\n"
        "    given = {'obstacles': one.obstacles, 'existing': lines}\n"
        "    ds.solve(one.points, method, time_limit=5, **given)\n"
        "  ds.solve(one.points[:20], method, trace=True, **given)"
    ),
    "junction cost": (
        "for cost in (0.001, 0.05, 1.0):\n"
        "  for n in (4, 25, 150): ds.solve(rng.random((n, 2)), 'local', junction_cost=cost)"
    ),
    "edits": (
        "for n in (9, 80, 400):\n"
        "  tree = ds.solve(rng.random((n, 2)))\n"
        "  tree = tree.with_points(add=[[0.5, 0.5]], move={2: [0.1, 0.9]}, remove=[4])\n"
        "  one = datasets.generate_map('lakes', n, obstacles=5, seed=n)\n"
        "  tree = ds.solve(one.points, 'local', obstacles=one.obstacles)\n"
        "  for step in (1e-6, 2e-6, 3e-6):\n"
        "    tree = tree.with_points(move={3: (one.points[3] + step).tolist()})\n"
        "  tree.with_obstacles(one.obstacles[:3])"
    ),
    "relays": (
        "for n, radius in ((1, 0.5), (2, 0.1), (20, 0.2), (60, 0.05)):\n"
        "  for effort in ('fast', 'default', 'best'):\n"
        "    ds.place_relays(rng.random((n, 2)), radius, effort=effort)\n"
        "one = datasets.generate_map('blocks', 20, obstacles=9)\n"
        "ds.place_relays(one.points, 0.15, obstacles=one.obstacles)\n"
        "ds.solve(rng.random((30, 2))).with_max_edge(0.05)"
    ),
    "tiles": (
        "from deepsteiner.fleet.tiles.solve import solve_tiles; import tempfile, os\n"
        "for n in (700, 5000):\n"
        "  path = os.path.join(tempfile.mkdtemp(), 'tree')\n"
        "  solve_tiles(rng.random((n, 2)), path, 'local', tile=500)"
    ),
    "dreyer insertion": (
        "for n in (9, 200): ds.solve(rng.random((n, 2)), 'dreyer', variant='insertion')\n"
        "ds.solve_many(rng.random((4, 9, 2)), 'dreyer', variant='insertion')"
    ),
}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package as a wheel has it."""
    build = [sys.executable, str(ROOT / "packages" / "build_wheels.py"), "--kernels"]
    subprocess.run(build, check=True)
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE, folder / "deepsteiner", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "build" / "kernels", folder / "deepsteiner" / "prebuilt")
    return folder


def environment(site: Path, cache: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return {**kept, "PYTHONPATH": str(site), "NUMBA_CACHE_DIR": str(cache), "MPLBACKEND": "Agg"}


def missed(cache: Path) -> list[str]:
    return sorted({kernel for kernel, _ in files.kept(cache / "deepsteiner")})


def assert_no_miss(site: Path, cache: Path, command: list[str], **more: object) -> str:
    done = subprocess.run(
        command,
        env=environment(site, cache),
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        **more,
    )
    assert done.returncode == 0, done.stderr
    assert missed(cache) == []
    return done.stdout


def code_of(way: str, method: str) -> str:
    sizes = SMALL_SIZES if method in SLOW else SIZES
    seed = 10 + len(way) + 7 * len(method)
    return HEAD.format(seed=seed) + WAYS[way].format(method=method, sizes=sizes)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", MODULES)
def test_every_method_in_every_way(site: Path, tmp_path: Path, method: str, way: str) -> None:
    if method == "policy":
        pytest.importorskip("torch")
    if way == "geographic":
        pytest.importorskip("pyproj")
    assert_no_miss(site, tmp_path, [sys.executable, "-c", code_of(way, method)])


@pytest.mark.parametrize("name", OTHER)
def test_efforts_options_and_sizes(site: Path, tmp_path: Path, name: str) -> None:
    code = HEAD.format(seed=len(name)) + OTHER[name]
    assert_no_miss(site, tmp_path, [sys.executable, "-c", code])


COMMANDS = [
    ["solve", "points.csv"],
    ["solve", "points.csv", "-m", "local", "--verbose", "-O", "tree.json"],
    ["solve", "many.jsonl", "-m", "exact", "--workers", "2"],
    ["solve", "many.jsonl", "-m", "neural", "--time-limit", "1"],
    ["solve", "points.csv", "--trace", "-O", "tree.json"],
    ["solve", "lonlat.geojson", "-O", "tree.geojson"],
    ["solve", "lonlat.geojson", "--obstacles", "lakes.geojson", "-O", "tree.geojson"],
    ["relays", "points.csv", "--radius", "0.05"],
    ["demo", "--quiet"],
    ["generate", "mixture", "--labels", "--count", "4", "-O", "labels.npz"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_command_line(site: Path, tmp_path: Path, command: list[str]) -> None:
    if "lonlat.geojson" in command:
        pytest.importorskip("pyproj")
    given = tmp_path / "given"
    given.mkdir()
    places = [[8.0 + 0.1 * (k % 5), 47.0 + 0.07 * (k * k % 7)] for k in range(12)]
    (given / "points.csv").write_text("x,y\n" + "\n".join(f"{x},{y}" for x, y in places))
    lines = [json.dumps({"points": places[: 5 + k]}) for k in range(6)]
    (given / "many.jsonl").write_text("\n".join(lines))
    geometry = {"type": "MultiPoint", "coordinates": places}
    (given / "lonlat.geojson").write_text(json.dumps(geometry))
    lake = [[8.21, 47.1], [8.26, 47.12], [8.24, 47.2], [8.21, 47.1]]
    shape = {"type": "Polygon", "coordinates": [lake]}
    (given / "lakes.geojson").write_text(json.dumps(shape))
    assert_no_miss(
        site, tmp_path / "cache", [sys.executable, "-m", "deepsteiner", *command], cwd=given
    )


def test_the_server(site: Path, tmp_path: Path) -> None:
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("fastapi")
    command = [sys.executable, "-m", "deepsteiner", "serve", "--no-open", "--port", "0"]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment(site, tmp_path)
    )
    try:
        address = server.stdout.readline().split()[-1]
        with httpx.Client(base_url=address, timeout=120) as client:
            for method in MODULES:
                if method == "policy":
                    continue
                for n in (4, 40):
                    points = [[k * k % 11, k * 7 % 13] for k in range(n)]
                    body = {"points": points, "method": method}
                    assert client.post("/api/solve", json=body).status_code == 200
            before = None
            for shift in (0.0, 0.0, 0.01):  # a start that is used, then one that is moved
                points = [[k * k % 11 + shift * k, k * 7 % 13] for k in range(30)]
                for method in ("exact", "local", "neural"):
                    body = {"points": points, "method": method, "start": before}
                    answer = client.post("/api/solve", json=body)
                    assert answer.status_code == 200
                before = answer.json()["solution"]
            time.sleep(5)  # workers load ahead
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()
    assert missed(tmp_path) == []
