"""All tables, in order, and which of them a user wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...core.errors import OptionError
from .entries import PAPER_SETS
from .results import Results
from .table import Table, with_counts
from .table_main import table1, table2, table3
from .table_studies import table4, table5, table6, table7, table8, table9

# Table 2 has one part per dataset.
MAKERS: list[tuple[str, Callable[[Results], Table]]] = [
    ("1", table1),
    *(("2", partial(table2, dataset=name)) for name in PAPER_SETS),
    *(("3", table3), ("4", table4), ("5", table5), ("6", table6), ("7", table7), ("8", table8)),
    ("9", table9),
]


def make_tables(results: Results, numbers: Sequence[str] = ()) -> list[Table]:
    """Return the tables of the given numbers, all where none is given."""
    known = dict.fromkeys(number for number, _ in MAKERS)
    for number in numbers:
        if number not in known:
            raise OptionError(f"unknown table {number!r}; the tables are: {', '.join(known)}")
    return [
        with_counts(make(results)) for number, make in MAKERS if not numbers or number in numbers
    ]
