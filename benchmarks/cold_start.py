"""The first minute: a bare environment, the wheel, empty caches, and how long first answers take.

    make wheel
    python benchmarks/cold_start.py                    first answers (a minute, mostly pip)
    python benchmarks/cold_start.py --native           also prebuilt against native code (minutes)
    python benchmarks/cold_start.py --environment DIR  with an environment made before

A virtual environment is made and the wheel installed with what it needs. Its files are then made
read-only; as root, processes give up the right to write them all the same. Each time is that of a
whole process, from its start to its end, the least of some: the disk's cache is warm, ours is
empty. At the end it must still be empty: nothing was compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from common import ROOT, print_provenance, print_table

# As root, permissions count only without these.
RIGHTS = ",".join(f"-{name}" for name in ("dac_override", "dac_read_search", "fowner"))
WITHOUT = ("setpriv", f"--bounding-set={RIGHTS}", f"--inh-caps={RIGHTS}")
SOLVE = (
    "import numpy as np, deepsteiner as ds; "
    "print(ds.solve(np.random.default_rng({seed}).random(({n}, 2)), {method!r}).length)"
)
# What is solved, and how many seconds it may take.
FIRST = (
    ("auto", 5, 1.2),
    ("exact", 100, 1.2),
    ("local", 100, 1.2),
    ("neural", 1000, 2.0),
    ("auto", 10_000, 6.0),
)
SERVER_SECONDS = 2.5
# Solves within one process, for the comparison with native code.
SPEED = (("exact", 100, 30), ("exact", 1000, 3), ("local", 1000, 5), ("neural", 1000, 5))
LOOP = """
import json, sys, time
import numpy as np, deepsteiner as ds
from deepsteiner.core import jit
times = []
for method, n, count in json.loads(sys.argv[1]):
    rng = np.random.default_rng(n)
    instances = [rng.random((n, 2)) for _ in range(count)]
    ds.solve(instances[0], method)
    began = time.process_time()
    for points in instances:
        ds.solve(points, method)
    times.append(time.process_time() - began)
print(json.dumps([times, sorted({one.state for one in jit.history})]))
"""


class Environment:
    """A virtual environment that processes can only read, and an empty home for them."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.home = home
        python = str(folder / "bin" / "python")
        self.python = (*WITHOUT, python) if os.getuid() == 0 else (python,)
        home.mkdir()

    def variables(self) -> dict[str, str]:
        """Return the environment of a process: nothing of ours but where to find programs."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "MPLBACKEND": "Agg"}

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.python, *arguments],
            env={**self.variables(), **more},
            cwd=self.home,
            capture_output=True,
            text=True,
            check=True,
        )

    def seconds(self, code: str) -> float:
        began = time.perf_counter()
        self.run("-c", code)
        return time.perf_counter() - began

    def server_seconds(self) -> float:
        """Return how long after its start a server has answered its first request."""
        began = time.perf_counter()
        server = subprocess.Popen(
            [*self.python, "-m", "deepsteiner", "serve", "--no-open", "--port", "0"],
            env=self.variables(),
            cwd=self.home,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1]
            body = json.dumps({"points": [[0, 0], [1, 0], [0, 1], [3, 2], [4, 4]]}).encode()
            request = urllib.request.Request(
                f"{address}/api/solve", body, {"content-type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert answer.status == 200
            return time.perf_counter() - began
        finally:
            server.terminate()
            server.wait(30)

    def compiled(self) -> list[str]:
        """Return what has been compiled, by the names of its files."""
        return sorted(path.name for path in self.home.rglob("*.kernel"))


def made(folder: Path, wheel: Path) -> None:
    """Make an environment with a wheel in it, and shut it to writers."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, f"{wheel}[serve]"], check=True)
    package = next(folder.glob("lib/python*/site-packages/deepsteiner"))
    for path in [package, *package.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)


def first_answers(environment: Environment, rounds: int, factor: float) -> list[str]:
    """Print how long first answers take; return what takes too long."""
    rows: list[list[object]] = []
    late = []
    measured = [
        (
            f"`{method}`, {n:,} points",
            min(
                environment.seconds(SOLVE.format(seed=seed, n=n, method=method))
                for seed in range(rounds)
            ),
            limit,
        )
        for method, n, limit in FIRST
    ]
    server = min(environment.server_seconds() for _ in range(rounds))
    for what, seconds, limit in [*measured, ("server's first answer", server, SERVER_SECONDS)]:
        rows.append([what, f"{seconds:.2f}", f"{seconds * factor:.2f}", limit])
        if seconds > limit:
            late.append(what)
    print_table(["first answer", "s", "s scaled", "at most"], rows)
    return late


def against_native(environment: Environment, rounds: int, folder: Path) -> list[str]:
    """Print how prebuilt kernels compare with native ones, compiled here; return what is slower."""
    package = next(environment.folder.glob("lib/python*/site-packages/deepsteiner"))
    copy = folder / "native"
    copy.mkdir(exist_ok=True)
    subprocess.run(["cp", "-r", "--no-preserve=mode", str(package), str(copy)], check=True)
    for path in (copy / "deepsteiner" / "prebuilt").glob("*.kernels"):
        path.unlink()
    native = {"PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(environment.home / "native")}
    plan = json.dumps(SPEED)
    environment.run("-c", LOOP, plan, **native)  # compiles
    times: dict[str, list[list[float]]] = {"prebuilt": [], "cached": []}
    for _ in range(rounds):
        for state, more in (("prebuilt", {}), ("cached", native)):
            found, states = json.loads(environment.run("-c", LOOP, plan, **more).stdout)
            assert states == [state], states
            times[state].append(found)
    rows: list[list[object]] = []
    slower = []
    for at, (method, n, count) in enumerate(SPEED):
        ours, theirs = ([one[at] / count for one in times[state]] for state in times)
        ratio = min(ours) / min(theirs)
        middle = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
        cells = [f"{1000 * min(ours):.1f}", f"{1000 * min(theirs):.1f}"]
        rows.append([f"`{method}` {n}", *cells, f"{ratio:.3f}", f"{middle:.3f}"])
        if min(ratio, middle) > 1.02:  # one alone may be noise
            slower.append(f"{method} {n}")
    print_table(["solve", "prebuilt, ms", "native, ms", "ratio", "median ratio"], rows)
    return slower


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, help="default: the one of this Python in dist/")
    parser.add_argument("--environment", type=Path, help="use this one, or make it and keep it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--native", action="store_true")
    arguments = parser.parse_args()
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    wheels = sorted((ROOT / "dist").glob(f"deepsteiner-*-{tag}-*.whl"))
    if arguments.wheel is None and not wheels:
        sys.exit("no wheel of this Python in dist/; make wheel builds it")
    wheel = arguments.wheel or wheels[-1]
    factor = print_provenance()
    print(f"{wheel.name}, {wheel.stat().st_size / 2**20:.1f} MiB\n")
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.environment or Path(scratch, "environment")
        if not folder.exists():
            made(folder, wheel)
        environment = Environment(folder, Path(scratch, "home"))
        problems = first_answers(environment, arguments.rounds, factor)
        problems += environment.compiled()
        if arguments.native:
            print()
            problems += against_native(environment, arguments.rounds, Path(scratch))
    if problems:
        sys.exit(f"too slow, or compiled: {', '.join(problems)}")


if __name__ == "__main__":
    main()
