"""Which trainings make up a study: names, configurations, and how much of a GPU each one fills."""

from __future__ import annotations

from typing import NamedTuple

# Where a run's validation instances lie; see `validation.py`.
VALIDATION = "{validation}/{data}.npz"


class Run(NamedTuple):
    """One training: files of `deepsteiner train --config`, and overrides.

    `share` says how many of the places of a GPU it takes: large batches fill it alone.
    """

    name: str
    configs: tuple[str, ...]
    settings: tuple[str, ...] = ()
    share: int = 1

    @property
    def data(self) -> str:
        """The name of its dataset, in lower case."""
        return next(name[-2:] for name in self.configs if name[-2:] in ("d1", "d2", "d3"))


def _printed(kind: str, data: str, seed: int, share: int, *settings: str) -> Run:
    """Return a First-selection cell by the printed recipe.

    The seed chooses everything: weights, draws, training instances and those of the t-test. KNN's
    550 to 1,100 candidates are weighed in bfloat16, all others in float32.
    """
    precision = "bfloat16" if kind == "knn" else "float32"
    own = (f"train.seed={seed}", f"data.seed={seed}", f"train.precision={precision}")
    fast = ("train.graphs=true", "train.save_seconds=20", "validation.every=5")
    return Run(f"{kind}-{data}-{seed}", ("paper", kind, data), (*own, *fast, *settings), share)


def _criterion(name: str, seed: int) -> Run:
    """Return a run of MST on D1 with 0.2 million instances under a criterion."""
    base = _printed("mst", "d1", seed, 2 if name != "first-selection" else 1, "train.epochs=20")
    return base._replace(name=f"{name}-{seed}", configs=(*base.configs, name))


PRINTED = [
    *[_printed("mst", "d1", seed, 1) for seed in range(3)],
    _printed("mst", "d3", 0, 1),
    *[_printed("grid", data, 0, 1) for data in ("d1", "d2", "d3")],
    _printed("mst", "d2", 0, 2),
    *[_criterion(name, 0) for name in ("first-selection", "first-increment", "all-selection")],
    _printed("knn", "d1", 0, 3),
    _printed("knn", "d3", 0, 3),
    *[_printed("knn", "d2", seed, 6) for seed in range(3)],
]


def _relative(name: str, minutes: float, *settings: str) -> Run:
    """Return a distillation of the relative network from two steps ahead, on D1.

    Large batches, a rate that falls to nothing by the clock, and sharp targets: two steps differ
    less from candidate to candidate than one.
    """
    own = (f"train.minutes={minutes}", "train.learning_rate=1e-3", "train.warmup=200")
    size = ("train.batch=1024", "data.instances=102400", "data.seed=7")
    steps = ("distill.lookahead=2", "distill.temperature=0.05", "train.save_seconds=30")
    network = ("network.kind=relative", "network.layers=3", "network.ff=256", "network.dim=128")
    return Run(name, ("mst-d1",), (*own, *size, *steps, *network, *settings), 3)


# The second one goes on from the first.
_AGAIN = ("train.start=runs/better/relative-begun/model", "train.learning_rate=7e-4", "data.seed=8")
BETTER = [_relative("relative-begun", 8.5), _relative("relative", 7.8, *_AGAIN)]

PLANS = {"printed": PRINTED, "better": BETTER}
