"""The cards of trained models: what each is, how it was trained, how good it is, and its limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

OBJECTIVES = {
    "distill": "lookahead distillation (soft targets from the one-step savings of all candidates, "
    "on the states the policy visits)",
    "reinforce": "REINFORCE with a greedy rollout baseline (Algorithm 2 of the Deep-Steiner paper)",
}
MEASURES = {
    "gap": "mean gap to the optimum: {:.4g} %",
    "saving": "mean saving against the spanning tree: {:.4g} %",
    "length": "mean length: {:.4g}",
}


def policy_card(name: str, facts: dict[str, Any]) -> str:
    """Return the card's text from the facts that a training run keeps."""
    config = facts["config"]
    train, network, data = config["train"], config["network"], config["data"]
    how = "fresh random instances" if data["fresh"] else f"{data['instances']:,} fixed instances"
    objective, steps = OBJECTIVES.get(train["objective"], train["objective"]), facts.get("step", 0)
    if train["objective"] == "reinforce":
        draws = "all candidates weighed" if config["reinforce"]["expectation"] else "one draw"
        objective += f", criterion {train['criterion']}, {draws} an instance"
    results = facts.get("results", {})
    measures = [MEASURES[key].format(results[key]) for key in results if key in MEASURES]
    return f"""\
# {name}

A policy that adds Steiner points to a spanning tree, one at a time.

- candidates: {_candidates(config["candidates"])}
- network: {_network(network)}
- training: {objective}; {facts.get("start") or "start from random weights"}
- data: {data["path"] or data["name"]}, {how}, training stream with seed {data["seed"]}; \
no test instance was trained on
- effort: {steps * train["batch"]:,} instances in {steps:,} steps of {train["batch"]:,}, \
learning rate {train["learning_rate"]:g} ({train["schedule"]}), \
{facts.get("elapsed", 0.0) / 60:.1f} minutes on {facts.get("device", "unknown")}
{_kept(facts.get("kept_epoch"))}- made with `{facts.get("command", "unknown")}`, \
commit {facts.get("commit")}, seed {facts.get("seed")}, torch {facts.get("torch")}

Measured with Algorithm 1, no refinement, on validation instances of the same kind:

{_items(measures)}
Limits: trees of Algorithm 1 are spanning trees over terminals and chosen points, \
without a proof. Instances unlike the training data (other sizes, other \
distributions) get longer trees; coordinates are mapped to the training box first.
"""


def _network(network: dict[str, Any]) -> str:
    """Return a network in words; what only the paper's kind looks at is not said of others."""
    size = (
        f"{network['layers']} layers of width {network['dim']}, {network['heads']} heads, "
        f"{network['norm']} norm"
    )
    if network.get("kind", "attention") != "attention":
        return f"{network['kind']}, {size}"
    return f"{size}, {network['inputs']} inputs, {network['decoder']} decoder"


def tour_card(layers: int, facts: dict[str, Any]) -> str:
    """Return the text of the card of a tour model with that many encoder layers."""
    return f"""\
# A tour model to start policies from

An attention model for tours with {layers} encoder layers, trained \
with REINFORCE and a greedy rollout baseline on uniform random points.
It finds tours, not Steiner trees; a policy takes over its embedding and encoder.

{_items(f"{name}: {value:.6g}" for name, value in facts["results"].items())}
Trained with `{facts["command"]}`, {facts["step"]} steps, {facts["elapsed"] / 60:.1f} minutes.
"""


def hub_card(name: str, facts: dict[str, Any], card: str) -> str:
    """Return a policy's card as the Hugging Face hub shows it: its facts in front, then its use."""
    data, results = facts["config"]["data"], facts.get("results", {})
    names = {key: MEASURES[key].partition(":")[0] for key in results if key in MEASURES}
    metrics = "".join(
        f"    - {{type: {key}, name: {name}, value: {results[key]:.6g}}}\n"
        for key, name in names.items()
    )
    return f"""\
---
license: apache-2.0
library_name: deepsteiner
pipeline_tag: reinforcement-learning
tags: [euclidean-steiner-tree, combinatorial-optimization, attention]
model-index:
- name: {name}
  results:
  - task: {{type: reinforcement-learning, name: Euclidean Steiner tree}}
    dataset: {{name: {data["name"]}, type: {data["name"]}, split: validation}}
    metrics:
{metrics}---

{card}
To use it:

```python
import deepsteiner as ds
from huggingface_hub import snapshot_download

ds.solve(points, "policy", model=snapshot_download("YOURS/{name}"))
```
"""


def _items(lines: Iterable[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def _kept(epoch: int | None) -> str:
    """Say whose weights these are, where a t-test decided it."""
    if epoch is None:
        return ""
    if epoch == 0:
        return "- kept: the weights it began with; no later policy passed the t-test\n"
    return f"- kept: the weights of epoch {epoch}, the last that passed the t-test\n"


def _candidates(spec: dict[str, Any]) -> str:
    if spec["kind"] == "grid":
        return f"grid of {spec['grid']} x {spec['grid']}"
    neighbours = f", {spec['k_neighbors']} neighbours" if spec["kind"] == "knn" else ""
    return f"{spec['kind']}, k* = {spec['k_star']}{neighbours}"
