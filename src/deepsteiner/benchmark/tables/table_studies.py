"""Tables that the paper promises or lacks: k* and k', grids, sizes, models, the authors' D1."""

from __future__ import annotations

from typing import Any

from ..rows import Row
from .paper import TABLE1
from .plans import GRIDS, K_NEIGHBORS, K_STARS, LARGER, SIZE_METHODS, candidate_options
from .results import Results
from .table import Line, Section, Table, beside, gap_cell, number_cell, text_cell
from .table_main import (
    ORDER,
    USE_WORDS,
    Entry,
    baselines,
    classics,
    policy_options,
    random_choices,
    scored,
)

# How rows of a file of D1 are labelled.
AUTHORS = "D1 (file)"

SIZE_NAMES = {
    "mst": "minimum spanning tree",
    "smith": "smith",
    "exact": "exact",
}
# Longer names of starts are cut, so that a table fits a terminal.
START_WIDTH = 14


def table4(results: Results) -> Table:
    """Return the study of k* (points of an arc) and k' (neighbours)."""
    return Table(
        "table4",
        "Table 4. Points per arc k* and neighbours k', D1: gap in percent",
        ("MST", *(f"KNN k'={near}" for near in K_NEIGHBORS)),
        (
            Section("lookahead", tuple(_lookahead_line(results, k) for k in K_STARS)),
            Section("distilled, Algorithm 1", tuple(_distilled_line(results, k) for k in K_STARS)),
        ),
        (
            "The lookahead tries every candidate and takes the best one, without relaxation: what "
            "distilled policies are taught to imitate. Each model was trained with its own "
            "candidates.",
        ),
    )


def table5(results: Results) -> Table:
    """Return the study of grid sizes."""
    lines = []
    for size in GRIDS:
        options = {**candidate_options("grid"), "grid": size, "relax": False}
        row = results.gap("D1", "greedy", options)
        timed = results.timing("D1", "greedy", options, cpu=True)
        model = _studied(results, "grid", {"grid": size})
        lines.append(
            Line(
                f"{size} × {size}",
                (
                    text_cell(str(size * size)),
                    gap_cell(results, row),
                    number_cell(results, timed, timed.batch_ms if timed else None, "ms"),
                    gap_cell(results, model),
                ),
            )
        )
    return Table(
        "table5",
        "Table 5. Grid candidates over the unit square, D1: gap in percent",
        ("points", "lookahead", "CPU batch ms", "distilled"),
        (Section("", tuple(lines)),),
        ("The paper does not state its grid's size; 10 × 10 is used in the other tables.",),
    )


def table6(results: Results) -> Table:
    """Return the generalisation in size."""
    datasets = ("D1", "D2", *(f"uniform-{n}" for n in LARGER))
    learned, classical = [], []
    for home in ("D1", "D2"):
        for use in ("plain", "refined"):
            options = policy_options("mst", home, use)
            rows = [results.gap(dataset, "policy", options) for dataset in datasets]
            label = f"trained on {home}{USE_WORDS[use]}"
            learned.append(Line(label, tuple(gap_cell(results, row) for row in rows)))
    for name, options in SIZE_METHODS:
        rows = [results.gap(dataset, name, options) for dataset in datasets]
        label = _size_label(name, options)
        classical.append(Line(label, tuple(gap_cell(results, row) for row in rows)))
    return Table(
        "table6",
        "Table 6. Generalisation in size, uniform points: gap in percent",
        tuple(f"n = {n}" for n in (10, 20, *LARGER)),
        (
            Section("MST candidates, distilled", tuple(learned)),
            Section("other methods", tuple(classical)),
        ),
        ("Instances are uniform in the unit square; n = 10 is D1 and n = 20 is D2.",),
    )


def table7(results: Results) -> Table:
    """Return what was trained: the effort behind every model."""
    lines = []
    for row in results.models():
        facts, name = row.model, row.options["model"]
        texts = (_taught(facts), _start(facts, name), _epochs(facts), _steps(facts))
        minutes = text_cell(str(facts.get("minutes", "")))
        lines.append(Line(name, (*map(text_cell, texts), minutes)))
    return Table(
        "table7",
        "Table 7. The models: what each was trained on, and how long",
        ("data, loss", "start", "epochs", "steps × batch", "min"),
        (Section("", tuple(lines)),),
        (
            "Steps times batch are the instances seen, repeats included (the paper's: 1,024,000, "
            "in 100 epochs of 10,240); an epoch is a run's own. In brackets: the last epoch whose "
            "policy passed the t-test, whose weights these are; 0: those it began with. Minutes "
            "on the training device. 'expected': REINFORCE, Algorithm 2's loss, averaged over all "
            "candidates instead of one draw. …: the part of a start's name that the model's own "
            "does not have, or its end; -begun and -continued are earlier parts of a training.",
        ),
    )


def _taught(facts: dict[str, Any]) -> str:
    loss = "expected" if facts.get("expectation") else str(facts.get("objective", ""))
    return f"{facts.get('data', '')} {loss}".strip()


def _start(facts: dict[str, Any], name: str) -> str:
    """Return where a training began; of a long name what its own does not have, or the end."""
    start = str(facts.get("start", "")).removeprefix("runs/").removesuffix("/model")
    if len(start) <= START_WIDTH:
        return start
    shared = name if start.startswith(name) else name.rpartition("-")[0]
    return "…" + start.removeprefix(shared)[1 - START_WIDTH :]


def _epochs(facts: dict[str, Any]) -> str:
    kept = facts.get("kept_epoch")
    return _whole(facts.get("epochs")) + ("" if kept is None else f" ({kept})")


def _steps(facts: dict[str, Any]) -> str:
    return f"{facts['steps']:,} × {facts.get('batch', '')}" if facts.get("steps") else ""


def table8(results: Results) -> Table:
    """Return the gaps on the authors' own D1 instances, which are theirs to the last digit."""
    sections = [Section("", tuple(_authors_line(results, entry) for entry in baselines(TABLE1)))]
    choices = [entry for kind in ORDER for entry in random_choices(kind, TABLE1)]
    sections.append(Section("", tuple(_authors_line(results, entry) for entry in choices)))
    learned: list[Entry] = []
    for use in ("plain", "refined", "x8 refined"):
        label = f"MST distilled{USE_WORDS[use]}"
        learned.append((label, "policy", policy_options("mst", "D1", use), None))
    others = [*classics(), *scored(), *learned]
    sections.append(Section("", tuple(_authors_line(results, entry) for entry in others)))
    return Table(
        "table8",
        "Table 8. The authors' own D1 test instances: gap in percent",
        ("here", "paper"),
        tuple(sections),
        ("Read from their file; optima by Geo-Steiner, as they come with it.",),
    )


def _authors_line(results: Results, entry: Entry) -> Line:
    label, method, options, printed = entry
    cell = gap_cell(results, results.gap(AUTHORS, method, options))
    return Line(label, beside([cell], None if printed is None else printed[:1]))


def _lookahead_line(results: Results, k_star: int) -> Line:
    bare: dict[str, Any] = {"relax": False, "k_star": k_star}
    rows = [results.gap("D1", "greedy", bare)]
    rows += [
        results.gap("D1", "greedy", {**bare, "candidates": "knn", "k_neighbors": near})
        for near in K_NEIGHBORS
    ]
    return Line(f"k* = {k_star}", tuple(gap_cell(results, row) for row in rows))


def _distilled_line(results: Results, k_star: int) -> Line:
    rows = [_studied(results, "mst", {"k_star": k_star})]
    rows += [
        _studied(results, "knn", {"k_star": k_star, "k_neighbors": near}) for near in K_NEIGHBORS
    ]
    return Line(f"k* = {k_star}", tuple(gap_cell(results, row) for row in rows))


def _studied(results: Results, kind: str, wanted: dict[str, int]) -> Row | None:
    """Return the plain row on D1 of the distilled model with such candidates."""
    for model in results.models():
        facts = model.model
        candidates = facts.get("candidates", {})
        fits = candidates.get("kind") == kind and wanted.items() <= candidates.items()
        if fits and facts.get("objective") == "distill" and facts.get("data") == "D1":
            options = {"model": model.options["model"], "normalize": False}
            return results.gap("D1", "policy", options)
    return None


def _size_label(name: str, options: dict[str, Any]) -> str:
    if name == "greedy":
        return "lookahead, MST" + (", relaxed" if options.get("relax", True) else "")
    if name in ("local", "neural"):
        return f"{name}, {options.get('effort', 'default')}"
    return SIZE_NAMES[name]


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"
