"""The page on clusters: its examples run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deepsteiner.cli.commands.bench import bench
from deepsteiner.cli.commands.generate import generate
from deepsteiner.cli.commands.solve import solve
from deepsteiner.cli.commands.tables import tables

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guides" / "clusters.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def run(block, folder):
    (folder / "example.py").write_text(block)
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "example.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_first_example(tmp_path):
    done = run(BLOCKS[0], tmp_path)
    assert done.stdout == "True\n", done.stderr


def test_dask_example(tmp_path):
    pytest.importorskip("distributed", reason="the [dask] extra")
    batch, _ = (one for one in BLOCKS if "LocalCluster" in one)
    done = run(batch, tmp_path)
    assert done.stdout == "2000 {'optimal'}\n", done.stderr


def test_the_proof_in_tiles(tmp_path):
    (block,) = (one for one in BLOCKS if '"exact"' in one)
    done = run(block, tmp_path)
    assert done.stdout == "optimal 2\n", done.stderr


@pytest.mark.heavy
def test_dask_example_with_a_file(tmp_path):
    pytest.importorskip("distributed", reason="the [dask] extra")
    _, stream = (one for one in BLOCKS if "LocalCluster" in one)
    done = run(stream, tmp_path)
    assert done.stdout == "10000 {'optimal'}\n", done.stderr


@pytest.mark.heavy
def test_ray_example(tmp_path):
    pytest.importorskip("ray", reason="the [ray] extra")
    (block,) = (one for one in BLOCKS if "RayExecutor" in one)
    done = run(block, tmp_path)
    assert done.stdout == "2000 {'optimal'}\n", done.stderr


def test_every_command_has_the_option():
    for command in (solve, bench, generate, tables):
        assert "engine" in command.__annotations__


COMPILED = (
    "from deepsteiner.core.jit import history\n"
    "def compiled(method):\n"
    "    import deepsteiner as ds\n"
    "    ds.solve([[0, 0], [1, 0], [0, 1], [3, 2]], method)\n"
    "    return sum(one.state == 'compiled' and not one.inner for one in history)\n"
)


def test_kernels_are_compiled_once_for_all_workers_of_a_machine(tmp_path, monkeypatch):
    """Two processes with an empty cache: what one compiles, the other loads."""
    from deepsteiner.run.executor import ProcessExecutor

    (tmp_path / "compiled_here.py").write_text(COMPILED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    compiled = __import__("compiled_here").compiled
    with ProcessExecutor(1) as alone:
        expected = alone.submit(compiled, "mst").result()
    assert expected > 0
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "other"))
    with ProcessExecutor(2) as both:
        futures = [both.submit(compiled, "mst") for _ in range(2)]
        assert sum(future.result() for future in futures) == expected
