"""Records: the best tree and the best bound of every instance, and the runs that found them."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import ROOT
from records.instances import family

from deepsteiner.benchmark.rows import read_records
from deepsteiner.io import atomic_write

# Lengths and bounds that differ by less than this share of them are equal: proofs hold to no more.
ROUNDING = 1e-9
# Trees of more points than this are not kept: 20,000 take 0.7 MB.
LARGEST_TREE = 20_000


class RecordsError(Exception):
    """Rows that contradict each other, or a tree that is missing."""


@dataclass(frozen=True)
class Record:
    """What one run found for one instance.

    `sha256` is the hash of the terminals that `deepsteiner.io.terminal_hash` defines, `published`
    the lower and upper bound in print. `limit` and `seconds` are those of the run, `peak_gib` is
    the peak memory of its process, the peaks of an engine's worker processes here added, and
    `calibration` the seconds of the calibration beside it.
    """

    name: str
    n: int
    sha256: str
    published: list[float] | None
    length: float
    bound: float | None
    status: str
    seconds: float
    limit: float | None
    threads: int
    method: str
    options: dict[str, Any]
    peak_gib: float | None
    calibration: float
    commit: str | None
    machine: str
    versions: dict[str, str]
    date: str

    @property
    def proven(self) -> bool:
        """Whether this run proved its tree the shortest."""
        return self.status == "optimal"

    @property
    def settled(self) -> bool:
        """Whether the optimum was published before."""
        return self.published is not None and not above(self.published[1], self.published[0])

    @property
    def wants_tree(self) -> bool:
        """Whether the tree is kept: of a public set, news, and not too large."""
        public = family(self.name) != "uniform"
        return public and not self.settled and self.n <= LARGEST_TREE


def above(first: float, second: float) -> bool:
    """Return whether a length is greater than another by more than rounding."""
    return first > second * (1.0 + ROUNDING)


def improves(new: Record, old: Record) -> bool:
    """Return whether a run is better: proven, then shorter, a higher bound, a faster proof."""
    if new.proven != old.proven:
        return new.proven
    if above(new.length, old.length) or above(old.length, new.length):
        return new.length < old.length
    bounds = new.bound or 0.0, old.bound or 0.0
    if above(*bounds) or above(*bounds[::-1]):
        return bounds[0] > bounds[1]
    return new.proven and new.seconds < old.seconds


@dataclass(frozen=True)
class Standing:
    """What is known of an instance: the run with the best tree, and the one with the best bound."""

    tree: Record
    bounding: Record

    @classmethod
    def of(cls, records: Iterable[Record]) -> Standing:
        """Return what the runs of one instance say together; refuse contradictions."""
        first, *others = records
        tree = bounding = first
        shortest = first
        for record in others:
            if record.sha256 != first.sha256:
                raise RecordsError(f"{first.name}: the rows are about different points")
            tree = record if improves(record, tree) else tree
            shortest = min(shortest, record, key=lambda one: one.length)
            bounding = max(bounding, record, key=lambda one: one.bound or 0.0)
        if above(bounding.bound or 0.0, shortest.length):
            raise RecordsError(
                f"{first.name}: the bound {bounding.bound!r} (commit {bounding.commit}) exceeds "
                f"the length {shortest.length!r} (commit {shortest.commit}); one of them is wrong"
            )
        higher = above(bounding.bound or 0.0, tree.bound or 0.0)
        return cls(tree, bounding if higher else tree)

    @property
    def bound(self) -> float:
        """The best bound, 0 where there is none."""
        return self.bounding.bound or 0.0

    @property
    def proven(self) -> bool:
        """Whether length and bound meet, in one run or between two."""
        return self.tree.proven or not above(self.tree.length, self.bound)

    @property
    def gap(self) -> float:
        """(length - bound) / bound, infinite without a bound."""
        return self.tree.length / self.bound - 1.0 if self.bound else float("inf")

    @property
    def runs(self) -> tuple[Record, ...]:
        """The one or two runs behind it."""
        return (self.tree,) if self.bounding is self.tree else (self.tree, self.bounding)


@dataclass(frozen=True)
class Store:
    """Where records are kept: a file of rows, and a folder of trees without their terminals."""

    rows: Path
    trees: Path

    def standings(self) -> dict[str, Standing]:
        """Return what is known of every instance."""
        found: dict[str, list[Record]] = {}
        for record in read_records(Record, self.rows) if self.rows.exists() else []:
            found.setdefault(record.name, []).append(record)
        return {name: Standing.of(records) for name, records in found.items()}

    def tree(self, name: str) -> Path:
        """Return where the tree of an instance is, or would be."""
        return self.trees / f"{name}.json"

    def put(self, record: Record, save: Callable[[Path], None]) -> str:
        """Keep a run where it is better, with its tree by `save`; say in a word what is better."""
        standings = self.standings()
        before = standings.get(record.name)
        after = Standing.of((*before.runs, record) if before else (record,))
        if before == after:
            return ""
        if after.tree is record and record.wants_tree:
            self.trees.mkdir(parents=True, exist_ok=True)
            save(self.tree(record.name))
        standings[record.name] = after
        self._write(standings)
        return _merit(before, record) if after.tree is record else "bound"

    def add(self, other: Store) -> dict[str, str]:
        """Take over what another store has and is better; return in what, by name."""
        merits = {}
        for name, standing in other.standings().items():
            words = [self.put(run, _copy(other.tree(name))) for run in standing.runs]
            merits[name] = ", ".join(filter(None, words))
        return {name: words for name, words in merits.items() if words}

    def _write(self, standings: dict[str, Standing]) -> None:
        runs = [run for standing in standings.values() for run in standing.runs]
        runs.sort(key=lambda run: (run.n, run.name))
        self.rows.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(self.rows) as stream:
            stream.writelines(json.dumps(dataclasses.asdict(run)) + "\n" for run in runs)


STORED = Store(ROOT / "benchmarks" / "stored" / "records.jsonl", ROOT / "docs" / "best-known")


def in_folder(folder: Path) -> Store:
    """Return the store that has rows and trees in one folder."""
    return Store(folder / "records.jsonl", folder)


def _merit(before: Standing | None, new: Record) -> str:
    """Return in a word why a run has taken the place of the best one so far."""
    if before is None:
        return "first"
    if new.proven:
        return "faster" if before.tree.proven else "proof"
    return "shorter" if above(before.tree.length, new.length) else "bound"


def _copy(source: Path) -> Callable[[Path], None]:
    def copy(target: Path) -> None:
        if not source.exists():
            raise RecordsError(f"{source} is missing: the tree of a record")
        shutil.copyfile(source, target)

    return copy
