"""The methods that tables, charts and the README list: what each is called, and how it is run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, get_args

from ... import datasets
from ...core.options import EffortName

PAPER_SETS = tuple(datasets.PAPER)
EFFORTS = get_args(EffortName)
BERETA_ITERATIONS = (10, 20, 50)
NAMES = {"mst": "MST", "knn": "KNN", "grid": "Grid"}
# The paper's grid covers the unit square.
CANDIDATES = {
    "mst": "candidates=mst",
    "knn": "candidates=knn",
    "grid": "candidates=grid,extent=unit",
}
CRITERIA = ("First-selection", "First-increment", "All-selection")
# The paper's recipe is not followed to the letter: what differs is said below Table 1.
RECIPE = "after the paper's recipe, with our changes"
# Algorithm 1 as the paper prints it, with coordinates as they are.
PLAIN = "normalize=false"
# What is said of the uses of a trained model, and the options that each adds.
USES = {
    "plain": ("", ""),
    "refined": (", refined", "refine=true"),
    "x8": (", ×8", "augment=true"),
    "x8 refined": (", ×8 refined", "augment=true,refine=true"),
    "sampled": (", 16 samples", "decode=sample"),
    "sampled refined": (", 8 samples, refined", "decode=sample,samples=8,refine=true"),
}
# Of networks that see coordinates, and of those for which all images of an instance are one.
USES_OF_IMAGES = ("plain", "refined", "x8", "x8 refined", "sampled")
USES_WITHOUT_IMAGES = ("plain", "refined", "sampled", "sampled refined")


class Entry(NamedTuple):
    """One line: its label, the method as `Results` takes it, and its name in `paper`, if any."""

    label: str
    method: str
    printed: str = ""


def policy(model: str, use: str = "plain") -> str:
    """Return the method `policy` with a model in one of its uses.

    >>> policy("mst-d1", "refined")
    'policy:model=mst-d1,normalize=false,refine=true'
    """
    return f"policy:model={model},{PLAIN},{USES[use][1]}".rstrip(",")


def recipe(kind: str, criterion: str, home: str = "{home}") -> str:
    """Return the method `policy` with the model of the paper's recipe that was trained on a set.

    >>> recipe("knn", "First-increment", "D2")
    'policy:model=knn-first-increment-d2,normalize=false'
    """
    return policy(f"{kind}-{criterion}-{home}".lower())


def recipes(kind: str) -> list[Entry]:
    """Return the models of the paper's recipe with candidates of a kind."""
    return [
        Entry(f"{NAMES[kind]}+{word}", recipe(kind, word), f"{kind}-{word.lower()}")
        for word in CRITERIA
    ]


def distilled(
    label: str,
    kind: str,
    uses: Iterable[str] = USES_OF_IMAGES,
    *,
    home: str = "{home}",
    plain: str = "",
) -> list[Entry]:
    """Return the uses of a distilled model, each called by the label and its use.

    `plain` is what is said of the plain use.
    """
    return [
        Entry(f"{label}{USES[use][0] or plain}", policy(f"{kind}-{home}".lower(), use))
        for use in uses
    ]


def random_choices(kind: str) -> list[Entry]:
    """Return both readings of Rand-2 for a kind of candidates."""
    label, method = f"{NAMES[kind]}+Rand-2", f"rand2:{CANDIDATES[kind]}"
    kept = Entry(f"{label}, kept", f"{method},keep_worsening=true", f"{kind}-rand2")
    return [Entry(label, method, f"{kind}-rand2"), kept]


def lookahead(options: str = "") -> str:
    """Return the lookahead as the paper's candidates have it, without relaxation."""
    return f"greedy:relax=false,{options}"


BASELINES = [
    Entry("exact / Geo-Steiner", "exact", "exact"),
    *(
        Entry(f"Bereta, {k} iterations", f"bereta:iterations={k}", f"bereta-{k}")
        for k in BERETA_ITERATIONS
    ),
    Entry("minimum spanning tree", "mst", "mst"),
    Entry("Rand-1, uniform", "rand1", "rand1"),
    Entry("Rand-1, normal", "rand1:distribution=normal"),
]
# The kinds stand in the paper's order.
RANDOM_CHOICES = {kind: random_choices(kind) for kind in ("knn", "mst", "grid")}
CLASSICS = [
    *(
        entry
        for kind in RANDOM_CHOICES
        for entry in (
            Entry(f"lookahead, {NAMES[kind]}", lookahead(CANDIDATES[kind])),
            Entry(f"lookahead, {NAMES[kind]}, relaxed", f"greedy:{CANDIDATES[kind]}"),
        )
    ),
    *(Entry(name, name) for name in ("smith", "thompson", "dreyer")),
    *(Entry(f"local, {effort}", f"local:effort={effort}") for effort in EFFORTS),
]
NEURAL = [Entry(f"neural, {effort}", f"neural:effort={effort}") for effort in EFFORTS]
