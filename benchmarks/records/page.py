"""The page of records, docs/best-known.md, made from the stored rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from statistics import mean

from records.instances import family
from records.rows import LARGEST_TREE, ROUNDING, Record, Standing, above

from deepsteiner.benchmark.readme import markdown

INTRODUCTION = f"""# Best known trees

Made by `python -m benchmarks.records write` from `benchmarks/stored/records.jsonl`; a test checks
that it is up to date. `python -m benchmarks.records run NAME ... --limit SECONDS --threads N`
solves instances and keeps what is better: a proof, then a shorter tree, then a higher lower bound,
then a faster proof. What a run with a limit found is not all that a longer one can find.

- *length* is that of our tree and *lower bound* what no tree can be shorter than; *gap* is their
  difference over the bound. A tree is *proven* to be the shortest when they agree to {ROUNDING:g}.
  Tree and bound may come from two runs, which then stand side by side (tree / bound).
- *published* are the best lower and upper bound in print as of 2015, in the table of the EFST class
  of Steiner tree instances; where they are equal the optimum was known, and *none* says that the
  table does not have the set. OR-Library's optima and those of TSPLIB's sets up to 1,379 points
  were computed again with GeoSteiner 5.3.
- *seconds* are those of the run, by the clock, on as many *threads*; *commit* is that of the code,
  with a plus where it had changes that were not committed.
- Points that a set holds twice count once.
"""

VERIFYING = f"""## Checking a tree

Every public set without a published optimum and with at most {LARGEST_TREE:,} points has its best
tree in `docs/best-known/` as edges and Steiner points. The terminals are not ours to pass
on: with a file of them, in any format that `deepsteiner solve` reads,

```
deepsteiner verify docs/best-known/p654.json --points p654.tsp --strict
```

compares their hash with that of the tree, then checks the tree, its length and every angle. Where
a file holds many sets, `--key NAME` picks one. That a lower bound is valid takes a run of the
solver. In Python `Solution.load("docs/best-known/p654.json", points=ds.load_points("p654.tsp"))`
is the tree on these points.

The hash is the SHA-256 of the distinct terminals, sorted by x and then by y, written as x, y, x, y,
... in float64, least byte first, -0.0 as 0.0. The edges number the terminals in the same order,
from 0, and the Steiner points after them. So the order of the points in the file does not matter,
nor do points that it holds twice. `Solution.save(path, terminals=False)` and `deepsteiner solve
POINTS --without-terminals -O tree.json` write such files.
"""

OPEN = ["set", "points", "published", "length", "lower bound", "gap", "new", "by", "seconds",
        "threads", "commit", "tree"]  # fmt: skip
SETTLED = ["set", "points", "published", "length", "difference", "status", "by", "seconds",
           "threads", "commit"]  # fmt: skip
GROUPED = ["points", "instances", "proven", "largest difference", "mean seconds", "longest",
           "threads", "commit"]  # fmt: skip


def page(standings: Iterable[Standing], trees: Collection[str]) -> str:
    """Return the page; `trees` names the instances whose tree is kept."""
    ordered = sorted(standings, key=lambda one: (one.tree.n, one.tree.name))
    families = {
        name: [one for one in ordered if family(one.tree.name) == name]
        for name in ("tsplib", "estein", "uniform")
    }
    public = [*families["tsplib"], *families["estein"]]
    news = [one for one in public if not one.tree.settled]
    settled = [one for one in families["tsplib"] if one.tree.settled]
    grouped = [one for one in families["estein"] if one.tree.settled]
    parts = [
        INTRODUCTION,
        "## Sets without a published optimum\n",
        _table(OPEN, [_open_line(one, trees) for one in news]),
        VERIFYING,
        "## TSPLIB's sets with a published optimum\n",
        f"{_agreement(settled)}\n",
        _table(SETTLED, [_settled_line(one) for one in settled]),
        "## OR-Library's sets with a known optimum\n",
        f"{_agreement(grouped)} Sets of one size stand in one line.\n",
        _table(GROUPED, _group_lines(grouped)),
        "## Uniform points of our own\n",
        "`uniformN-SEED` is `numpy.random.default_rng(SEED).random((N, 2))`.\n",
        _table(OPEN, [_open_line(one, trees) for one in families["uniform"]]),
        "## Where the runs were made\n",
        *_provenance(ordered),
    ]
    return "\n".join(parts)


def news_of(one: Standing) -> str:
    """Return what is known now and was not in print, in a few words."""
    if (published := one.tree.published) is None:
        return "proven, none published" if one.proven else "none published"
    low, high = published
    if above(low, one.tree.length) or above(one.bound, high):
        return "**contradicts what is published**"
    if one.tree.settled:
        return ""
    if one.proven:
        return "proven"
    shorter, higher = above(high, one.tree.length), above(one.bound, low)
    words = [word for word, true in (("shorter tree", shorter), ("higher bound", higher)) if true]
    return ", ".join([*words, "bracket narrowed"]) if words else ""


def difference(one: Standing) -> float:
    """Return how much longer, relatively, our tree is than the published optimum."""
    assert one.tree.published is not None
    return one.tree.length / one.tree.published[1] - 1.0


def _open_line(one: Standing, trees: Collection[str]) -> list[str]:
    name = one.tree.name
    published = (
        "none" if one.tree.published is None else " to ".join(map(_length, one.tree.published))
    )
    return [
        name, f"{one.tree.n:,}", published, _length(one.tree.length),
        _length(one.bound) if one.bound else "none", _gap(one), news_of(one), *_run_cells(one),
        f"[{name}](best-known/{name}.json)" if name in trees else "",
    ]  # fmt: skip


def _settled_line(one: Standing) -> list[str]:
    assert one.tree.published is not None
    status = "proven" if one.proven else f"gap {_gap(one)}"
    return [
        one.tree.name, f"{one.tree.n:,}", _length(one.tree.published[1]), _length(one.tree.length),
        "0" if _equal(one) else _percent(difference(one)), news_of(one) or status, *_run_cells(one),
    ]  # fmt: skip


def _group_lines(standings: Sequence[Standing]) -> list[list[str]]:
    lines = []
    for n in sorted({one.tree.n for one in standings}):
        members = [one for one in standings if one.tree.n == n]
        seconds = [one.tree.seconds for one in members]
        largest = max(members, key=difference)
        lines.append([
            f"{n:,}", str(len(members)), str(sum(one.proven for one in members)),
            "0" if _equal(largest) else _percent(difference(largest)), _seconds(mean(seconds)),
            _seconds(max(seconds)), _all(members, lambda run: run.threads),
            _all(members, lambda run: run.commit),
        ])  # fmt: skip
    return lines


def _agreement(standings: Sequence[Standing]) -> str:
    """Return the sentence that holds our proofs against the published ones."""
    proven = [one for one in standings if one.proven]
    if not proven:
        return "None is proven yet."
    worst = max(abs(difference(one)) for one in proven)
    said = f"{len(proven)} of {len(standings)} are proven; their lengths agree with the published"
    return f"{said} optima to {worst:.0e}."


def _run_cells(one: Standing) -> list[str]:
    """Return who found it, in which time, on how many threads, by which code."""
    cells = [
        (_by(run), _seconds(run.seconds), str(run.threads), run.commit or "") for run in one.runs
    ]
    columns = zip(*cells, strict=True)
    return [values[0] if len(set(values)) == 1 else " / ".join(values) for values in columns]


def _by(run: Record) -> str:
    options = (f"{name}={value}" for name, value in run.options.items())
    return ", ".join([f"`{run.method}`", *options])


def _all(standings: Sequence[Standing], value: Callable[[Record], object]) -> str:
    return ", ".join(sorted({str(value(run)) for one in standings for run in one.runs}))


def _provenance(standings: Sequence[Standing]) -> list[str]:
    """Return a line for every machine with its versions: commits and dates."""
    places: dict[str, list[Record]] = {}
    for run in (run for one in standings for run in one.runs):
        packages = ", ".join(f"{name} {number}" for name, number in run.versions.items())
        places.setdefault(f"{run.machine}; {packages}", []).append(run)
    lines = []
    for place, runs in sorted(places.items()):
        commits = ", ".join(sorted({run.commit or "unknown" for run in runs}))
        dates = sorted({run.date for run in runs})
        when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        times = sorted(1000 * run.calibration for run in runs)
        took = (
            f"calibration {times[0]:.0f} to {times[-1]:.0f} ms ([what that is](results/index.md))"
        )
        lines.append(f"- {place}; commit {commits}; {when}; {took}\n")
    return lines


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return (markdown(header, lines) if lines else "None yet.") + "\n"


def _equal(one: Standing) -> bool:
    return abs(difference(one)) <= ROUNDING


def _gap(one: Standing) -> str:
    return "0" if one.proven else _percent(one.gap) if one.bound else "unknown"


def _length(value: float) -> str:
    return f"{value:.10g}"


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %"


def _seconds(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
