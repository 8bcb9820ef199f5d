"""How well `auto` foresees the work of a proof, on points of all kinds.

Run: python -m benchmarks.exact.predicted_work [--sizes 150 400 900 1800] [--seeds 2] [KIND ...]

For every instance of `kinds`: the slices of work predicted, the slices that generating the list and
choosing from it were counted to need (up to --most), their ratio, the processor's milliseconds, and
what `auto` does: proves, tries in vain, or leaves alone what it could have proven.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import numpy as np
from common import print_provenance, print_table
from kinds import KINDS, drawn

from deepsteiner.core.points import Frame
from deepsteiner.fst.enumerate.complete.generate import WAITING, generate
from deepsteiner.fst.select.exact.concatenation import SLICES, concatenate
from deepsteiner.solvers.auto import EXACT_WORK
from deepsteiner.solvers.predicted_work import predicted_work

# Slices that a proof may take although fewer were predicted, as a multiple of `auto`'s limit.
GIVEN = 2
HEADER = [
    "kind", "seed", "n", "predicted", "generation", "choosing", "proven", "ratio",
    "ms of predicting", "ms", "auto",
]  # fmt: skip


def counted_work(points: np.ndarray, most: int) -> tuple[int, int, bool]:
    """Return the slices of generation and of choosing, and whether it was proven with them."""
    grown = chosen = 0

    def grow(phase: str, done: int, total: int) -> bool:
        nonlocal grown
        grown += phase != WAITING
        return grown <= most

    def choose(phase: str, done: int, total: int, length: float, bound: float) -> bool:
        nonlocal chosen
        chosen += SLICES[phase]
        return grown + chosen <= most

    trees = generate(Frame.of(points).into(points), keep_going=grow, threads=1)
    if not trees.complete:
        return grown, 0, False
    proven = concatenate(trees, keep_going=choose).optimal
    return grown, chosen, proven


def verdict(predicted: float, work: int, proven: bool) -> str:
    """Return what `auto` makes of it."""
    if predicted > EXACT_WORK:
        return "misses" if proven and work <= EXACT_WORK else "leaves"
    return "proves" if proven and work <= GIVEN * EXACT_WORK else "in vain"


def judged(points: np.ndarray, most: int) -> list[object]:
    """Return the row of an instance, from its size on."""
    times = [time.process_time()]
    predicted = predicted_work(points, EXACT_WORK)
    times.append(time.process_time())
    grown, chosen, proven = counted_work(points, most)
    times.append(time.process_time())
    work = grown + chosen
    before, own = (f"{1000 * span:.0f}" for span in np.diff(times))
    ratio, word = f"{predicted / work:.2f}", verdict(predicted, work, proven)
    return [len(points), f"{predicted:.0f}", grown, chosen, proven, ratio, before, own, word]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--sizes", type=int, nargs="+", default=[150, 400, 900, 1800])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=GIVEN * EXACT_WORK)
    given = parser.parse_args()
    unknown = [kind for kind in given.kinds if kind not in KINDS]
    if unknown:
        parser.error(f"no kind {unknown[0]!r}: there are {', '.join(KINDS)}")
    print_provenance(given.first_seed)
    counted_work(np.random.default_rng(0).random((200, 2)), given.most)
    rows = []
    for n in given.sizes:
        for kind in given.kinds or KINDS:
            for seed in range(given.first_seed, given.first_seed + given.seeds):
                rows.append([kind, seed, *judged(drawn(kind, n, seed), given.most)])
                print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
    print_table(HEADER, rows)
    proven = [float(row[-4]) for row in rows if row[-5] and float(row[3]) > 0.0]
    low, middle, high = np.quantile(proven, (0.05, 0.5, 0.95))
    print(f"\nproven: predicted / counted {middle:.2f}, from {low:.2f} to {high:.2f} (90 %)")
    verdicts = Counter(row[-1] for row in rows)
    print(", ".join(f"{word}: {count}" for word, count in verdicts.most_common()))


if __name__ == "__main__":
    main()
