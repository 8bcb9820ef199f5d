"""`python -m deepsteiner.benchmark.readme`: the README's table, made from stored rows.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; what is there is replaced.
`--check` changes nothing and fails where the README says something else than the rows. The pages of
results of the documentation take their tables from here, too, while they are built.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import DeepSteinerError, FormatError
from ..io.atomic import atomic_write
from ..io.sources import read_source
from .provenance import ROOT
from .rows import read_objects, stored_rows
from .tables.entries import CRITERIA, PAPER_SETS, RECIPE, Entry, policy, recipe
from .tables.numbers import significant
from .tables.paper import TABLE1, TABLE3
from .tables.results import Results
from .tables.table import Cell, gap_cells, most_common
from .timings import GEOSTEINER_MS, Timing, stored_timings

# The datasets of the gaps, and how each is headed.
SETS = {
    **{name: f"{name}, ours" for name in PAPER_SETS},
    "DEG": "DEG, theirs",
    "uniform-100": "uniform, n = 100",
}
# Those of the README, and its methods: of the others the documentation tells.
BRIEF = {"D1": "10 points", "D2": "20 points", "uniform-100": "100 points"}
TIMED = "uniform-100"
SHORT = {"mst", "smith", "greedy", "local", "neural", "exact"}
BLOCK = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)

# Points of the yardstick that are not uniform, and how they are called.
KINDS = {
    "clustered 100": "100 in 10 clusters",
    "board 300": "300 holes of a board",
    "lattice 256": "16 × 16 lattice",
    "jittered 64": "8 × 8, jittered",
}
METHODS = [
    *(Entry(f"`{name}`", name) for name in ("mst", "smith", "greedy")),
    *(
        Entry(f"`{name}`{said}", f"{name}{options}")
        for name in ("local", "neural")
        for said, options in ((", fast", ":effort=fast"), ("", ""))
    ),
    Entry("`exact`", "exact"),
    Entry("`policy`, Algorithm 1", policy("mst-{home}")),
    Entry("`policy`, eight images, refined", policy("mst-{home}", "x8 refined")),
    *(Entry(f"{RECIPE}: {word}", recipe("mst", word)) for word in CRITERIA[:2]),
]


def blocks() -> dict[str, str]:
    """Return every block of the README by name."""
    return {"results": results_block(Results(stored_rows()))}


def site_blocks() -> dict[str, str]:
    """Return every table of the documentation's pages of results by name."""
    results, timings = Results(stored_rows()), stored_timings()
    return {
        "exact": exact_block(timings),
        "gaps": gaps_block(results),
        "kinds": kinds_block(newest_quick()),
        "scale": scale_block(timings),
    }


def results_block(results: Results) -> str:
    """Return the gaps of a few methods, and how long one instance takes each of them."""
    shown = [entry for entry in METHODS if entry.method in SHORT]
    lines = [(entry, gap_cells(results, entry.method, BRIEF)) for entry in shown]
    columns = zip(*(cells for _, cells in lines), strict=True)
    usual = [most_common([cell.count for cell in column if cell.count]) for column in columns]
    texts = [
        [entry.label, *map(_percent, cells, usual), _single(results, entry.method)]
        for entry, cells in lines
    ]
    heads = [f"{name} ({n:,})" for name, n in zip(BRIEF.values(), usual, strict=True)]
    return markdown(["mean gap, % (instances)", *heads, f"ms, {BRIEF[TIMED]}"], texts)


def _single(results: Results, method: str) -> str:
    """Return the milliseconds that a solve of one instance takes."""
    row = results.timing(TIMED, method)
    return "" if row is None or row.single_ms is None else _ms(row.single_ms)


def exact_block(timings: Sequence[Timing]) -> str:
    """Return the times of `exact` by size, beside GeoSteiner's, and its largest instance."""
    lines = []
    for label, call in (("one call each", "solve"), ("in a batch", "solve_many")):
        wanted = {"method": "exact", "dataset": "uniform", "call": call}
        found = [_last(timings, n=n, **wanted) for n in GEOSTEINER_MS]
        lines.append([f"`exact`, {label}", *(_ms(one.scaled_ms) if one else "" for one in found)])
    lines.append(["GeoSteiner 5.3, in one process", *map(_ms, GEOSTEINER_MS.values())])
    text = markdown(["ms an instance, n =", *map(str, GEOSTEINER_MS)], lines)
    large = _last(timings, method="exact", dataset="OR-Library", n=10_000)
    if large is None or large.length is None or large.peak_gib is None:
        return text
    cores = "one core" if large.threads == 1 else f"{large.threads} cores"
    return (
        f"{text}\n\nOR-Library's instance of 10,000 points is solved to proof: "
        f"{large.length:.6f}, on {cores} in {large.seconds:.0f} seconds and "
        f"{large.peak_gib:.1f} GiB "
        "(`python -m benchmarks.exact.large 10000`)."
    )


def _last(timings: Iterable[Timing], **wanted: Any) -> Timing | None:
    """Return the last row with these values, if any."""
    fitting = [row for row in timings if wanted.items() <= vars(row).items()]
    return fitting[-1] if fitting else None


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def gaps_block(results: Results) -> str:
    """Return the mean gaps of all methods, and what the paper prints."""
    lines = [(entry.label, gap_cells(results, entry.method, SETS)) for entry in METHODS]
    columns = zip(*(cells for _, cells in lines), strict=True)
    usual = [most_common([cell.count for cell in column if cell.count]) for column in columns]
    texts = [[label, *map(_percent, cells, usual)] for label, cells in lines]
    texts.append(["the paper's best policy, on its own draws", *_papers_best(), ""])
    heads = [f"{name} ({n:,})" for name, n in zip(SETS.values(), usual, strict=True)]
    return markdown(["mean gap, % (instances)", *heads], texts)


def _percent(cell: Cell, usual: int) -> str:
    """Return a gap, with its number of instances where that is not the column's."""
    if cell.value is None:
        return ""
    text = significant(cell.value, 3 if cell.value >= 0.1 else 2)
    return text if cell.count == usual else f"{text} ({cell.count:,})"


def _papers_best() -> list[str]:
    """Return the lowest gap of any policy that the paper prints, set by set."""
    policies = [
        cells for name, cells in TABLE1.items() if name.endswith(("selection", "increment"))
    ]
    columns = [*zip(*policies, strict=True), [TABLE3[home][3] for home in PAPER_SETS]]
    return [significant(min(filter(None, column))) for column in columns]


def newest_quick() -> dict[str, dict[str, Any]]:
    """Return the newest stored rows of the yardstick (`make bench-quick`) by case."""
    folder = ROOT / "benchmarks" / "stored" / "quick"
    files = [[row for _, row in read_objects(path)] for path in folder.glob("*.jsonl")]
    newest = max(files, key=lambda rows: max(row["date"] for row in rows), default=[])
    return {row["case"]: row for row in newest}


def kinds_block(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the gaps of `local` and `neural` on points that are not uniform."""
    lines = []
    for method in ("local", "neural"):
        found = [rows[f"{method} default single {kind}"] for kind in KINDS]
        gaps = [[significant(row[key], 2) for key in ("gap_mean", "gap_worst")] for row in found]
        lines.append([f"`{method}`", *(f"{mean} ({worst})" for mean, worst in gaps)])
    headings = [
        f"{words} ({rows[f'local default single {kind}']['count']})"
        for kind, words in KINDS.items()
    ]
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
    if len({(row.n, row.seed) for row in large}) > len({row.n for row in large}):
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
        text = read_source(given.path).text()
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
