"""Batches and streams on engines: throughput, what an engine adds, deaths, memory, tiles, proof.

    python benchmarks/fleet.py                                  # all parts, small
    python benchmarks/fleet.py throughput --scale 1         # 100,000 of n = 20, 2,000 of n = 200
    python benchmarks/fleet.py throughput --scale 4 --workers 16 --rounds 1
    python benchmarks/fleet.py engines --engines dask:2 ray:2
    python benchmarks/fleet.py kills --engines processes:2 dask:2 ray:2
    python benchmarks/fleet.py stream --count 1000000
    python benchmarks/fleet.py tiles --points 10000000 --tile 500000
    python benchmarks/fleet.py tiles --points 20000000 --tile 500000 --workers 16 --no-whole
    python benchmarks/fleet.py proof --points 20000 --tile 5000

`throughput` compares workers=1 with several processes; `engines` compares each engine with as many
workers; both take turns and print the median of the ratios, so that a busy machine disturbs them
less. Processor time says the same on any machine: what all processes took together, against one
alone, is waste, and the share of this process limits how many workers it can serve. `kills` ends a
worker with SIGKILL, ten times, and compares the trees with those of one process. `stream` sends
lines through the command line, ends it in the middle with SIGKILL, resumes, compares with a run in
one go, and prints the largest resident memory of the command. `tiles` compares the saving over the
spanning tree with that of one piece, and prints the memory of this process and of the largest
worker. `proof` solves by `exact` on workers, which generate in tiles, and in one piece; the trees
must be the same.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from common import print_provenance, print_table, timed

import deepsteiner as ds
from deepsteiner.fleet.engines import open_engine

CASES = ((20, 100_000), (200, 2_000))
COSTS = ("processor, s", "peak, MB", "largest worker, MB")


def main() -> None:
    given = arguments()
    print_provenance(given.seed)
    for part in given.parts:
        PARTS[part](given)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--scale", type=float, default=0.02, help="share of the full batches")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--method", default="auto", help="of batches")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--engines", nargs="*", default=["processes:2", "dask:2"])
    parser.add_argument("--count", type=int, default=20_000, help="instances of the stream")
    parser.add_argument("--points", type=int, default=100_000, help="points of the huge instance")
    parser.add_argument("--tile", type=int, nargs="*", default=[12_500, 25_000, 50_000])
    parser.add_argument("--effort", default="fast", help="of `neural`, in tiles")
    parser.add_argument("--no-whole", dest="whole", action="store_false", help="only tiles")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def batches(given):
    """Yield n and a batch of the full size times the scale."""
    rng = np.random.default_rng(given.seed)
    for n, count in CASES:
        yield n, rng.random((max(20, int(count * given.scale)), n, 2))


def ratios(given, first, second):
    """Return the seconds of both, and the median of first / second, over rounds in turns."""
    times = [(timed(first), timed(second)) for _ in range(given.rounds)]
    one, two = (min(pair[k] for pair in times) for k in (0, 1))
    return one, two, statistics.median(a / b for a, b in times)


class Process(NamedTuple):
    """A process below this one: its processor time, and command."""

    seconds: float
    command: bytes


def processes_below() -> dict[int, Process]:
    """Return the processes that this one has started, and those that they have."""
    parents, found = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "stat").read_text().rpartition(")")[2].split()
            command = (path / "cmdline").read_bytes()
        except OSError:
            continue
        used = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        parents[int(path.name)] = int(words[1])
        found[int(path.name)] = Process(used, command)
    below, more = set(), {os.getpid()}
    while more:
        more = {pid for pid, parent in parents.items() if parent in more}
        below |= more
    return {pid: found[pid] for pid in below}


def processor_seconds() -> tuple[float, float]:
    """Return the processor time that this process, and those below it, have taken so far."""
    own = os.times()
    return own.user + own.system, sum(one.seconds for one in processes_below().values())


def throughput(given) -> None:
    rows = []
    with open_engine(f"processes:{given.workers}") as engine:
        for n, batch in batches(given):
            solve = partial(ds.solve_many, batch, given.method)
            for executor in (None, engine.executor):
                ds.solve_many(batch[: 100 * given.workers], given.method, executor=executor)
            began = processor_seconds()
            alone = timed(solve)
            alone_used = processor_seconds()[0] - began[0]
            began = processor_seconds()
            shared = timed(partial(solve, executor=engine.executor))
            here, there = (b - a for a, b in zip(began, processor_seconds(), strict=True))
            one, many, ratio = alone, shared, alone / shared
            if given.rounds > 1:
                one, many, ratio = ratios(given, solve, partial(solve, executor=engine.executor))
            rows.append(
                [n, len(batch), f"{one:.2f}", f"{many:.2f}", f"{ratio:.2f}", f"{alone_used:.1f}",
                 f"{here:.1f}", f"{there:.1f}", f"{100 * ((here + there) / alone_used - 1):+.1f} %"]
            )  # fmt: skip
    print_table(
        ["n", "instances", "one, s", f"{given.workers} workers, s", "times as fast",
         "processor: one", "this process", "workers", "waste"],
        rows,
    )  # fmt: skip


def engines(given) -> None:
    rows = []
    for text in given.engines:
        with open_engine(text) as engine:
            for n, batch in batches(given):
                solve = partial(ds.solve_many, batch, given.method)
                ds.solve_many(batch[:400], given.method, executor=engine.executor)
                two, with_engine, ratio = ratios(
                    given,
                    partial(solve, workers=given.workers),
                    partial(solve, executor=engine.executor),
                )
                more = f"{100 * (1 / ratio - 1):+.1f} %"
                rows.append([text, n, len(batch), f"{two:.2f}", f"{with_engine:.2f}", more])
    header = ["engine", "n", "instances", f"workers={given.workers}, s", "engine, s", "more"]
    print_table(header, rows)


def kills(given) -> None:
    """End workers while a batch is solved; compare the trees with those of one process."""
    rows = []
    batch = np.random.default_rng(given.seed).random((max(400, int(40_000 * given.scale)), 60, 2))
    expected = ds.solve_many(batch, "bereta", iterations=100)
    for text in given.engines:
        with open_engine(text) as engine:
            over, gone = threading.Event(), []
            killer = threading.Thread(target=kill_workers, args=(given.kills, over, gone))
            killer.start()
            solved = ds.solve_many(batch, "bereta", iterations=100, executor=engine.executor)
            over.set()
            killer.join()
            lost = len(batch) - len(solved)
            same = bool((solved.lengths == expected.lengths).all())
            rows.append([text, len(batch), len(gone), lost, same])
    print_table(["engine", "instances", "killed", "lost", "same trees"], rows)


def kill_workers(times: int, over: threading.Event, gone: list[int]) -> None:
    """End the busiest worker of this process, and again, until it is over."""
    before = processes_below()
    while len(gone) < times and not over.wait(0.7):
        now = processes_below()
        # Not by their state: that is of a process's first thread, and engines may work in others.
        busy = {
            pid: one.seconds
            for pid, one in now.items()
            if is_worker(one.command) and pid in before and one.seconds > before[pid].seconds
        }
        before = now
        if busy:
            gone.append(max(busy, key=busy.__getitem__))
            with contextlib.suppress(ProcessLookupError):
                os.kill(gone[-1], signal.SIGKILL)


def is_worker(command: bytes) -> bool:
    """Return whether a command line is that of a worker of one of the engines."""
    return any(word in command for word in (b"deepsteiner.run.processes", b"ray::", b"spawn_main"))


def stream(given) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines, out, whole = (Path(folder) / name for name in ("in.jsonl", "out.jsonl", "w.jsonl"))
        rng = np.random.default_rng(given.seed)
        with open(lines, "w") as file:
            for _ in range(given.count):
                file.write(json.dumps(rng.random((10, 2)).round(9).tolist()) + "\n")
        command = [sys.executable, "-m", "deepsteiner", "solve", str(lines), "--resume", "-q"]
        wanted = 0.3 * given.count
        with subprocess.Popen([*command, "-O", str(out)]) as process:
            while process.poll() is None and (not out.exists() or count(out) < wanted):
                time.sleep(0.5)
            process.send_signal(signal.SIGKILL)
        there = count(out)
        seconds, peak = watched([*command, "-O", str(out)])
        whole_seconds, whole_peak = watched([*command, "-O", str(whole)])
        print_table(
            ["instances", "killed after", "resumed, s", "whole, s", "peak, MB", "equal"],
            [[given.count, there, f"{seconds:.1f}", f"{whole_seconds:.1f}",
              f"{max(peak, whole_peak):.0f}", same(out, whole)]],
        )  # fmt: skip


def count(path: Path) -> int:
    with open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def watched(command: list[str]) -> tuple[float, float]:
    """Run a command; return its seconds and its largest resident memory in MB."""
    started = time.perf_counter()
    with subprocess.Popen(command) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.perf_counter() - started, usage.ru_maxrss / 1000


def same(one: Path, two: Path) -> bool:
    """Return whether two files of trees are equal in all but `runtime`, line by line."""
    with open(one) as first, open(two) as second:
        for a, b in zip(first, second, strict=True):
            left, right = json.loads(a), json.loads(b)
            if {**left, "runtime": 0} != {**right, "runtime": 0}:
                return False
    return True


def tiles(given) -> None:
    """Compare tiles with one piece; every run is a process of its own, whose memory is measured."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "p.npy", np.random.default_rng(given.seed).random((given.points, 2)))
        for tile in given.tile:
            code = TILES.format(
                folder=folder, tile=tile, workers=given.workers, effort=given.effort
            )
            rows.append([given.points, tile, *measured(code)])
        if given.whole:
            code = WHOLE.format(folder=folder, workers=given.workers, effort=given.effort)
            rows.append([given.points, "one piece", *measured(code)])
    print_table(["points", "tile", "saving, %", "s", *COSTS], rows)


def proof(given) -> None:
    """Compare `exact` on workers with one piece, each in a process of its own."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "p.npy", np.random.default_rng(given.seed).random((given.points, 2)))
        cases = [(tile, f"processes:{given.workers}") for tile in given.tile]
        for tile, engine in [*cases, ("one piece", None)] if given.whole else cases:
            code = PROOF.format(folder=folder, tile=tile, engine=engine)
            rows.append([given.points, tile, *measured_proof(code)])
    print_table(["points", "tile", "status", "length", "tiles made", "s", *COSTS], rows)


PROOF = """
import contextlib
import numpy as np, deepsteiner as ds
from deepsteiner.fleet.engines import open_engine
if __name__ == "__main__":
    points, given = np.load("{folder}/p.npy"), {{}}
    with contextlib.ExitStack() as stack:
        if "{engine}" != "None":
            engine = stack.enter_context(open_engine("{engine}"))
            given = dict(executor=engine.executor, tile={tile!r})
        tree = ds.solve(points, "exact", **given)
    print(tree.status, repr(tree.length), tree.info["generation"].get("tiles_made", "-"))
"""
TILES = """
import numpy as np, resource
from deepsteiner.fleet.tiles.solve import solve_tiles
from deepsteiner.fleet.engines import open_engine
if __name__ == "__main__":
    with open_engine("processes:{workers}") as engine:
        tree = solve_tiles("{folder}/p.npy", "{folder}/t{tile}", "neural", tile={tile},
                           effort="{effort}", executor=engine.executor)
    print(100 * tree.saving)
"""
WHOLE = """
import numpy as np, deepsteiner as ds
points = np.load("{folder}/p.npy")
tree = ds.solve(points, "neural", effort="{effort}", threads={workers})
print(100 * (1 - tree.length / ds.solve(points, "mst").length))
"""


def measured(code: str) -> list[str]:
    """Run code that prints its saving; return that and what `printed` measures."""
    (saving, *costs), seconds = printed(code)
    return [f"{float(saving):.4f}", f"{seconds:.1f}", *costs]


def measured_proof(code: str) -> list[str]:
    """Run code that prints a status, a length and a count; return these and what it costs."""
    (status, length, made, *costs), seconds = printed(code)
    return [status, length, made, f"{seconds:.1f}", *costs]


def printed(code: str) -> tuple[list[str], float]:
    """Run code; return what it prints, behind it what it costs, and seconds.

    Costs are the processor time of all processes, and the largest memory of this one and of the
    largest of its workers.
    """
    tail = (
        "import resource\n"
        "own, of_children = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN\n"
        "used = [resource.getrusage(who) for who in (own, of_children)]\n"
        "print(round(sum(one.ru_utime + one.ru_stime for one in used)))\n"
        "print(*(round(one.ru_maxrss / 1000) for one in used))\n"
    )
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code + tail], capture_output=True, text=True, check=True
    )
    return done.stdout.split(), time.perf_counter() - started


PARTS = {
    "throughput": throughput,
    "engines": engines,
    "kills": kills,
    "stream": stream,
    "tiles": tiles,
    "proof": proof,
}

if __name__ == "__main__":
    main()
