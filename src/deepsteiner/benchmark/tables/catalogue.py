"""All tables, in order, and which of them a user wants."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import OptionError
from .results import Results
from .table import Table, with_counts
from .table_main import table1, table2, table3
from .table_studies import table4, table5, table6, table7, table8

NUMBERS = ("1", "2", "3", "4", "5", "6", "7", "8")


def make_tables(results: Results, numbers: Sequence[str] = ()) -> list[Table]:
    """Return the tables of the given numbers, all where none is given."""
    for number in numbers:
        if number not in NUMBERS:
            raise OptionError(f"unknown table {number!r}; the tables are: {', '.join(NUMBERS)}")
    makers = {
        "1": lambda: [table1(results)],
        "2": lambda: table2(results),
        "3": lambda: [table3(results)],
        "4": lambda: [table4(results)],
        "5": lambda: [table5(results)],
        "6": lambda: [table6(results)],
        "7": lambda: [table7(results)],
        "8": lambda: [table8(results)],
    }
    chosen = [number for number in NUMBERS if not numbers or number in numbers]
    return [with_counts(table) for number in chosen for table in makers[number]()]
