"""`solve --workers` stopped by signals in the middle of a batch: what the file then holds.

A batch of all sizes is solved once to the end and then once for every case, which is stopped when
a third is done. Every line must be whole, a valid tree, in order, and that of the full run; there
must be at least as many as the command had reported before the signal, and as many as it says.

Run: python benchmarks/interrupted_batch.py            (about two minutes)
     python benchmarks/interrupted_batch.py --count 200 --method greedy
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import print_provenance, print_table

import deepsteiner as ds

CASES = [
    (signal.SIGINT, "parent"),
    (signal.SIGINT, "group"),
    (signal.SIGTERM, "parent"),
    (signal.SIGTERM, "group"),
    (signal.SIGHUP, "parent"),
    (signal.SIGHUP, "group"),
]
SEED = 0


def main() -> None:
    given = parsed()
    print_provenance(SEED)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_instances(folder / "instances.jsonl", given.count, given.most)
        command = [sys.executable, "-m", "deepsteiner", "solve", "instances.jsonl", "--verbose"]
        command += ["-m", given.method, "--workers", str(given.workers), "-O"]
        began = time.perf_counter()
        subprocess.run(
            [*command, "full.jsonl"], cwd=folder, check=True, capture_output=True, timeout=600
        )
        print(
            f"{given.count:,} instances of 21 to {given.most} points, {given.method}, "
            f"{given.workers} workers: {time.perf_counter() - began:.1f} s\n"
        )
        full = {line["info"]["instance"]: line for line in lines_of(folder / "full.jsonl")}
        rows = [case(folder, command, full, *which) for which in CASES]
    header = ["signal", "to", "reported", "lines", "missing", "in order", "whole", "same trees"]
    print_table([*header, "exit code", "s to end", "left running"], rows)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--most", type=int, default=80, help="points of the largest instances")
    parser.add_argument("--method", default="exact")
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


def write_instances(path: Path, count: int, most: int) -> None:
    rng = np.random.default_rng(SEED)
    sizes = rng.integers(21, most + 1, count)
    path.write_text("".join(f"{json.dumps(rng.random((n, 2)).tolist())}\n" for n in sizes))


def case(
    folder: Path, command: list[str], full: dict[str, dict], number: signal.Signals, to: str
) -> list[object]:
    """Return the row of one signal."""
    target = folder / f"{number.name}-{to}.jsonl"
    with subprocess.Popen(
        [*command, target.name],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        reported = wait_for_a_third(process, len(full))
        workers = children(process.pid)
        began = time.perf_counter()
        (os.killpg if to == "group" else os.kill)(process.pid, number)
        told = process.stderr.read()
        code = process.wait(60)
        spent = time.perf_counter() - began
    finished = re.search(r"([\d,]+) of [\d,]+ instances finished", told)
    said = int(finished[1].replace(",", "")) if finished else 0
    whole = target.read_text().endswith("\n")
    lines = lines_of(target)
    names = [line["info"]["instance"] for line in lines]
    order = {name: row for row, name in enumerate(full)}
    places = [order[name] for name in names]
    return [
        number.name,
        to,
        reported,
        len(lines),
        max(0, said - len(lines), reported - len(lines)),
        yes(places == sorted(set(places))),
        yes(whole),
        yes(all(same_tree(line, full[line["info"]["instance"]]) for line in lines)),
        code,
        f"{spent:.2f}",
        sum(map(is_alive, workers)),
    ]


def wait_for_a_third(process: subprocess.Popen[str], count: int) -> int:
    for line in process.stderr:
        done = re.search(r"instances +([\d,]+)/", line)
        if done and int(done[1].replace(",", "")) >= count // 3:
            return int(done[1].replace(",", ""))
    raise SystemExit("the command ended too early: give more or larger instances")


def lines_of(path: Path) -> list[dict]:
    """Return the lines of a file of solutions, each of them a valid tree."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        ds.Solution.from_dict(line)
    return lines


def same_tree(one: dict, two: dict) -> bool:
    return all(one[key] == two[key] for key in ("terminals", "steiner_points", "edges", "status"))


def children(pid: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in listed.stdout.split()]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def yes(fact: bool) -> str:
    return "yes" if fact else "NO"


if __name__ == "__main__":
    main()
