"""The yardstick: is anything slower, or any tree longer, than it was?

    make bench-quick                                     what a change should be held against
    python benchmarks/quick.py --against ../checkout     two checkouts, taking turns in one run
    python benchmarks/quick.py --only "exact uniform" --rounds 15 --against ../checkout
    python benchmarks/quick.py --store 0.2.0             keep the rows under a name
    python benchmarks/quick.py --prove                   the lengths that gaps are measured from

Fixed instances (uniform, clustered, lattices, drilled boards) are solved by `exact`, `local`,
`neural` and `policy`, one by one, in batches, and in a fresh process whose kernels are compiled.
Every round solves everything once; of each call the shortest time counts, by the clock and of the
processor, and how much longer the second shortest was is the noise. Times are compared with those
of stored versions through the calibration, a Delaunay triangulation of 100,000 points timed in the
same run; with another checkout, directly. Slower is by more than 10 % and the noise; a longer tree
is always reported. With --strict the exit code is 1 when anything is worse.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import print_table
from yardstick.cases import Case, chosen, sets
from yardstick.lengths import prove
from yardstick.rows import (
    Comparison,
    Row,
    RowsError,
    check_name,
    compare,
    impossible,
    machine,
    read_best,
    rows_of,
    stored,
    versions,
    write_rows,
)
from yardstick.run import CheckoutError, Measured, check_checkout, commit_of, run

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Run, print, store; return the exit code."""
    given = _parser().parse_args()
    began = time.perf_counter()
    try:
        cases = chosen(given.only)
        if not cases:
            raise RowsError(f"no case has the words {' or '.join(map(repr, given.only))}")
        for name in filter(None, (given.store, given.store_against)):
            check_name(name)
        if given.only and (given.store or given.store_against):
            raise RowsError("a stored version has all cases: --store goes without --only")
        if given.store_against and not given.against:
            raise RowsError("--store-against needs --against")
        checkouts = [check_checkout(path) for path in (given.checkout, *given.against)]
        with tempfile.TemporaryDirectory() as folder:
            points = Path(folder) / "points.npz"
            np.savez(points, **sets())
            if given.prove:
                prove(checkouts[0], points, _tell)
                return 0
            best = read_best()
            measured = run(checkouts, cases, given.rounds, points, _tell)
        worse = report(given, cases, checkouts, measured, best)
    except (CheckoutError, RowsError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(f"{time.perf_counter() - began:.0f} s")
    return int(bool(worse) and given.strict)


def report(
    given: argparse.Namespace,
    cases: Sequence[Case],
    checkouts: Sequence[Path],
    measured: Measured,
    best: Mapping[str, Any],
) -> list[str]:
    """Print the cases beside other versions, store what is to be stored; return what is worse."""
    commits = [commit_of(path) for path in checkouts]
    # The first checkout's rows are made last: of those stored together they are the newest.
    order = range(len(checkouts))[::-1]
    found = [rows_of(measured, k, cases, commits[k], best) for k in order][::-1]
    print(f"commit {commits[0]}; {machine()}; {', '.join(map(' '.join, versions().items()))}")
    print(
        f"calibration {1000 * measured.calibration.wall.seconds:.0f} ms, "
        f"noise {100 * measured.calibration.wall.noise:.0f} %; {given.rounds} rounds\n"
    )
    others = {f"{commit} now": {r.case: r for r in rows}
              for commit, rows in zip(commits[1:], found[1:], strict=True)}  # fmt: skip
    tolerance = given.tolerance / 100.0
    columns = [
        {row.case: compare(row, rows.get(row.case), same_run=same, tolerance=tolerance)
         for row in found[0]}
        for versions_of, same in ((others, True), (stored(), False))
        for rows in versions_of.values()
    ]  # fmt: skip
    names = [*others, *stored()]
    _print_cases(found[0], names, columns)
    _print_means(names, columns)
    worse = _worse(cases, found[0], measured, names, columns, best)
    print("\nworse:" if worse else "\nnothing is slower or longer")
    print("".join(f"  {line}\n" for line in worse), end="")
    for name, rows in zip((given.store, given.store_against), found, strict=False):
        if name:
            print(f"written: {write_rows(name, rows)}")
    return worse


def _print_cases(
    rows: Sequence[Row], names: Sequence[str], columns: Sequence[Mapping[str, Comparison]]
) -> None:
    cells: list[list[object]] = []
    for row in rows:
        gap = f"{row.gap_mean:.4f}" if row.gap_mean >= 5e-5 else "0"
        relative = row.wall.seconds / row.wall_calibration.seconds
        noise = f"{100 * row.wall.noise:.0f}, {100 * row.cpu.noise:.0f}"
        cell = [row.case, row.count, f"{1000 * row.wall.seconds:.4g}", f"{relative:.3g}"]
        cells.append([*cell, noise, gap, *(_speeds(column[row.case]) for column in columns)])
    header = ["case", "count", "ms", "calibrations", "noise %", "gap %"]
    print_table([*header, *(f"time / {name}" for name in names)], cells)
    print("Two numbers: by the clock, and of the processor. !: worse.")


def _speeds(found: Comparison) -> str:
    if found.wall is None or found.cpu is None:
        return "-"
    return f"{found.wall:.2f}, {found.cpu:.2f}{' !' if found.faults else ''}"


def _print_means(names: Sequence[str], columns: Sequence[Mapping[str, Comparison]]) -> None:
    for name, column in zip(names, columns, strict=True):
        pairs = [(found.wall, found.cpu) for found in column.values() if found.wall is not None]
        if pairs:
            wall, cpu = np.exp(np.log(pairs).mean(axis=0))
            print(f"time / {name}, geometric mean of {len(pairs)}: {wall:.3f}, {cpu:.3f}")


def _worse(
    cases: Sequence[Case],
    rows: Sequence[Row],
    measured: Measured,
    names: Sequence[str],
    columns: Sequence[Mapping[str, Comparison]],
    best: Mapping[str, Any],
) -> list[str]:
    """Return in a sentence each what is worse than in any other version, or plainly wrong."""
    by_name = {row.case: row for row in rows}
    lines = []
    for case in cases:
        row = by_name.get(case.name)
        if row is None:
            lines.append(f"{case.name}: {measured.samples[0][case.name].error}")
            continue
        if (wrong := impossible(row, case, best)) is not None:
            lines.append(f"{case.name}: {wrong}")
        for name, column in zip(names, columns, strict=True):
            lines += [f"{case.name}: {fault} ({name})" for fault in column[case.name].faults]
    return lines


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _rounds(text: str) -> int:
    number = int(text)
    if number < 2:
        raise argparse.ArgumentTypeError("at least 2: the noise is seen between rounds")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", action="append", default=[], metavar="WORDS", help="cases with all these words")
    add("--rounds", type=_rounds, default=5, help="how often everything is solved; default 5")
    add("--against", type=Path, action="append", default=[], metavar="CHECKOUT")
    add("--checkout", type=Path, default=ROOT, help="measure this one; default: the script's own")
    add("--tolerance", type=float, default=10.0, help="percent that are not slower; default 10")
    add("--store", metavar="NAME", help="keep the rows in benchmarks/stored/quick/NAME.jsonl")
    add("--store-against", metavar="NAME", help="the same for the first other checkout")
    add("--strict", action="store_true", help="exit with 1 when anything is worse")
    add("--prove", action="store_true", help="solve all instances to proof and store the lengths")
    return parser


if __name__ == "__main__":
    sys.exit(main())
