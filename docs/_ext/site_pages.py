"""Pages that are made whole before the others are read: git does not hold them.

reference/command-line.md   from the command line's own help
research/models.md          from the cards of the shipped models
results/paper-tables.md     the paper's tables beside ours, from stored rows
results/quick.md            the yardstick's rows, version by version
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parent


def make_pages(app: Sphinx) -> None:
    """Write every page whose text has changed."""
    for name, make in PAGES.items():
        path, text = HERE / name, make()
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def command_line() -> str:
    """Return the reference of the command line."""
    import typer

    from deepsteiner.cli.app import app

    group: Any = typer.main.get_command(app)
    parts = [
        "# Command line\n",
        "Made from the commands' own help. `deepsteiner COMMAND --help` says the same in a "
        "terminal; `-` stands for standard input or output wherever a file is named.\n",
        "| exit code | meaning |\n|---|---|\n| 0 | done |\n| 1 | standard output was lost |\n"
        "| 2 | bad input; one sentence on standard error says what |\n"
        "| 3 | `--prove` was given, and the time limit came before the proof |\n"
        "| 70 | a fault of deepsteiner's own |\n| 130 | Ctrl-C |\n",
    ]
    for name, command in group.commands.items():
        parts.append(f"## {name}\n")
        parts.append(help_text(command.help or ""))
        parts.append(arguments_table(command))
    return "\n".join(parts) + "\n"


def help_text(text: str) -> str:
    """Return a command's help: paragraphs, and what `\\b` keeps as it stands."""
    said = []
    for block in text.split("\f")[0].strip().split("\n\n"):
        if block.lstrip().startswith("\b"):
            kept = block.lstrip().removeprefix("\b").strip("\n")
            said.append(f"```text\n{kept}\n```")
        else:
            said.append(" ".join(block.split()))
    return "\n\n".join(said) + "\n"


def arguments_table(command: Any) -> str:
    """Return the arguments and options of a command."""
    lines = ["| argument or option | default | meaning |", "|---|---|---|"]
    for one in command.params:
        if one.name == "help" or getattr(one, "hidden", False):
            continue
        words = [*one.opts, *one.secondary_opts]
        named = ", ".join(f"`{word}`" for word in words)
        if one.param_type_name == "argument":
            named = f"`{(one.metavar or one.name).upper()}`"
        given = one.default
        if callable(given) or given in (None, (), [], "") or given is False or one.required:
            given = ""
        else:
            given = f"`{given}`"
        meaning = (getattr(one, "help", "") or "").replace("|", "or").replace("\n", " ")
        lines.append(f"| {named} | {given} | {meaning} |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def models() -> str:
    """Return the cards of the shipped models, one section each."""
    folder = ROOT / "src" / "deepsteiner" / "models"
    parts = [
        "# Models and their cards\n",
        "Every model is a folder: `weights.safetensors`, a configuration, and a card that says what "
        "it was trained on, how good it is and where it stops being good. No pickle is ever loaded. "
        '`deepsteiner models` lists them; `solve(points, "policy", model=NAME)` uses one.\n',
        "The cards, as they are shipped:\n",
    ]
    for path in sorted(folder.glob("*/card.md")):
        text = path.read_text(encoding="utf-8").strip()
        text = re.sub(r"^#+ .*\n", "", text, count=1)
        text = re.sub(r"^(#+) ", r"##\1 ", text, flags=re.MULTILINE)
        parts.append(f"## {path.parent.name}\n\n{text.strip()}\n")
    return "\n".join(parts)


def paper_tables() -> str:
    """Return the tables of `deepsteiner tables`."""
    from deepsteiner.benchmark.rows import stored_rows
    from deepsteiner.benchmark.tables import render_text
    from deepsteiner.benchmark.tables.catalogue import make_tables
    from deepsteiner.benchmark.tables.preface import preface
    from deepsteiner.benchmark.tables.results import Results

    found = Results(stored_rows())
    return render_text.markdown(make_tables(found, []), preface(found, []), marked=False)


def quick() -> str:
    """Return the rows of `make bench-quick`, a column for every version stored."""
    from deepsteiner.benchmark.readme import markdown
    from deepsteiner.benchmark.tables.numbers import significant

    folder = ROOT / "benchmarks" / "stored" / "quick"
    files = {path.stem: rows_of(path) for path in folder.glob("*.jsonl")}
    order = sorted(files, key=lambda name: max(row["date"] for row in files[name].values()))
    parts = [
        "# The yardstick, version by version\n",
        "`make bench-quick` solves fixed instances of every kind and compares the checkout with the "
        "versions stored here. Times are processor milliseconds an instance, divided by the time "
        "of a calibration in the same run (a triangulation that takes 530 ms on the reference "
        "machine) and multiplied by it there; gaps are to the proven optimum, mean and (worst), "
        "in percent. Empty cells: the version was not measured on that case.\n",
    ]
    for title, make in (("Milliseconds", time_cell), ("Gaps in percent", gap_cell)):
        cases = sorted({case for rows in files.values() for case in rows})
        lines = []
        for case in cases:
            cells = [make(files[name].get(case), significant) for name in order]
            if any(cells):
                lines.append([f"`{case}`", *cells])
        parts.append(f"## {title}\n\n{markdown(['case', *order], lines)}\n")
    parts.append("## Where the rows come from\n")
    for name in order:
        row = next(iter(files[name].values()))
        packages = ", ".join(f"{key} {value}" for key, value in row["versions"].items())
        parts.append(
            f"- *{name}*: commit {row['commit']}, {row['date']}, {row['machine']}, {packages}"
        )
    return "\n".join(parts) + "\n"


def rows_of(path: Path) -> dict[str, Any]:
    """Return the rows of a stored version by case."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["case"]: row for row in rows}


def time_cell(row: Any, significant: Callable[..., str]) -> str:
    """Return the scaled processor milliseconds of a case."""
    if row is None or not row.get("cpu"):
        return ""
    return significant(1000 * row["cpu"][0] * 0.53 / row["cpu_calibration"][0], 3)


def gap_cell(row: Any, significant: Callable[..., str]) -> str:
    """Return the mean gap and the worst."""
    if row is None or row.get("gap_mean") is None:
        return ""
    return f"{significant(row['gap_mean'], 2)} ({significant(row['gap_worst'], 2)})"


PAGES: dict[str, Callable[[], str]] = {
    "reference/command-line.md": command_line,
    "research/models.md": models,
    "results/paper-tables.md": paper_tables,
    "results/quick.md": quick,
}


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the pages before any is read."""
    app.connect("builder-inited", make_pages, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
