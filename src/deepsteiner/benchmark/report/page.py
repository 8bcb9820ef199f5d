"""One self-contained HTML page: the tables, Figure 1, curves, a scatter chart and a gallery."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from ..tables.entries import CRITERIA, RECIPE
from ..tables.render_text import words
from ..tables.results import Results
from ..tables.table import Cell, Table
from .charts import Curve, Mark, lines, scatter
from .curves import learning_curves
from .gallery import exhibits
from .landscape import gap_time_marks
from .pictures import figure1

STYLE = Path(__file__).with_name("report.css")
COLOURS = 9
GAPS = (
    "Gaps are written as mean ± standard error of the mean (standard deviation over the instances)."
    " Point at a cell to see where it comes from."
)
MARKS = (
    'Both axes are logarithmic. <span class="key c0">●</span> without training and '
    '<span class="key c1">●</span> learned, one CPU thread, in a batch; '
    '<span class="key c2">■</span> learned on a GPU, in a batch; '
    '<span class="key c3">◆</span> the paper\'s own, single predictions. The exact solver, '
    "with gap 0, is not on the chart."
)
HEADINGS = {
    "figure1": "Figure 1",
    "gap-time": "Gap and time",
    "curves": "Learning curves",
    "gallery": "Gallery",
}


def html(tables: Sequence[Table], preface: Sequence[str], results: Results, *, marked: bool) -> str:
    """Return the report."""
    parts = [
        "<h1>Deep-Steiner, reproduced</h1>",
        *(f"<p>{escape(text)}</p>" for text in preface),
        _note(GAPS),
        _contents(tables),
        *(_table(table, marked) for table in tables),
        _figure1(),
        _landscape(gap_time_marks(results)),
        _curves(learning_curves()),
        _gallery(exhibits(results)),
    ]
    body = "\n".join(part for part in parts if part)
    style = STYLE.read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>deepsteiner: results</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _section(key: str, title: str, *parts: str) -> str:
    return f'<section id="{key}"><h2>{escape(title)}</h2>{"".join(parts)}</section>'


def _note(markup: str) -> str:
    return f'<p class="note">{markup}</p>'


def _panels(panels: Iterable[tuple[str, str]]) -> str:
    figures = [
        f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"
        for caption, svg in panels
    ]
    return f'<div class="row">{"".join(figures)}</div>'


def _contents(tables: Sequence[Table]) -> str:
    names = {table.key: table.name for table in tables} | HEADINGS
    links = [f'<a href="#{key}">{escape(name)}</a>' for key, name in names.items()]
    return f"<nav>{' · '.join(links)}</nav>"


def _table(table: Table, marked: bool) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in ("", *table.columns))
    rows = []
    for section in table.sections:
        if section.heading:
            span = f'<th colspan="{len(table.columns) + 1}">'
            rows.append(f'<tr class="section">{span}{escape(section.heading)}</th></tr>')
        for line in section.lines:
            cells = "".join(_cell(cell, marked) for cell in line.cells)
            rows.append(f"<tr><th>{escape(line.label.strip())}</th>{cells}</tr>")
        rows.append('<tr class="gap"></tr>')
    return _section(
        table.key,
        table.title,
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>',
        f"<tbody>{''.join(rows)}</tbody></table></div>",
        *(_note(escape(note)) for note in table.notes),
    )


def _cell(cell: Cell, marked: bool) -> str:
    kind = cell.source if cell.state == "value" else cell.state
    text = escape(words(cell, False))
    if marked and cell.source in ("stored", "recomputed"):
        text += f' <small class="{cell.source}">{cell.source}</small>'
    return f'<td class="{kind}"{_provenance(cell)}>{text}</td>'


def _provenance(cell: Cell) -> str:
    """Return the attribute that says where a number comes from, when one points at it."""
    row = cell.row
    if row is None:
        return ""
    device = "" if row.device == "cpu" else f"{row.device}; "
    said = (
        f"{row.count:,} instances; standard deviation {row.gap_std:.3g} %, largest "
        f"{row.gap_max:.3g} %; {device}{row.machine}; deepsteiner {row.version}, "
        f"commit {row.commit or 'unknown'}, seed {row.seed}, {row.date}"
    )
    return f' title="{escape(said)}"'


def _figure1() -> str:
    note = (
        "The same points three times. Arcs are where an edge is seen under 120 degrees; each "
        "carries nine candidates a side."
    )
    return _section("figure1", "Figure 1. Candidate points", _panels(figure1()), _note(note))


def _landscape(marks: Sequence[Mark]) -> str:
    if not marks:
        return ""
    chart = scatter(marks, "milliseconds per instance", "gap to the optimum, %", (900, 560))
    return _section("gap-time", "Gap and time on D1", chart, _note(MARKS))


def _curves(curves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    if not curves:
        return ""
    groups: dict[str, list[Curve]] = {}
    for name, points in curves.items():
        group = groups.setdefault(_training(name), [])
        group.append(Curve(name, points, len(group) % COLOURS))
    charts = []
    for heading, group in groups.items():
        chart = lines(group, "training steps", "validation gap, %", (900, 420))
        charts.append(f"<h3>{escape(heading)}</h3>{chart}")
    note = "Mean gap of Algorithm 1 on validation instances of the training distribution."
    return _section("curves", HEADINGS["curves"], *charts, _note(note))


def _training(name: str) -> str:
    """Return how the model of that name was trained: one chart each."""
    for criterion in CRITERIA:
        if criterion.lower() in name:
            return f"{criterion}, {RECIPE}"
    return "distilled"


def _gallery(found: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    if not found:
        return ""
    note = (
        "The method's tree over the optimal one (wide and pale). Filled dots are terminals, "
        "hollow ones Steiner points."
    )
    rows = [f"<h3>{escape(label)}</h3>{_panels(panels)}" for label, panels in found.items()]
    title = "Gallery: best, median and worst instance of D1"
    return _section("gallery", title, _note(note), *rows)
