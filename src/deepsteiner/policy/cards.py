"""The cards of trained models: what each is, how it was trained, how good it is, and its limits."""

from __future__ import annotations

from typing import Any

OBJECTIVES = {
    "distill": "lookahead distillation (soft targets from the one-step savings of all candidates, "
    "on the states the policy visits)",
    "reinforce": "REINFORCE with a greedy rollout baseline (Algorithm 2 of the Deep-Steiner paper)",
}


def policy_card(name: str, facts: dict[str, Any]) -> str:
    """Return the card's text from the facts that a training run keeps."""
    config = facts["config"]
    train, network, data = config["train"], config["network"], config["data"]
    results = facts.get("results", {})
    source = data["path"] or data["name"]
    how = "fresh random instances" if data["fresh"] else f"{data['instances']:,} fixed instances"
    start = facts.get("start") or "start from random weights"
    steps = facts.get("step", 0)
    rule = ""
    if train["objective"] == "reinforce":
        draws = "all candidates weighed" if config["reinforce"]["expectation"] else "one draw"
        rule = f", criterion {train['criterion']}, {draws} an instance"
    lines = [
        f"# {name}",
        "",
        "A policy that adds Steiner points to a spanning tree, one at a time.",
        "",
        f"- candidates: {_candidates(config['candidates'])}",
        f"- network: {network['layers']} layers of width {network['dim']}, "
        f"{network['heads']} heads, {network['norm']} norm, {network['inputs']} inputs, "
        f"{network['decoder']} decoder",
        f"- training: {OBJECTIVES[train['objective']]}{rule}; {start}",
        f"- data: {source}, {how}, training stream with seed {data['seed']}; "
        "no test instance was trained on",
        f"- effort: {steps * train['batch']:,} instances in {steps:,} steps of "
        f"{train['batch']:,}, learning rate {train['learning_rate']:g} ({train['schedule']}), "
        f"{facts.get('elapsed', 0.0) / 60:.1f} minutes on {facts.get('device', 'unknown')}",
        *_kept(facts),
        f"- made with `{facts.get('command', 'unknown')}`, commit {facts.get('commit')}, "
        f"seed {facts.get('seed')}, torch {facts.get('torch')}",
        "",
        "Measured with Algorithm 1, no refinement, on validation instances of the same kind:",
        "",
        *(f"- {_measure(key, value)}" for key, value in results.items() if key in MEASURES),
        "",
        "Limits: trees of Algorithm 1 are spanning trees over terminals and chosen points, "
        "without a proof. Instances unlike the training data (other sizes, other "
        "distributions) get longer trees; coordinates are mapped to the training box first.",
        "",
    ]
    return "\n".join(lines)


def tour_card(layers: int, facts: dict[str, Any]) -> str:
    """Return the text of the card of a tour model with that many encoder layers."""
    lines = [
        "# A tour model to start policies from",
        "",
        f"An attention model for tours with {layers} encoder layers, trained "
        "with REINFORCE and a greedy rollout baseline on uniform random points.",
        "It finds tours, not Steiner trees; a policy takes over its embedding and encoder.",
        "",
        *(f"- {name}: {value:.6g}" for name, value in facts["results"].items()),
        "",
        f"Trained with `{facts['command']}`, {facts['step']} steps, "
        f"{facts['elapsed'] / 60:.1f} minutes.",
        "",
    ]
    return "\n".join(lines)


def _kept(facts: dict[str, Any]) -> list[str]:
    """Return a line on whose weights these are, where a t-test decided it."""
    epoch = facts.get("kept_epoch")
    if epoch is None:
        return []
    if epoch == 0:
        return ["- kept: the weights it began with; no later policy passed the t-test"]
    return [f"- kept: the weights of epoch {epoch}, the last that passed the t-test"]


def _candidates(spec: dict[str, Any]) -> str:
    if spec["kind"] == "grid":
        return f"grid of {spec['grid']} x {spec['grid']}"
    neighbours = f", {spec['k_neighbors']} neighbours" if spec["kind"] == "knn" else ""
    return f"{spec['kind']}, k* = {spec['k_star']}{neighbours}"


MEASURES = {
    "gap": ("mean gap to the optimum", " %"),
    "saving": ("mean saving against the spanning tree", " %"),
    "length": ("mean length", ""),
}


def _measure(key: str, value: float) -> str:
    words, unit = MEASURES[key]
    return f"{words}: {value:.4g}{unit}"
