"""`python -m deepsteiner.benchmark.readme`: the README's tables, made from stored rows.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; what is there is replaced.
`--check` changes nothing and fails where the README says something else than the rows.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import DeepSteinerError, FormatError
from ..io.atomic import atomic_write
from .provenance import ROOT
from .rows import Row, stored_rows
from .tables.numbers import significant
from .tables.paper import TABLE1, TABLE3
from .tables.plans import PAPER_SETS
from .tables.results import Results
from .tables.table import Cell, Line, gap_cell
from .tables.table_main import policy_options, recipe_model
from .timings import GEOSTEINER_MS, Timing, find, stored_timings

SETS = (*PAPER_SETS, "DEG", "uniform-100")
HEADINGS = ("D1, ours", "D2, ours", "D3, ours", "DEG, theirs", "uniform, n = 100")
BLOCK = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)

# Points of the yardstick that are not uniform, and how they are called.
KINDS = {
    "clustered 100": "100 in 10 clusters",
    "board 300": "300 holes of a board",
    "lattice 256": "16 × 16 lattice",
    "jittered 64": "8 × 8, jittered",
}
# What is printed, the method, its options.
METHODS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("`mst`", "mst", {}),
    ("`smith`", "smith", {}),
    ("`greedy`", "greedy", {}),
    ("`local`, fast", "local", {"effort": "fast"}),
    ("`local`", "local", {}),
    ("`neural`, fast", "neural", {"effort": "fast"}),
    ("`neural`", "neural", {}),
    ("`exact`", "exact", {}),
)


def blocks() -> dict[str, str]:
    """Return every block of the README by name."""
    results, timings = Results(stored_rows()), stored_timings()
    return {
        "exact": exact_block(timings),
        "gaps": gaps_block(results),
        "kinds": kinds_block(newest_quick()),
        "scale": scale_block(timings),
    }


def exact_block(timings: Sequence[Timing]) -> str:
    """Return the times of `exact` by size, beside GeoSteiner's, and its largest instance."""
    sizes = list(GEOSTEINER_MS)
    rows = list(timings)

    def times(call: str) -> list[str]:
        wanted = {"method": "exact", "dataset": "uniform", "call": call}
        found = [find(rows, n=n, **wanted) for n in sizes]
        return [_ms(one.scaled_ms) if one else "" for one in found]

    lines = [
        ["`exact`, one call each", *times("solve")],
        ["`exact`, in a batch", *times("solve_many")],
        ["GeoSteiner 5.3, in one process", *map(_ms, GEOSTEINER_MS.values())],
    ]
    text = markdown(["ms an instance, n =", *map(str, sizes)], lines)
    large = find(rows, method="exact", dataset="OR-Library", n=10_000)
    if large is None or large.length is None or large.peak_gib is None:
        return text
    return (
        f"{text}\n\nOR-Library's instance of 10,000 points is solved to proof: "
        f"{large.length:.6f}, in {large.seconds:.0f} seconds and {large.peak_gib:.1f} GiB "
        "(`python -m benchmarks.exact.large 10000`)."
    )


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def gaps_block(results: Results) -> str:
    """Return the mean gaps of all methods, and what the paper prints."""
    lines = [_line(results, label, [(method, options)] * 5) for label, method, options in METHODS]
    for label, use in (("Algorithm 1", "plain"), ("eight images, refined", "x8 refined")):
        models = [("policy", policy_options("mst", home, use)) for home in _homes()]
        lines.append(_line(results, f"`policy`, {label}", models))
    for words, criterion in (
        ("First-selection", "first_selection"),
        ("First-increment", "first_increment"),
    ):
        names = [recipe_model("mst", criterion, home) for home in _homes()]
        models = [("policy", {"model": name, "normalize": False}) for name in names]
        label = f"after the paper's recipe, with our changes: {words}"
        lines.append(_line(results, label, models))
    usual = [_most_common([line.cells[k].count for line in lines]) for k in range(len(SETS))]
    cells = [
        [line.label, *(_percent(c, n) for c, n in zip(line.cells, usual, strict=True))]
        for line in lines
    ]
    cells.append(["the paper's best policy, on its own draws", *_papers_best(), ""])
    heads = [f"{name} ({n:,})" for name, n in zip(HEADINGS, usual, strict=True)]
    return markdown(["mean gap, % (instances)", *heads], cells)


def _most_common(counts: Sequence[int | None]) -> int:
    known = [count for count in counts if count is not None]
    return max(known, key=lambda count: (known.count(count), count))


def _homes() -> tuple[str, ...]:
    """Return whose model is used on each set: its own where there is one."""
    return (*PAPER_SETS, "D1", "D1")


def _line(results: Results, label: str, uses: Sequence[tuple[str, dict[str, Any]]]) -> Line:
    rows: list[Row | None] = [
        results.gap(dataset, method, options)
        for dataset, (method, options) in zip(SETS, uses, strict=True)
    ]
    return Line(label, tuple(gap_cell(results, row) for row in rows))


def _percent(cell: Cell, usual: int) -> str:
    """Return a gap, with its number of instances where that is not the column's."""
    if cell.state != "value" or cell.value is None:
        return ""
    text = significant(cell.value, 3 if cell.value >= 0.1 else 2)
    return text if cell.count == usual else f"{text} ({cell.count:,})"


def _papers_best() -> list[str]:
    """Return the lowest gap of any policy that the paper prints, set by set."""
    policies = [
        cells for name, cells in TABLE1.items() if name.endswith(("selection", "increment"))
    ]
    columns = [[cells[k].value for cells in policies] for k in range(3)]
    columns.append([TABLE3[home][3].value for home in PAPER_SETS])
    return [significant(min(v for v in column if v is not None)) for column in columns]


def newest_quick() -> dict[str, dict[str, Any]]:
    """Return the newest stored rows of the yardstick (`make bench-quick`) by case."""
    files = [_records(path) for path in (ROOT / "benchmarks" / "stored" / "quick").glob("*.jsonl")]
    newest = max(files, key=lambda rows: max(row["date"] for row in rows), default=[])
    return {row["case"]: row for row in newest}


def _records(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None


def kinds_block(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the gaps of `local` and `neural` on points that are not uniform."""
    lines = []
    for method in ("local", "neural"):
        found = [rows[f"{method} default single {kind}"] for kind in KINDS]
        cells = [
            f"{significant(r['gap_mean'], 2)} ({significant(r['gap_worst'], 2)})" for r in found
        ]
        lines.append([f"`{method}`", *cells])
    counts = [rows[f"local default single {kind}"]["count"] for kind in KINDS]
    headings = [f"{words} ({n})" for words, n in zip(KINDS.values(), counts, strict=True)]
    return markdown(["mean gap (worst), %; points (instances)", *headings], lines)


def scale_block(timings: Sequence[Timing]) -> str:
    """Return savings, times and memory of large instances, and rates of small ones."""
    large = [row for row in timings if row.saving is not None]
    large.sort(key=lambda row: (row.n, row.method, row.threads, row.seconds))
    lines = [
        [f"{row.n:,}", f"`{row.method}`, {row.options.get('effort', 'default')}", str(row.threads),
         f"{row.saving:.3f} %", f"{row.seconds:.{0 if row.seconds >= 10 else 1}f} s",
         f"{row.peak_gib:.1f} GiB"]
        for row in large
    ]  # fmt: skip
    header = ["points", "method", "cores", "shorter than the spanning tree", "time", "memory"]
    notes = _rates([row for row in timings if row.call == "solve_many" and row.threads > 1])
    if any(len(_seeds(large, n)) > 1 for n in {row.n for row in large}):
        notes.append("`local` and `neural` were timed on different draws.")
    return "\n\n".join(filter(None, (markdown(header, lines), " ".join(notes))))


def _rates(rows: Sequence[Timing]) -> list[str]:
    """Return a sentence for every way in which batches were solved."""
    ways: dict[tuple[str, str, int], list[str]] = {}
    for row in sorted(rows, key=lambda row: row.n):
        way = (row.method, row.options["effort"], row.threads)
        ways.setdefault(way, []).append(f"{significant(1 / row.seconds)} instances of {row.n}")
    return [
        f"In batches on {threads} cores `{method}`, {effort}, solves {' or '.join(said)} points a "
        "second."
        for (method, effort, threads), said in ways.items()
    ]


def _seeds(rows: Sequence[Timing], n: int) -> set[int | None]:
    return {row.seed for row in rows if row.n == n}


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table, unpadded: the README is read rendered."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def rewritten(text: str, made: dict[str, str]) -> str:
    """Return the README with every block replaced; each must be there once, and no other."""
    found = [match[1] for match in re.finditer(r"<!-- table: (\S+) -->", text)]
    if sorted(found) != sorted(made):
        raise FormatError(
            f"the README must have the tables {', '.join(sorted(made))}, each once, "
            f"got {', '.join(sorted(found)) or 'none'}"
        )
    return BLOCK.sub(lambda match: f"{match[1]}{made[match[2]]}\n{match[3]}", text)


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check the README; errors are one sentence and exit code 2."""
    parser = argparse.ArgumentParser(prog="python -m deepsteiner.benchmark.readme")
    parser.add_argument("path", nargs="?", type=Path, default=ROOT / "README.md")
    parser.add_argument("--check", action="store_true", help="change nothing; 1 where it differs")
    given = parser.parse_args(arguments)
    try:
        try:
            text = given.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise FormatError(f"{given.path} cannot be read: {error}") from None
        made = rewritten(text, blocks())
        if given.check:
            return int(made != text)
        with atomic_write(given.path) as stream:
            stream.write(made)
    except DeepSteinerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
