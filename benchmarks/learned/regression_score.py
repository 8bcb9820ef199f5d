"""Logistic regressions in place of the network of `neural`: what it has to beat.

    python -m benchmarks.learned.regression_score --out FOLDER   for neural(model=FOLDER)
    python -m benchmarks.learned.regression_score --fit labels.npz ...   coefficients anew

Two scores, both fitted to the labels that the network learns from, on its own features:

    linear        17 coefficients, one for each feature of a full Steiner tree (what it saves, its
                  lead over the best rival for the same spanning-tree edges, how crowded it is, ...)
    competition   the same, and 70 for what its neighbours look like: in each of the five relations
                  (may stand beside it, may not; saves more or less) the sums of fourteen chosen
                  quantities, such as 1, the saving, the lead beyond 0.1, the number of trees of 3

Neither has a hidden unit with learned weights; both are written in the network's own format (a
linear function z is relu(z) - relu(-z)), so that everything else in the method stays the same.
The bars below which trees are dropped were chosen for each score and effort on validation
instances, by gap first and time second; `competition` was the better of the two there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np

from deepsteiner.solvers import neural

STORED = Path(__file__).with_name("regression_score.json")
KINDS = ("linear", "competition")
FEATURES, RELATIONS, WIDTH, STRIDE = 17, 5, 16, 8
# Coefficients are stored with this many decimals.
DECIMALS = 4
# The quantities whose sums a tree hears: relu(coefficients . features + constant).
SAVING, LEAD, RIVAL, LONGEST = 5, 10, 11, 14
CHANNELS: tuple[tuple[int | None, float], ...] = (
    (None, 1.0),
    (SAVING, 0.0), (SAVING, -0.5), (SAVING, -1.0),
    (LEAD, 0.2), (LEAD, 0.05), (LEAD, 0.0), (LEAD, -0.1), (LEAD, -0.3),
    (0, 0.0), (1, 0.0), (2, 0.0),  # trees of two, three and four terminals
    (RIVAL, 0.0), (LONGEST, 0.0),
)  # fmt: skip


def read(kind: str) -> dict:
    """Return the stored coefficients and bars of a score."""
    return json.loads(STORED.read_text(encoding="utf-8"))[kind]


def tensors(kind: str) -> dict[str, np.ndarray]:
    """Return a score as the network's tensors."""
    facts = read(kind)
    enter, bias = np.zeros((WIDTH, FEATURES)), np.zeros(WIDTH)
    for row, sign in ((WIDTH - 2, 1.0), (WIDTH - 1, -1.0)):
        enter[row], bias[row] = sign * np.array(facts["own"]), sign * facts["constant"]
    leave = np.zeros((1, WIDTH))
    leave[0, -2:] = 1.0, -1.0
    named = {"input.weight": enter, "input.bias": bias, "output.weight": leave}
    named["output.bias"] = np.zeros(1)
    if kind == "competition":
        own, message = np.zeros((WIDTH, WIDTH)), np.zeros((WIDTH, RELATIONS, WIDTH))
        for channel, (feature, constant) in enumerate(CHANNELS):
            bias[channel] = constant
            if feature is not None:
                enter[channel, feature] = 1.0
        for row, sign in ((WIDTH - 2, 1.0), (WIDTH - 1, -1.0)):
            own[row, -2:] = sign, -sign
            message[row, :, : len(CHANNELS)] = sign * np.array(facts["sums"])
        named["own.0.weight"], named["own.0.bias"] = own, np.zeros(WIDTH)
        named["message.0.weight"] = message.reshape(WIDTH, -1)
    return {name: value.astype(np.float32) for name, value in named.items()}


def make(folder: Path, kind: str = "competition") -> Path:
    """Write a score as a model folder for `neural(model=...)`; return the folder."""
    from safetensors.numpy import save

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights.safetensors").write_bytes(save(tensors(kind)))
    facts = {"format": 1, "rounds": int(kind == "competition"), "drop": read(kind)["drop"]}
    (folder / "neural.json").write_text(json.dumps(facts) + "\n", encoding="utf-8")
    return folder


@contextmanager
def bars(kind: str = "competition") -> Iterator[None]:
    """Give the efforts of `neural` the bars that were chosen for a score."""
    drop = read(kind)["drop"]
    efforts = {name: replace(one, drop=drop[name]) for name, one in neural.EFFORTS.items()}
    with mock.patch.object(neural, "EFFORTS", efforts):
        yield


def competing(rows: np.ndarray, begin: np.ndarray, links: np.ndarray) -> np.ndarray:
    """Return the sums that every tree of a list hears, (trees, RELATIONS * channels)."""
    count = len(rows)
    source, relation = np.divmod(links, STRIDE)
    cell = RELATIONS * np.repeat(np.arange(count), np.diff(begin)) + relation
    said = [
        np.maximum((0.0 if feature is None else rows[:, feature]) + constant, 0.0) * np.ones(count)
        for feature, constant in CHANNELS
    ]
    sums = [np.bincount(cell, one[source], minlength=RELATIONS * count) for one in said]
    return np.stack(sums, axis=1).reshape(count, -1)


def fit(files: list[str]) -> dict:
    """Return the coefficients of both scores by maximum likelihood."""
    from deepsteiner.scoring.labels import load_labels
    from deepsteiner.scoring.train import describe_label

    rows, sums, wanted = [], [], []
    for label in (label for path in files for label in load_labels(path)):
        if len(np.unique(label.points, axis=0)) < max(len(label.points), 4):
            continue
        (own, begin, links), chosen = describe_label(label)
        rows.append(own)
        sums.append(competing(own, begin, links))
        wanted.append(chosen)
    own, labels = np.concatenate(rows).astype(float), np.concatenate(wanted).astype(float)
    alone, constant = _logistic(own, labels)
    both, shift = _logistic(np.concatenate((own, np.concatenate(sums)), axis=1), labels)
    return {
        "linear": {"own": alone.tolist(), "constant": constant},
        "competition": {
            "own": both[:FEATURES].tolist(),
            "constant": shift,
            "sums": both[FEATURES:].reshape(RELATIONS, -1).tolist(),
        },
    }


def _logistic(inputs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, float]:
    """Return coefficients and constant of a logistic regression."""
    from scipy.optimize import minimize
    from scipy.special import expit

    mean, scale = inputs.mean(axis=0), inputs.std(axis=0) + 1e-6
    columns = np.concatenate(((inputs - mean) / scale, np.ones((len(inputs), 1))), axis=1)

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        z = columns @ x
        value = (np.logaddexp(0.0, z) - labels * z).mean()
        return float(value), columns.T @ (expit(z) - labels) / len(labels)

    found = minimize(
        loss, np.zeros(columns.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 400}
    )
    coefficients = found.x[:-1] / scale
    constant = float(found.x[-1] - coefficients @ mean)
    return coefficients.round(DECIMALS), round(constant, DECIMALS)


def main() -> None:
    """Fit, or write a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=KINDS, default="competition")
    parser.add_argument("--out", type=Path, help="write the model folder there")
    parser.add_argument("--fit", nargs="+", default=[], help="label files of the training split")
    given = parser.parse_args()
    if given.fit:
        found = fit(given.fit)
        for kind in KINDS:
            found[kind]["drop"] = read(kind)["drop"]
        STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if given.out is not None:
        print(make(given.out, given.kind), "with bars", read(given.kind)["drop"])


if __name__ == "__main__":
    main()
