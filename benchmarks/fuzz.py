"""A seeded fuzzer of every method, with `exact` as the suspect.

    python benchmarks/fuzz.py --count 100000 --workers 16
    python benchmarks/fuzz.py --family near_duplicates --count 2000 --seed 7
    python benchmarks/fuzz.py --replay fuzz-failures.jsonl

Every instance is solved by `exact` and held against what is known without it: brute force over all
topologies (up to five points), the same points moved by 1e-6, permuted, mirrored, turned by a
quarter and shifted, and the tree of every other method. What went wrong is printed, and written
with its points to a file that `--replay` reads. The exit status is 1 when anything did.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fuzz_families import FAMILIES, Points

import deepsteiner as ds
from deepsteiner.core.coincident import COINCIDENT
from deepsteiner.core.points import Frame, Problem
from deepsteiner.geometry.relaxation import relax

# Every method but those that prove, or that need trained models of the size of the instance.
HEURISTICS = tuple(name for name in ds.methods() if name not in ("auto", "exact", "policy"))
# What rounding explains, relative to the length. Proofs are claimed to no more digits.
ROUNDING = 1e-9
LIMIT = 20.0
LARGEST_BRUTE = 5


class Findings(logging.Handler):
    """What is wrong with one instance; also hears of proofs that the package withdrew itself."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: list[tuple[str, str]] = []

    def add(self, kind: str, text: str) -> None:
        """Note one fault."""
        self.kinds.append((kind, text))

    def emit(self, record: logging.LogRecord) -> None:
        """Take a logged contradiction as a fault."""
        self.add("wrong proof", record.getMessage())


@dataclass
class Outcome:
    """One instance: which, how long it took, whether it was proven, and what was wrong."""

    family: str
    index: int
    seconds: float
    proven: bool
    faults: list[tuple[str, str]] = field(default_factory=list)
    points: list[list[str]] | None = None


def instance(family: str, seed: int, index: int) -> Points:
    """Return one instance; it depends on nothing but its name and numbers."""
    rng = np.random.default_rng([seed, list(FAMILIES).index(family), index])
    n = int(rng.choice([3, 4, 5, 5, 6, 7, 8, 10, 12, 15, 22]))
    return FAMILIES[family](rng, n)


def check(points: Points, methods: tuple[str, ...] = HEURISTICS) -> tuple[bool, Findings]:
    """Solve one instance in every way and compare; return whether `exact` proved its tree."""
    findings = Findings()
    logger = logging.getLogger("deepsteiner")
    logger.addHandler(findings)
    try:
        best = attempt(points, "exact", findings, time_limit=LIMIT)
        if best is None:
            return False, findings
        slack = allowed(points, best)
        compare_with_methods(points, best, methods, slack, findings)
        if best.status == "optimal":
            compare_with_itself(points, best, slack, findings)
            compare_with_brute_force(points, best, slack, findings)
        return best.status == "optimal", findings
    finally:
        logger.removeHandler(findings)


def attempt(points: Points, method: str, findings: Findings, **options) -> ds.Solution | None:
    """Return a method's validated tree; anything it raises is a fault."""
    given = points.copy()
    try:
        solution = ds.solve(points, method, **options)
        solution.validate(strict=ds.methods()[solution.method].strict)
    except Exception as error:
        findings.add("exception", f"{method}: {type(error).__name__}: {error}")
        return None
    if solution.terminals.tobytes() != given.tobytes() or points.tobytes() != given.tobytes():
        findings.add("invalid tree", f"{method}: the terminals are not the points given")
    bound = solution.lower_bound
    if bound is not None and not bound <= solution.length:
        findings.add("bound", f"{method}: {bound!r} above the length {solution.length!r}")
    if solution.status == "optimal" and not solution.gap <= ROUNDING * (1 + 1e-6):
        findings.add("bound", f"{method}: optimal with a gap of {solution.gap!r}")
    return solution


def allowed(points: Points, solution: ds.Solution) -> float:
    """Return by how much two right answers may differ: rounding, and points that coincide."""
    extent = float(np.ptp(points, axis=0).max())
    grid = float(np.spacing(np.abs(points).max()))  # Steiner points are rounded to it
    return ROUNDING * solution.length + len(points) * (2 * COINCIDENT * extent + 4 * grid)


def compare_with_methods(
    points: Points,
    best: ds.Solution,
    methods: tuple[str, ...],
    slack: float,
    findings: Findings,
) -> None:
    """No method may find a shorter tree than a proven one, or one below a bound."""
    for method in (*methods, "auto"):
        other = attempt(points, method, findings)
        if other is None:
            continue
        if best.lower_bound is not None and other.length < best.lower_bound - slack:
            findings.add(
                "wrong proof", f"{method} has {other.length!r}, exact claims {best.lower_bound!r}"
            )
        if method == "auto" and other.status == "optimal" and best.status == "optimal":
            same_length(best.length, other.length, slack, "auto", findings)


def compare_with_itself(
    points: Points, best: ds.Solution, slack: float, findings: Findings
) -> None:
    """Moved, permuted, mirrored, turned and shifted points have (nearly) the same length."""
    rng = np.random.default_rng(len(points))
    extent = float(np.ptp(points, axis=0).max())
    far = points + extent * np.array([3.0, -7.0])
    variants = {
        "moved by 1e-6": points + 1e-6 * extent * rng.uniform(-1, 1, points.shape),
        "permuted": rng.permutation(points),
        "mirrored": points * [-1.0, 1.0],
        "turned": points[:, ::-1] * [1.0, -1.0],
        "shifted": far,
    }
    moves = {"moved by 1e-6": variants["moved by 1e-6"] - points, "shifted": far - far[0]}
    moves["shifted"] = moves["shifted"] - (points - points[0])
    for name, variant in variants.items():
        if not np.abs(variant).max() <= 1e150:
            continue
        other = attempt(np.ascontiguousarray(variant), "exact", findings, time_limit=LIMIT)
        if other is None or other.status != "optimal":
            continue
        step = moves.get(name, np.zeros((1, 2)))
        distance = float(np.hypot(step[:, 0], step[:, 1]).sum())
        same_length(best.length, other.length, slack + distance * (1 + 1e-9), name, findings)


def same_length(one: float, two: float, slack: float, name: str, findings: Findings) -> None:
    """Two proven lengths must agree."""
    if abs(one - two) > slack:
        findings.add("wrong proof", f"{one!r}, but {name} {two!r} (allowed {slack:.2g})")


def compare_with_brute_force(
    points: Points, best: ds.Solution, slack: float, findings: Findings
) -> None:
    """Up to five points: the best of all full topologies, whose edges may shrink to nothing."""
    if not 3 <= len(points) <= LARGEST_BRUTE:
        return
    frame = Frame.of(points)
    shortest, bound = brute_force(Problem.of(points).points)
    if shortest * frame.unit < best.length - slack:
        findings.add("wrong proof", f"{best.length!r}, brute force {shortest * frame.unit!r}")
    if bound * frame.unit > best.length + slack:
        findings.add("wrong oracle", f"{best.length!r} below the bound {bound * frame.unit!r}")


def brute_force(points: Points) -> tuple[float, float]:
    """Return length and certified bound of the shortest tree over all full topologies."""
    if len(points) < 3:
        length = float(np.hypot(*(points[0] - points[-1])))
        return length, length
    centre = points.mean(axis=0)
    trees = [
        relax(points, np.repeat(centre[None], len(points) - 2, axis=0), edges)
        for edges in full_topologies(len(points))
    ]
    return min(tree.length for tree in trees), min(tree.lower_bound for tree in trees)


@cache
def full_topologies(n: int) -> list[list[list[int]]]:
    """Return the edges of all full topologies over n terminals; Steiner points follow from n."""
    if n == 3:
        return [[[0, 3], [1, 3], [2, 3]]]
    result = []
    for edges in full_topologies(n - 1):
        # Terminal n - 1 joins an edge at a new Steiner point; the old ones move up by one.
        moved = [[v if v < n - 1 else v + 1 for v in edge] for edge in edges]
        new = 2 * n - 3
        for index, (a, b) in enumerate(moved):
            rest = moved[:index] + moved[index + 1 :]
            result.append([*rest, [a, new], [b, new], [n - 1, new]])
    return result


def run_span(family: str, seed: int, first: int, last: int) -> list[Outcome]:
    """Check some instances of a family."""
    outcomes = []
    for index in range(first, last):
        began = time.perf_counter()
        points = instance(family, seed, index)
        proven, findings = check(points)
        seconds = time.perf_counter() - began
        outcome = Outcome(family, index, seconds, proven, findings.kinds)
        if findings.kinds:
            outcome.points = [[float(x).hex() for x in row] for row in points]
        outcomes.append(outcome)
    return outcomes


def fuzz(families: list[str], count: int, seed: int, workers: int, out: Path) -> int:
    """Check `count` instances, spread over the families; return how many were faulty."""
    share = math.ceil(count / len(families))
    step = min(50, share)
    spans = [
        (name, seed, k, min(k + step, share)) for k in range(0, share, step) for name in families
    ]
    done: Counter[str] = Counter()
    proven: Counter[str] = Counter()
    faults: Counter[tuple[str, str]] = Counter()
    slowest: dict[str, float] = {}
    faulty = 0
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool, out.open("w") as file:
        for outcomes in pool.map(_run, spans):
            for one in outcomes:
                done[one.family] += 1
                proven[one.family] += one.proven
                slowest[one.family] = max(slowest.get(one.family, 0.0), one.seconds)
                faulty += bool(one.faults)
                for kind in {kind for kind, _ in one.faults}:
                    faults[one.family, kind] += 1
                if one.faults:
                    record = vars(one)
                    file.write(json.dumps(record) + "\n")
                    file.flush()
    kinds = sorted({kind for _, kind in faults})
    print(f"{'family':30} {'instances':>9} {'proven':>7} {'slowest s':>9}  faults")
    for name in families:
        texts = [f"{faults[name, kind]} {kind}" for kind in kinds if faults[name, kind]]
        print(f"{name:30} {done[name]:9} {proven[name]:7} {slowest[name]:9.2f}  {', '.join(texts)}")
    print(f"{sum(done.values())} instances, {sum(proven.values())} proven, {faulty} faulty")
    return faulty


def _run(span: tuple[str, int, int, int]) -> list[Outcome]:
    return run_span(*span)


def replay(path: Path) -> int:
    """Check the instances of a file of failures again; return how many still fail."""
    faulty = 0
    for line in path.read_text().splitlines():
        record = json.loads(line)
        points = np.array([[float.fromhex(x) for x in row] for row in record["points"]])
        _, findings = check(points)
        print(f"{record['family']} {record['index']}: {findings.kinds or 'right'}")
        faulty += bool(findings.kinds)
    return faulty


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000, help="instances in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--family", action="append", choices=list(FAMILIES))
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures.jsonl"))
    parser.add_argument("--replay", type=Path)
    arguments = parser.parse_args()
    if arguments.replay is not None:
        return min(1, replay(arguments.replay))
    from deepsteiner.benchmark.provenance import commit, machine

    print(f"commit {commit()}; seed {arguments.seed}; {machine()}")
    families = arguments.family or list(FAMILIES)
    return min(1, fuzz(families, arguments.count, arguments.seed, arguments.workers, arguments.out))


if __name__ == "__main__":
    sys.exit(main())
