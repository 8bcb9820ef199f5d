"""One self-contained HTML page: the tables, Figure 1, curves, a scatter chart and a gallery."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from ..tables.render_text import words
from ..tables.results import Results
from ..tables.table import Cell, Table
from ..tables.table_main import CRITERIA
from .charts import Curve, lines, scatter
from .curves import LearningCurve, learning_curves
from .gallery import Exhibit, exhibits
from .landscape import gap_time_marks
from .pictures import figure1

STYLE = Path(__file__).with_name("report.css")
COLOURS = 9
GAPS = (
    "Gaps are written as mean ± standard error of the mean (standard deviation over the instances)."
    " Point at a cell to see where it comes from."
)


def html(tables: Sequence[Table], preface: Sequence[str], results: Results, *, marked: bool) -> str:
    """Return the report."""
    parts = [
        "<h1>Deep-Steiner, reproduced</h1>",
        *(f"<p>{escape(text)}</p>" for text in preface),
        f'<p class="note">{GAPS}</p>',
        _contents(tables),
        *(_table(table, marked) for table in tables),
        _figure1(),
        _landscape(results),
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


def _contents(tables: Sequence[Table]) -> str:
    names = [(table.key, table.title.partition(".")[0]) for table in tables]
    names += [("figure1", "Figure 1"), ("gap-time", "Gap and time"), ("curves", "Learning curves")]
    names.append(("gallery", "Gallery"))
    links = " · ".join(f'<a href="#{key}">{escape(name)}</a>' for key, name in names)
    return f"<nav>{links}</nav>"


def _table(table: Table, marked: bool) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = []
    for section in table.sections:
        if section.heading:
            span = len(table.columns) + 1
            heading = escape(section.heading)
            rows.append(f'<tr class="section"><th colspan="{span}">{heading}</th></tr>')
        for line in section.lines:
            cells = "".join(_cell(cell, marked) for cell in line.cells)
            rows.append(f"<tr><th>{escape(line.label.strip())}</th>{cells}</tr>")
        rows.append('<tr class="gap"></tr>')
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    return (
        f'<section id="{table.key}"><h2>{escape(table.title)}</h2><div class="scroll"><table>'
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f"{notes}</section>"
    )


def _cell(cell: Cell, marked: bool) -> str:
    kind = cell.source if cell.state == "value" else cell.state
    text = escape(words(cell, False))
    if marked and cell.source in ("stored", "recomputed"):
        text += f' <small class="{cell.source}">{cell.source}</small>'
    title = escape(_provenance(cell), quote=True)
    hint = f' title="{title}"' if title else ""
    return f'<td class="{kind}"{hint}>{text}</td>'


def _provenance(cell: Cell) -> str:
    row = cell.row
    if row is None:
        return ""
    spread = f"standard deviation {row.gap_std:.3g} %, largest {row.gap_max:.3g} %; "
    device = "" if row.device == "cpu" else f"{row.device}; "
    return (
        f"{row.count:,} instances; {spread}{device}{row.machine}; deepsteiner {row.version}, "
        f"commit {row.commit or 'unknown'}, seed {row.seed}, {row.date}"
    )


def _figure1() -> str:
    panels = _figures(figure1())
    return (
        f'<section id="figure1"><h2>Figure 1. Candidate points</h2><div class="row">{panels}</div>'
        '<p class="note">The same points three times. Arcs are where an edge is seen under 120 '
        "degrees; each carries nine candidates a side.</p></section>"
    )


def _landscape(results: Results) -> str:
    marks = gap_time_marks(results)
    if not marks:
        return ""
    chart = scatter(marks, "milliseconds per instance", "gap to the optimum, %", (900, 560))
    return (
        '<section id="gap-time"><h2>Gap and time on D1</h2>'
        f'{chart}<p class="note">Both axes are logarithmic. <span class="key c0">●</span> without '
        'training and <span class="key c1">●</span> learned, one CPU thread, in a batch; '
        '<span class="key c2">■</span> learned on a GPU, in a batch; '
        '<span class="key c3">◆</span> the paper\'s own, single predictions. The exact solver, '
        "with gap 0, is not on the chart.</p></section>"
    )


def _curves(curves: Sequence[LearningCurve]) -> str:
    if not curves:
        return ""
    groups: dict[str, list[LearningCurve]] = {}
    for curve in curves:
        groups.setdefault(_training(curve.name), []).append(curve)
    charts = []
    for heading, members in groups.items():
        drawn = [Curve(c.name, c.points, number % COLOURS) for number, c in enumerate(members)]
        chart = lines(drawn, "training steps", "validation gap, %", (900, 420))
        charts.append(f"<h3>{escape(heading)}</h3>{chart}")
    return (
        f'<section id="curves"><h2>Learning curves</h2>{"".join(charts)}<p class="note">Mean gap '
        "of Algorithm 1 on validation instances of the training distribution.</p></section>"
    )


def _training(name: str) -> str:
    """Return how the model of that name was trained: one chart each."""
    for criterion, rule in CRITERIA.items():
        if criterion.replace("_", "-") in name:
            return f"{rule}, after the paper's recipe, with our changes"
    return "distilled"


def _gallery(found: Sequence[Exhibit]) -> str:
    if not found:
        return ""
    rows = []
    for exhibit in found:
        panels = _figures((f"{e.place}: gap {e.gap:.3g} %", e.svg) for e in exhibit.examples)
        rows.append(f'<h3>{escape(exhibit.label)}</h3><div class="row">{panels}</div>')
    return (
        '<section id="gallery"><h2>Gallery: best, median and worst instance of D1</h2>'
        '<p class="note">The method\'s tree over the optimal one (wide and pale). Filled dots are '
        "terminals, hollow ones Steiner points.</p>" + "".join(rows) + "</section>"
    )


def _figures(panels: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"
        for caption, svg in panels
    )
