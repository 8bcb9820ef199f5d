"""The processor's columns of Table 2 for the distilled models: what is not stored yet, measured.

Run on a machine that does nothing else, in a clean checkout (about five minutes):

    python -m benchmarks.reproduction.cpu_times
    python -m benchmarks.reproduction.cpu_times --list

Rows are added to those that come with the package when all of them are made. Gaps in the tables
are those of far more instances, from the accelerator: these few are for the times.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from deepsteiner.benchmark.provenance import commit
from deepsteiner.benchmark.rows import STORED, append_row, stored_rows
from deepsteiner.benchmark.runner import Bench, Task, run_tasks
from deepsteiner.benchmark.tables.plans import paper_plan
from deepsteiner.benchmark.tables.results import Results

# By the milliseconds that an instance may take: instances in a batch, and one by one.
CHEAP, COSTLY, DEAR = (60, 20), (20, 10), (5, 5)


def missing() -> list[Task]:
    """Return the rows of Table 2 that have no time on a processor yet."""
    found = Results(stored_rows())
    learned = [task for task in paper_plan() if {"learned", "table2"} <= set(task.group.split())]
    lacking = [
        task
        for task in learned
        if found.timing(task.dataset.label, task.method.text, cpu=True) is None
        and found.timing(task.dataset.label, task.method.text, cpu=False) is not None
    ]
    return [sized(task) for task in lacking]


def sized(task: Task) -> Task:
    """Return a task on as few instances as its method's costs allow."""
    options = task.method.options
    costly = "augment" in options or "decode" in options
    wide = options["model"].startswith("knn")
    count, single = DEAR if costly and wide else COSTLY if costly or wide else CHEAP
    return replace(task, count=count, single=single)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="say what is missing, measure nothing")
    given = parser.parse_args()
    tasks = missing()
    for task in tasks if given.list else ():
        print(f"{task.label}: {task.count} in a batch, {task.single} one by one")
    if given.list or not tasks:
        print(f"{len(tasks)} rows are missing")
        return
    if (commit() or "+").endswith("+"):
        parser.error("the checkout has changes: rows must come from a commit")
    with tempfile.TemporaryDirectory() as folder:
        rows = run_tasks(
            tasks,
            Bench(),
            Path(folder) / "rows.jsonl",
            on_row=lambda task, row: print(task.label, row and row.batch_ms, flush=True),
        )
    for row in rows:
        append_row(STORED / "cpu.jsonl", row)
    print(f"{len(rows)} rows added to {STORED / 'cpu.jsonl'}")


if __name__ == "__main__":
    main()
