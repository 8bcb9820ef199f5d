"""Tables that the paper promises or lacks: k*, k', grids, sizes, models, its D1, criteria."""

from __future__ import annotations

from typing import Any

from ..printed_recipe import READINGS, at_equal_budgets, cell, effort, over_seeds, stored_trainings
from ..rows import Row
from .entries import (
    BASELINES,
    CLASSICS,
    CRITERIA,
    NAMES,
    NEURAL,
    RANDOM_CHOICES,
    Entry,
    distilled,
    policy,
)
from .paper import TABLE1
from .plans import GRIDS, K_NEIGHBORS, K_STARS, LARGER, SIZE_METHODS, grid_size, points_per_arc
from .results import Results
from .table import (
    EMPTY,
    Line,
    Section,
    Table,
    gap_lines,
    our_cell,
    printed_cell,
    text_cell,
    trained_cell,
)

# How rows of a file of D1 are labelled.
AUTHORS = "D1 (file)"
# Longer names of starts are cut, so that a table fits a terminal.
START_WIDTH = 14


def table4(results: Results) -> Table:
    """Return the study of k* (points of an arc) and k' (neighbours)."""
    lookahead, models = [], []
    for k in K_STARS:
        rows = [results.gap("D1", points_per_arc(k, near)) for near in (None, *K_NEIGHBORS)]
        lookahead.append(Line(f"k* = {k}", [our_cell(results, row) for row in rows]))
        rows = [_studied(results, kind="mst", k_star=k)]
        rows += [_studied(results, kind="knn", k_star=k, k_neighbors=near) for near in K_NEIGHBORS]
        models.append(Line(f"k* = {k}", [our_cell(results, row) for row in rows]))
    return Table(
        "Table 4. Points per arc k* and neighbours k', D1: gap in percent",
        ("MST", *(f"KNN k'={near}" for near in K_NEIGHBORS)),
        [Section("lookahead", lookahead), Section("distilled, Algorithm 1", models)],
        (
            "The lookahead tries every candidate and takes the best one, without relaxation: what "
            "distilled policies are taught to imitate. Each model was trained with its own "
            "candidates.",
        ),
    )


def _studied(results: Results, **candidates: Any) -> Row | None:
    """Return the plain row on D1 of the distilled model with such candidates."""
    for row in results.models():
        facts = row.model
        if (
            candidates.items() <= facts.get("candidates", {}).items()
            and facts.get("objective") == "distill"
            and facts.get("data") == "D1"
        ):
            return results.gap("D1", policy(row.options["model"]))
    return None


def table5(results: Results) -> Table:
    """Return the study of grid sizes."""
    lines = []
    for size in GRIDS:
        cells = [
            text_cell(str(size * size)),
            our_cell(results, results.gap("D1", grid_size(size))),
            our_cell(results, results.timing("D1", grid_size(size)), "batch_ms", "ms"),
            our_cell(results, _studied(results, kind="grid", grid=size)),
        ]
        lines.append(Line(f"{size} × {size}", cells))
    return Table(
        "Table 5. Grid candidates over the unit square, D1: gap in percent",
        ("points", "lookahead", "CPU batch ms", "distilled"),
        [Section("", lines)],
        ("The paper does not state its grid's size; 10 × 10 is used in the other tables.",),
    )


def table6(results: Results) -> Table:
    """Return the generalisation in size."""
    datasets = ("D1", "D2", *(f"uniform-{n}" for n in LARGER))
    uses = ("plain", "refined")
    learned = [
        entry
        for home in ("D1", "D2")
        for entry in distilled(f"trained on {home}", "mst", uses, home=home)
    ]
    others = [Entry(label, method) for label, method in SIZE_METHODS.items()]
    return Table(
        "Table 6. Generalisation in size, uniform points: gap in percent",
        [f"n = {n}" for n in (10, 20, *LARGER)],
        [
            Section("MST candidates, distilled", gap_lines(results, learned, datasets)),
            Section("other methods", gap_lines(results, others, datasets)),
        ],
        ("Instances are uniform in the unit square; n = 10 is D1 and n = 20 is D2.",),
    )


def table7(results: Results) -> Table:
    """Return what was trained: the effort behind every model."""
    return Table(
        "Table 7. The models: what each was trained on, and how long",
        ("data, loss", "start", "epochs", "steps × batch", "min"),
        [Section("", [_model_line(row.options["model"], row.model) for row in results.models()])],
        (
            "Steps times batch are the instances seen, repeats included (the paper's: 1,024,000, "
            "in 100 epochs of 10,240); an epoch is a run's own. In brackets: the last epoch whose "
            "policy passed the t-test, whose weights these are; 0: those it began with. Minutes "
            "on the training device. 'expected': REINFORCE, Algorithm 2's loss, averaged over all "
            "candidates instead of one draw. …: the part of a start's name that the model's own "
            "does not have, or its end; -begun and -continued are earlier parts of a training.",
        ),
    )


def _model_line(name: str, facts: dict[str, Any]) -> Line:
    loss = "expected" if facts.get("expectation") else facts.get("objective", "")
    epochs, kept, steps = facts.get("epochs"), facts.get("kept_epoch"), facts.get("steps")
    texts = (
        f"{facts.get('data', '')} {loss}".strip(),
        _start(facts, name),
        ("" if epochs is None else f"{epochs:,.0f}") + ("" if kept is None else f" ({kept})"),
        f"{steps:,} × {facts.get('batch', '')}" if steps else "",
        str(facts.get("minutes", "")),
    )
    return Line(name, [*map(text_cell, texts)])


def _start(facts: dict[str, Any], name: str) -> str:
    """Return where a training began; of a long name what its own does not have, or the end."""
    start = str(facts.get("start", "")).removeprefix("runs/").removesuffix("/model")
    if len(start) <= START_WIDTH:
        return start
    shared = name if start.startswith(name) else name.rpartition("-")[0]
    return "…" + start.removeprefix(shared)[1 - START_WIDTH :]


def table8(results: Results) -> Table:
    """Return the gaps on the authors' own D1 instances, which are theirs to the last digit."""
    random = [entry for choices in RANDOM_CHOICES.values() for entry in choices]
    learned = distilled("MST distilled", "mst", ("plain", "refined", "x8 refined"))
    return Table(
        "Table 8. The authors' own D1 test instances: gap in percent",
        ("here", "paper"),
        [
            Section("", gap_lines(results, entries, [AUTHORS], paper=True))
            for entries in (BASELINES, random)
        ]
        + [
            Section("First-selection as printed", _printed_on_theirs()),
            Section("", gap_lines(results, [*CLASSICS, *NEURAL, *learned], [AUTHORS], paper=True)),
        ],
        ("Read from their file; optima by Geo-Steiner, as they come with it.",),
    )


def _printed_on_theirs() -> list[Line]:
    """Return the printed recipe's models of D1, in both readings, on the authors' instances."""
    lines = []
    for kind in RANDOM_CHOICES:
        own = cell(stored_trainings(), kind, "d1")
        for reading in READINGS:
            found = trained_cell(over_seeds(own, f"authors_{reading}"))
            label = NAMES[kind] + (", kept" if reading == "kept" else f" ({effort(own)})")
            lines.append(Line(label, [found, printed_cell(TABLE1[f"{kind}-first-selection"][0])]))
    return lines


def table9(results: Results) -> Table:
    """Return the paper's three criteria, as printed, after equally many instances."""
    lines = []
    for word in CRITERIA:
        own = at_equal_budgets(stored_trainings(), word.lower())
        both = [trained_cell(over_seeds(own, f"d1_{reading}")) for reading in READINGS]
        seeds = text_cell(effort(own)) if own else EMPTY
        lines.append(Line(word, [*both, printed_cell(TABLE1[f"mst-{word.lower()}"][0]), seeds]))
    return Table(
        "Table 9. Criteria at equal budgets, MST on D1 as printed: gap in percent",
        ("stopped", "kept", "paper", "seeds: epochs"),
        [Section("", lines)],
        (
            "Every run saw 0.2 million instances, a fifth of the paper's number, so the gaps are "
            "larger than after whole trainings; what counts is their order.",
        ),
    )
