"""What is too heavy for every change: `make test-all` runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize(
    "command",
    [
        "benchmarks/fuzz.py --count 3000 --seed 77 --workers 2 --out OUT",
        "benchmarks/fuzz_maps.py --count 400 --seed 5000 --grid 4",
        "benchmarks/near_pairs.py --sizes 4 10 30",
        "benchmarks/interrupted_batch.py",
    ],
)
def test_benchmark_finds_no_fault(command, tmp_path):
    command = command.replace("OUT", str(tmp_path / "failures.jsonl"))
    done = subprocess.run(
        [sys.executable, *command.split()], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
    assert " NO " not in done.stdout, done.stdout[-2000:]
