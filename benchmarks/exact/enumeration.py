"""Time the generation of full Steiner trees, one thread, after warm-up.

Run ``python -m benchmarks.exact.enumeration`` (``--help`` for options). The calibration line gives
the time of a fixed triangulation, so that numbers of differently busy machines can be compared:
the last column is scaled to a machine that needs 530 ms for it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.spatial import Delaunay

from deepsteiner.fst.enumerate.complete.generate import generate
from deepsteiner.fst.enumerate.complete.small_generate_kernels import generate_small

REFERENCE_MS = 530.0
UNIFORM = {10: 200, 20: 100, 50: 30, 100: 15, 200: 8, 500: 3, 1000: 1}
LATTICES = (4, 5, 6)


def unit(points: np.ndarray) -> np.ndarray:
    """Centre and scale by a power of two."""
    points = points - (points.min(axis=0) + points.max(axis=0)) / 2
    return points / 2.0 ** np.ceil(np.log2(np.abs(points).max()))


def calibration_ms() -> float:
    points = np.random.default_rng(0).random((100_000, 2))
    Delaunay(points)
    begin = time.process_time()
    Delaunay(points)
    return 1e3 * (time.process_time() - begin)


def lattice(side: int) -> np.ndarray:
    return np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2) * 1.0


def report(name: str, instances: list[np.ndarray], scale: float, limit: float) -> None:
    """Print one line: means over the instances, in milliseconds of processor time."""
    instances = [unit(points) for points in instances]
    one_call = len(instances[0]) <= 20
    total, trees, branches, complete = 0.0, 0, 0, True
    for points in instances:
        begin = time.process_time()
        if one_call:
            generate_small(points)
            total += time.process_time() - begin
        end = time.process_time() + limit
        result = generate(points, keep_going=lambda *_, end=end: time.process_time() < end)
        if not one_call:
            total += time.process_time() - begin
        trees += len(result)
        branches += int(result.stats["branches"])
        complete = complete and result.complete
    count = len(instances)
    ms = 1e3 * total / count
    print(
        f"{name:>12} {count:>5} {trees / count:>9.1f} {branches / count:>10.1f}"
        f" {ms:>10.2f} {ms * scale:>10.2f}{'' if complete else '  stopped'}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=list(UNIFORM))
    parser.add_argument("--lattices", type=int, nargs="*", default=list(LATTICES))
    parser.add_argument("--tsplib", type=Path, help="an .npz file with arrays NAME_points")
    parser.add_argument("--names", nargs="*", help="which of them (default: all)")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds per instance")
    arguments = parser.parse_args()
    warm = unit(np.random.default_rng(0).random((12, 2)))
    generate(warm)
    generate_small(warm)
    calibration = calibration_ms()
    scale = REFERENCE_MS / calibration
    print(f"calibration {calibration:.0f} ms (reference {REFERENCE_MS:.0f} ms)")
    print(f"{'instances':>12} {'count':>5} {'trees':>9} {'branches':>10} {'ms':>10} {'scaled':>10}")
    for n in arguments.sizes:
        batch = list(np.random.default_rng(n).random((UNIFORM.get(n, 1), n, 2)))
        report(f"uniform {n}", batch, scale, arguments.limit)
    for side in arguments.lattices:
        report(f"{side} x {side}", [lattice(side)], scale, arguments.limit)
    if arguments.tsplib:
        with np.load(arguments.tsplib) as file:
            names = arguments.names or [k[:-7] for k in file.files if k.endswith("_points")]
            for name in names:
                report(name, [file[f"{name}_points"]], scale, arguments.limit)
    after = calibration_ms()
    print(f"calibration afterwards {after:.0f} ms")


if __name__ == "__main__":
    main()
