"""What First-selection teaches: how much of the best first point's saving a policy finds, and on.

Run: python -m benchmarks.learned.first_selection [--count 300] MODEL ...

A model is a shipped name or a folder, and is tried on golden uniform instances of its training
size. First-selection rewards the first point alone; Algorithm 1 then asks for more until one makes
the tree longer. The columns: the gap of the spanning tree; after the best of all first candidates;
after the policy's first candidate (kept even if it is longer); what share of the best saving that
is; how many points Algorithm 1 adds and where it ends; and the gap if the policy added a best point
as often as it adds any.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from common import golden, print_provenance, print_table
from torch import Tensor

from deepsteiner.policy import checkpoint
from deepsteiner.policy.environment import Environment, State
from deepsteiner.policy.network import Policy
from deepsteiner.policy.rollout import Player
from deepsteiner.policy.settings import CandidateSpec

SETS = {"D1": "u10", "D2": "u20"}
CHUNK = 50
HEADER = ["model", "tree", "best first", "first", "share", "points", "Algorithm 1", "as many best"]


def lengths(policy: Policy, spec: CandidateSpec, points: Tensor) -> dict[str, Tensor]:
    """Return the lengths (B,) after each kind of play, and the number of points added."""
    player = Player(policy, spec)
    rules = player.rules
    start = end = rules.reset(points)
    found = rules.candidates(start)
    saving = rules.lookahead(start, found)
    chosen = player.score(start, found).argmax(dim=1)
    for _ in range(rules.most_steps(points.shape[1])):
        found = rules.candidates(end)
        end = rules.step(end, player.score(end, found).argmax(dim=1), found)
    return {
        "tree": start.length,
        "best first": start.length - saving.amax(dim=1),
        "first": start.length - saving.gather(1, chosen[:, None])[:, 0],
        "points": end.steps.double(),
        "Algorithm 1": end.length,
        "as many best": best_points(rules, start, end.steps).length,
    }


def best_points(rules: Environment, state: State, number: Tensor) -> State:
    """Return the state after so many best points (B,) in every instance."""
    for step in range(int(number.max())):
        found = rules.candidates(state)
        after = rules.step(state, rules.lookahead(state, found).argmax(dim=1), found)
        rows = (number > step).nonzero()[:, 0]
        state = state.put(rows, after.take(rows))
    return state


@torch.no_grad()
def measure(model: str, count: int) -> list[object]:
    """Return a row of the table."""
    policy, meta = checkpoint.load(model)
    data = meta["config"]["data"]["name"]
    if data not in SETS:
        raise SystemExit(f"{model} was trained on {data}; there are golden instances for D1 and D2")
    points, optima = golden(SETS[data])
    points, optima = torch.as_tensor(points[:count], dtype=torch.float32), optima[:count]
    spec = checkpoint.candidate_spec(meta)
    parts = [lengths(policy, spec, part) for part in points.split(CHUNK)]
    found = {name: torch.cat([part[name] for part in parts]).numpy() for name in parts[0]}
    gaps = {k: 100.0 * np.mean(v / optima - 1.0) for k, v in found.items() if k != "points"}
    share = (gaps["tree"] - gaps["first"]) / (gaps["tree"] - gaps["best first"])
    name = model.removesuffix("/model").rsplit("/", 1)[-1]
    written = {k: f"{value:.3f}" for k, value in gaps.items()}
    written |= {"model": name, "share": f"{share:.0%}", "points": f"{found['points'].mean():.2f}"}
    return [written[column] for column in HEADER]


def main() -> None:
    """Print the table of the models given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="+")
    parser.add_argument("--count", type=int, default=300, help="instances of a set")
    given = parser.parse_args()
    print_provenance()
    print_table(HEADER, [measure(model, given.count) for model in given.model])


if __name__ == "__main__":
    main()
