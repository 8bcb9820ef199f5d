"""How fast training is: seconds of an epoch, states and tours per second.

    python -m benchmarks.learned.training_speed --device cuda
    python -m benchmarks.learned.training_speed --device cpu --share 0.02 --cases distill tour

An epoch is 10,240 instances with the baseline's rollouts, without t-test and validation. `--share`
measures only that part of an epoch's steps and scales up.
"""

from __future__ import annotations

import argparse
import tempfile
import time

import torch

from deepsteiner.policy.training import config, training

REINFORCE = {
    "mst-d1-32": ["paper", "mst", "d1", "first-selection"],
    "mst-d1-512": ["paper", "mst", "d1", "first-selection"],
    "knn-d2-all": ["paper", "knn", "d2", "all-selection"],
}
SETTINGS = {"mst-d1-512": ["train.batch=512"]}


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def epoch_seconds(name: str, device: str, share: float, precision: str) -> str:
    settings = [*SETTINGS.get(name, []), f"train.precision={precision}", "validation.instances=8"]
    chosen = config.load(REINFORCE[name], settings)
    with tempfile.TemporaryDirectory() as folder:
        trainer = training.new_trainer(chosen, training.open_place(folder, device))
    where = trainer.stream.device
    steps = max(2, round(share * trainer.stream.steps_per_epoch))
    trainer.stream.steps_per_epoch = steps
    trainer.objective.begin_epoch(1)
    for place in range(min(3, steps)):
        trainer.update(1, place)
    wait(where)
    started = time.perf_counter()
    trainer.objective.begin_epoch(1)
    wait(where)
    baseline = time.perf_counter() - started
    for place in range(steps):
        trainer.update(1, place)
    wait(where)
    spent = time.perf_counter() - started
    scale = chosen.data.instances / (steps * chosen.train.batch)
    return f"{scale * spent:.2f} s an epoch ({scale * baseline:.2f} s of it the baseline)"


def distill_rate(name: str, device: str, batch: int, compiled: bool, seconds: float) -> str:
    settings = [f"train.batch={batch}", f"train.compile={str(compiled).lower()}"]
    settings += ["validation.instances=8"]
    if device == "cpu":
        settings.append("train.precision=float32")
    chosen = config.load([name], settings)
    with tempfile.TemporaryDirectory() as folder:
        trainer = training.new_trainer(chosen, training.open_place(folder, device))
    where = trainer.stream.device
    started = time.perf_counter()
    warm = 1 if device == "cpu" else 10
    for place in range(warm):
        trainer.update(0, place)
    wait(where)
    ready = time.perf_counter() - started
    started, states, place = time.perf_counter(), torch.zeros((), device=where), warm
    while time.perf_counter() - started < seconds:
        trainer.update(0, place)
        states += trainer.objective.stats["states_per_instance"] * batch
        place += 1
    wait(where)
    rate = float(states) / (time.perf_counter() - started)
    memory = torch.cuda.max_memory_allocated() / 2**30 if where.type == "cuda" else 0.0
    return f"{rate:,.0f} states/s (ready after {ready:.0f} s, {memory:.0f} GiB)"


def attention_times(device: str, repeats: int = 20) -> list[str]:
    """Time attention with its gradient by each of torch's backends, for trees and neighbours."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    if device == "cpu":
        return ["needs a GPU"]
    lines = []
    for batch, tokens in ((512, 172), (512, 250), (256, 640), (64, 1300)):
        shape = (batch, tokens, 3, 8, 16)
        joint = torch.randn(shape, device=device, dtype=torch.bfloat16, requires_grad=True)
        for backend in ("CUDNN_ATTENTION", "FLASH_ATTENTION", "EFFICIENT_ATTENTION"):
            query, key, value = joint.permute(2, 0, 3, 1, 4)
            try:
                with sdpa_kernel(getattr(SDPBackend, backend)):
                    for number in range(repeats + 3):
                        if number == 3:
                            torch.cuda.synchronize()
                            started = time.perf_counter()
                        found = scaled_dot_product_attention(query, key, value)
                        torch.autograd.grad(found.sum(), joint)
                    torch.cuda.synchronize()
                spent = 1e3 * (time.perf_counter() - started) / repeats
                lines.append(f"{batch} x {tokens} tokens, {backend.lower()}: {spent:.2f} ms")
            except RuntimeError as error:
                lines.append(f"{batch} x {tokens} tokens, {backend.lower()}: {error}"[:120])
    return lines


def tour_rate(device: str, batch: int, seconds: float) -> str:
    settings = [f"train.batch={batch}", "validation.instances=8"]
    if device == "cpu":
        settings.append("train.precision=float32")
    chosen = config.load(["tsp20"], settings, config.PretrainConfig)
    with tempfile.TemporaryDirectory() as folder:
        trainer = training.new_trainer(chosen, training.open_place(folder, device))
    where = trainer.stream.device
    trainer.stream.steps_per_epoch = 5
    trainer.objective.begin_epoch(1)
    started = time.perf_counter()
    trainer.objective.begin_epoch(1)
    wait(where)
    baseline = (time.perf_counter() - started) / 5
    for place in range(3):
        trainer.update(1, place)
    wait(where)
    started, done = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        trainer.update(1, done % 5)
        done += 1
        wait(where)
    step = (time.perf_counter() - started) / done
    return f"{batch / (step + baseline):,.0f} tours/s ({1000 * step:.1f} ms a step)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto", choices=["cpu", "cuda", "auto"])
    parser.add_argument("--share", type=float, default=1.0, help="part of an epoch to measure")
    parser.add_argument("--seconds", type=float, default=8.0, help="of the rates")
    cases = [*REINFORCE, "distill", "distill-compiled", "tour", "attention"]
    parser.add_argument("--cases", nargs="*", default=cases, choices=cases)
    parser.add_argument("--batch", type=int, default=512, help="games of one distillation step")
    parser.add_argument("--config", default="mst-d1", help="of the distillation cases")
    given = parser.parse_args()
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    print(f"torch {torch.__version__}, {name}", flush=True)
    for case in given.cases:
        if case in REINFORCE:
            large = case.startswith("knn")
            precision = "bfloat16" if large and given.device != "cpu" else "float32"
            share = min(given.share, 0.05) if large else given.share
            result = epoch_seconds(case, given.device, share, precision)
        elif case == "attention":
            result = "\n  ".join(attention_times(given.device))
        elif case == "tour":
            result = tour_rate(given.device, 2048, given.seconds)
        else:
            compiled = case == "distill-compiled"
            result = distill_rate(given.config, given.device, given.batch, compiled, given.seconds)
        print(f"{case}: {result}", flush=True)


if __name__ == "__main__":
    main()
