"""Results as people read them: a block for one solution, a line each for many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..core.solution import Solution
from ..viz.scene import length_text
from .inputs import Instance

NAME_WIDTH = 26


def block(instance: Instance, solution: Solution, written: str | None) -> str:
    """Return the report on a single solution, one fact a line."""
    relays = int(solution.info.get("relays", 0))
    counts = [
        counted(len(solution.terminals), "terminal"),
        counted(len(solution.steiner_points) - relays, "Steiner point"),
    ]
    if relays:
        counts.append(counted(relays, "relay"))
    if len(solution.bends):
        counts.append(counted(len(solution.bends), "bend"))
    rows = [("length", length_text(solution))]
    if solution.status != "optimal" and solution.lower_bound is not None:
        bound = f"lower bound {solution.lower_bound:.6g}"
        rows.append(("gap", f"at most {percent(solution.gap)} ({bound})"))
    rows += [
        ("status", solution.status.replace("_", " ")),
        ("method", solution.method),
        ("time", seconds(solution.runtime)),
    ]
    if written is not None:
        rows.append(("written", written))
    lines = [f"{instance.name}: {', '.join(counts)}"]
    return "\n".join(lines + [f"  {name:<9}{value}" for name, value in rows])


def details(solution: Solution) -> str:
    """Return the solver's own counts and times, one a line; those of a stage under its name."""
    lines = []
    for name, value in solution.info.items():
        if name == "trace":
            continue
        if isinstance(value, dict):
            lines.append(f"  {name}")
            lines += [f"    {key:<22} {_short(number)}" for key, number in value.items() if number]
        else:
            lines.append(f"  {name:<24} {_short(value)}")
    return "\n".join(lines)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def line_header() -> str:
    """Return the column names over the lines of `line`."""
    return (
        f"{'instance':<{NAME_WIDTH}} {'n':>7} {'length':>12} {'gap':>8}  {'status':<11} {'time':>9}"
    )


def line(instance: Instance, solution: Solution) -> str:
    """Return one solution as a line of at most 80 columns."""
    name = instance.name
    if len(name) > NAME_WIDTH:
        name = "..." + name[3 - NAME_WIDTH :]
    gap = "-" if solution.gap is None else percent(solution.gap)
    return (
        f"{name:<{NAME_WIDTH}} {len(solution.terminals):>7} {length_text(solution):>12} {gap:>8}  "
        f"{solution.status:<11} {seconds(solution.runtime):>9}"
    )


def summary(solved: Sequence[tuple[Instance, Solution]]) -> str:
    """Return the means over many solutions, with the gap to the optimum where it is known."""
    count = len(solved)
    mean = sum(solution.length for _, solution in solved) / count
    total = sum(solution.runtime for _, solution in solved)
    first = f"{counted(count, 'instance')}, mean length {mean:.6g}, {seconds(total)} in all"
    gaps = [
        solution.length / instance.optimum - 1 for instance, solution in solved if instance.optimum
    ]
    if not gaps:
        return first
    return f"{first}\nmean gap to the optimum {100 * sum(gaps) / len(gaps):.4f} %"


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None
) -> None:
    """Print a table whose first column names the rows; one with a title is a table of numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    numbers = title is not None
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=numbers)
    table.add_column(headings[0], no_wrap=True, style="" if numbers else "bold")
    for heading in headings[1:]:
        table.add_column(heading, justify="right" if numbers else "left")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False).print(table)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "relay"), counted(2000, "relay")
    ('1 relay', '2,000 relays')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def percent(share: float | None) -> str:
    """Return a share in percent with three digits.

    >>> percent(0.03137)
    '3.14 %'
    """
    return "-" if share is None else f"{100 * share:.3g} %"


def seconds(time: float) -> str:
    """Return a time in the unit that suits it.

    >>> seconds(0.00042), seconds(0.0123), seconds(75)
    ('420 us', '12.3 ms', '75 s')
    """
    if time < 1e-3:
        return f"{time * 1e6:.3g} us"
    return f"{time * 1e3:.3g} ms" if time < 1 else f"{time:.3g} s"
