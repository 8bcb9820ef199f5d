"""Speed of the learned system's parts; on a CUDA device, first checks that it computes the same.

Run: python -m benchmarks.learned.policy_speed                          (CPU, about a minute)
     PYTHONPATH=src python3 -m benchmarks.learned.policy_speed --device cuda     (about a minute)

Needs torch and safetensors, not numba, so it also runs where only those are installed. Without a
trained model the network's answers are computed and then overruled by the best one-step saving,
so that games last as long as a good policy's.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
import torch
from common import print_table

from deepsteiner.core.models import shipped_models
from deepsteiner.policy import checkpoint, decoding, graphs, spanning
from deepsteiner.policy.candidates import candidates
from deepsteiner.policy.device import resolve
from deepsteiner.policy.environment import Environment
from deepsteiner.policy.network import Policy
from deepsteiner.policy.rollout import Player
from deepsteiner.policy.settings import CandidateSpec, NetworkConfig

MODEL = "mst-d1"


def seconds(call, device: torch.device, repeats: int = 5, warm: int = 2) -> float:
    """Return the median time of a call, device work included."""
    times = []
    for number in range(warm + repeats):
        started = time.perf_counter()
        call()
        if device.type == "cuda":
            torch.cuda.synchronize()
        if number >= warm:
            times.append(time.perf_counter() - started)
    return float(np.median(times))


def uniform(batch: int, n: int, device: torch.device, dtype=torch.float32) -> torch.Tensor:
    rng = np.random.default_rng(0)
    return torch.tensor(rng.random((batch, n, 2)), dtype=dtype, device=device)


def check_kernels(device: torch.device) -> None:
    """Compare what the device computes with the plain versions, on ragged batches."""
    worst: dict[torch.dtype, float] = {}
    for dtype in (torch.float32, torch.float64):
        for size in (2, 3, 7, 10, 18, 33, 38, 64, 100, 128):
            points = uniform(64, size + 2, device, dtype)[:, :size]
            count = torch.randint(1, size + 1, (64,), device=device)
            count[0] = size
            edges, weights = spanning.spanning_tree(points, count)
            plain_edges, plain_weights = spanning.prim(points, count)
            assert torch.equal(edges, plain_edges), f"spanning trees differ, {size} {dtype}"
            found = candidates(points, count, edges, CandidateSpec())
            call = (points, count, edges, weights, found.points, found.mask)
            saving = spanning.lookahead(*call)
            heaviest = spanning.bottlenecks(plain_edges, plain_weights)
            plain = spanning.savings(points, count, heaviest, found.points, found.mask)
            assert torch.equal(saving.isinf(), ~found.mask), f"masks differ, {size} {dtype}"
            error = torch.cat(((weights - plain_weights).view(-1), (saving - plain)[found.mask]))
            worst[dtype] = max(worst.get(dtype, 0.0), float(error.abs().max()))
    assert worst[torch.float32] < 1e-5, worst
    assert worst[torch.float64] < 1e-12, worst
    print(
        f"kernels agree with their plain twins on {device.type}: largest difference "
        f"{worst[torch.float32]:.1e} (float32), {worst[torch.float64]:.1e} (float64)"
    )


def check_device_trees(device: torch.device, player: Player) -> None:
    """Compare greedy trees of the device with those of the CPU, in full precision."""
    points = uniform(256, 10, torch.device("cpu"), torch.float64)
    lengths = []
    for place in (device, torch.device("cpu")):
        own = type(player)(player.policy.to(place), player.spec, "float32")
        lengths.append(decoding.greedy(own, own.rules.reset(points.to(place))).length.cpu())
    player.policy.to(device)
    same = (lengths[0] - lengths[1]).abs() < 1e-9
    print(f"trees of {device.type} and cpu agree on {int(same.sum())} of 256 instances")


class Guided(Player):
    """A player whose network decides nothing: the best one-step saving overrules it."""

    def score(self, state, found):
        scores = super().score(state, found)
        return scores * 0.0 + 1000.0 * self.rules.lookahead(state, found).to(scores.dtype)


def player_on(device: torch.device, model: str | None, precision: str) -> Player:
    if model is None and MODEL in shipped_models():
        model = MODEL
    if model is not None:
        policy, meta = checkpoint.load(model, device)
        return Player(policy, checkpoint.candidate_spec(meta), precision)
    print("no trained model: an untrained network of the paper's size, overruled in every step")
    torch.manual_seed(0)
    return Guided(Policy(NetworkConfig()).eval().to(device), CandidateSpec(), precision)


def greedy_rows(player: Player, device: torch.device, cuda: bool) -> list[list[object]]:
    rows = []
    for n, batches in ((10, (1, 1024, 8192) if cuda else (1, 32)), (20, (2048,) if cuda else (8,))):
        for batch in batches:
            points = uniform(batch, n, device, torch.float64)

            def solve(points=points):
                return decoding.greedy(player, player.rules.reset(points))

            spent = seconds(solve, device, repeats=3, warm=1)
            steps = float(solve().steps.float().mean())
            rows.append(
                [
                    f"greedy tree, n = {n}, {player.precision}, {steps:.1f} points added",
                    batch,
                    f"{1000 * spent / batch:.3f} ms",
                    f"{batch / spent:,.0f}/s",
                ]
            )
    return rows


def graph_rows(player: Player, device: torch.device) -> list[list[object]]:
    """Compare the plain loop with recorded games, on small batches of a shape that comes again."""
    rows: list[list[object]] = []
    recorded = replace(player, graphs=True)
    for n, batches in ((10, (1, 8, 64, 256)), (20, (1, 64))):
        for batch in batches:
            points = uniform(batch, n, device, torch.float64)
            start = player.rules.reset(points)
            if not graphs.suits(recorded, start):
                continue
            started = time.perf_counter()
            decoding.greedy(recorded, start)
            torch.cuda.synchronize()
            first = time.perf_counter() - started
            for name, own in (("plain", player), ("recorded", recorded)):

                def solve(own=own, points=points):
                    return decoding.greedy(own, own.rules.reset(points))

                spent = seconds(solve, device, repeats=7)
                note = f", recording took {1000 * first:.0f} ms" if name == "recorded" else ""
                label = f"greedy tree, n = {n}, {own.precision}, {name}{note}"
                each = f"{1000 * spent:.2f} ms a call"
                rows.append([label, batch, each, f"{batch / spent:,.0f}/s"])
    return rows


def part_rows(player: Player, device: torch.device, cuda: bool) -> list[list[object]]:
    rows: list[list[object]] = []
    rules = Environment(player.spec, "all_selection")
    for batch in (32, 1024) if cuda else (1, 32):
        state = rules.reset(uniform(batch, 10, device))
        found = rules.candidates(state)
        choice = torch.zeros(batch, dtype=torch.int64, device=device)
        parts = {
            "reset (spanning trees)": lambda state=state: rules.reset(state.points[:, :10]),
            "candidates": lambda state=state: rules.candidates(state),
            "step (insertion)": lambda s=state, c=choice, f=found: rules.step(s, c, f),
            "lookahead": lambda state=state, found=found: rules.lookahead(state, found),
            "network": lambda state=state, found=found: player.score(state, found),
        }
        for name, call in parts.items():
            with torch.inference_mode():
                spent = seconds(call, device)
            label = f"{name}, n = 10"
            rows.append([label, batch, f"{1000 * spent:.3f} ms a call", f"{batch / spent:,.0f}/s"])
    return rows


def distillation_row(player: Player, device: torch.device, batch: int) -> list[object]:
    """Time the whole step: states of depth 0 to 3, lookahead of all candidates, loss, Adam."""
    policy = Policy(player.policy.config).to(device).train()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-4, fused=device.type == "cuda")
    learner = replace(player, policy=policy, criterion="all_selection")
    rules = learner.rules

    def steps() -> None:
        state = rules.reset(uniform(batch, 10, device))
        for _ in range(4):
            found = rules.candidates(state)
            saving = rules.lookahead(state, found)
            target = (saving / (0.1 * saving.amax(dim=1, keepdim=True).clamp(min=1e-6))).softmax(1)
            scores = learner.score(state, found)
            optimizer.zero_grad(set_to_none=True)
            (-(target * scores).sum() / batch).backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
            state = rules.step(state, saving.argmax(dim=1), found)

    spent = seconds(steps, device, repeats=3, warm=1) / 4
    label = f"distillation step, n = 10, {policy.config.norm} norm, {player.precision}"
    return [label, batch, f"{1000 * spent:.2f} ms a step", f"{batch / spent:,.0f} states/s"]


def profile(player: Player, device: torch.device) -> None:
    """Print where the time of greedy inference goes."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiler

    points = uniform(8192 if device.type == "cuda" else 16, 10, device, torch.float64)
    decoding.greedy(player, player.rules.reset(points))
    kinds = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (device.type == "cuda")
    with profiler(activities=kinds) as record:
        decoding.greedy(player, player.rules.reset(points))
    key = "self_cuda_time_total" if device.type == "cuda" else "self_cpu_time_total"
    print(record.key_averages().table(sort_by=key, row_limit=18, max_name_column_width=70))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda", "auto"))
    parser.add_argument("--model", help="a folder; the shipped model where there is one")
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    device = resolve(arguments.device)
    cuda = device.type == "cuda"
    name = torch.cuda.get_device_name() if cuda else f"{torch.get_num_threads()} threads"
    print(f"torch {torch.__version__}, {device.type}: {name}")
    player = player_on(device, arguments.model, "bfloat16" if cuda else "float32")
    if cuda:
        check_kernels(device)
        check_device_trees(device, player)
    rows = part_rows(player, device, cuda)
    rows += greedy_rows(player, device, cuda)
    if cuda:
        rows += graph_rows(player, device)
        exact = type(player)(player.policy, player.spec, "float32")
        rows += greedy_rows(exact, device, cuda)
    rows += [distillation_row(player, device, batch) for batch in ((1024, 4096) if cuda else (16,))]
    print_table(["what", "batch", "time", "rate"], rows)
    if arguments.profile:
        profile(player, device)


if __name__ == "__main__":
    main()
