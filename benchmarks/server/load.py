"""The server under load: many clients at once, hostile ones beside them, and what one client sees.

Run: python -m benchmarks.server.load                       (200 clients for 60 s, about 2 minutes)
     python -m benchmarks.server.load --seconds 10 --clients 50

Clients are raw sockets in this process, so that they cost little beside the server. Every answer
is compared with the known optimum.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from common import print_provenance, print_table

import deepsteiner as ds

INSTANCES = 64
TOLERANCE = 1e-9
# The rest of the server's life, in which its memory should not grow, starts after this share.
SETTLED = 0.25


class Connection:
    """One keep-alive connection."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.writer: asyncio.StreamWriter | None = None

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(head(path, len(body)) + body)
        return await read_answer(self.reader)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def head(path: str, length: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    start = await reader.readuntil(b"\r\n\r\n")
    length = int(start.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    return int(start.split(b" ", 2)[1]), await reader.readexactly(length)


def solve_body(points: np.ndarray, method: str = "exact", **fields: object) -> bytes:
    return json.dumps({"points": points.tolist(), "method": method, **fields}).encode()


class Server:
    """A real `deepsteiner serve`."""

    def __init__(self, workers: int | None, stderr: int | None = None) -> None:
        command = [sys.executable, "-m", "deepsteiner", "serve", "--no-open", "--port", "0"]
        command += [] if workers is None else ["--workers", str(workers)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        self.port = int(self.process.stdout.readline().rpartition(":")[2])

    def memory(self, kind: str = "Pss") -> float:
        """Return the megabytes of the server and its workers, shared pages counted once.

        Kind "Anonymous" is what they have allocated themselves; libraries are files, whose pages
        count by how many others use them at the time.
        """
        pids = [self.process.pid, *children(self.process.pid)]
        return sum(size_of(pid, kind) for pid in pids) / 1024

    def stop(self) -> float:
        started = time.perf_counter()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20)
        return time.perf_counter() - started


def children(pid: int) -> list[int]:
    return [int(k) for k in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def size_of(pid: int, kind: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has just ended
        return 0.0
    return float(next(line.split()[1] for line in lines if line.startswith(f"{kind}:")))


class Load:
    """Well-behaved clients: solve, check, again."""

    def __init__(self, port: int, n: int) -> None:
        self.port = port
        points = np.random.default_rng(1).random((INSTANCES, n, 2))
        self.bodies = [solve_body(one) for one in points]
        self.optima = ds.solve_many(points, "exact").lengths
        self.milliseconds: list[float] = []
        self.problems: Counter[str] = Counter()
        self.last = 0.0

    async def client(self, number: int, until: float) -> None:
        connection, k = Connection(self.port), number
        while time.perf_counter() < until:
            k = (k + 1) % INSTANCES
            started = time.perf_counter()
            try:
                status, answer = await asyncio.wait_for(
                    connection.post("/api/solve", self.bodies[k]), 30
                )
            except (OSError, EOFError, TimeoutError) as error:
                self.problems[f"lost: {type(error).__name__}"] += 1
                connection.close()
                connection = Connection(self.port)
                continue
            self.last = time.perf_counter()
            self.milliseconds.append(1000 * (self.last - started))
            if status != 200:
                self.problems[f"status {status}"] += 1
            elif abs(json.loads(answer)["solution"]["length"] / self.optima[k] - 1) > TOLERANCE:
                self.problems["wrong length"] += 1
        connection.close()


class Hostile:
    """Clients that nobody should notice; what they were told is counted."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.told: Counter[str] = Counter()

    async def run(self, until: float) -> None:
        attacks = (self.garbage, self.ten_million, self.slow_body, self.hang_up, self.past_limit)
        await asyncio.gather(*(self.repeat(attack, until) for attack in attacks))

    async def repeat(self, attack, until: float) -> None:
        while time.perf_counter() < until:
            try:
                outcome = await asyncio.wait_for(attack(), 30)
            except (OSError, EOFError, TimeoutError) as error:
                outcome = type(error).__name__
            self.told[f"{attack.__name__}: {outcome}"] += 1
            await asyncio.sleep(0.2)

    async def exchange(self, *parts: bytes, pause: float = 0.0) -> object:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        answer = asyncio.ensure_future(read_answer(reader))
        try:
            for part in parts:
                writer.write(part)
                with contextlib.suppress(ConnectionError):  # the answer tells
                    await writer.drain()
                await asyncio.sleep(pause)
                if answer.done():
                    break
            return (await answer)[0]
        finally:
            answer.cancel()
            writer.close()

    async def garbage(self) -> object:
        return await self.exchange(os.urandom(200) + b"\r\n\r\n")

    async def ten_million(self) -> object:
        """Announce the size of 10^7 points and begin to send them."""
        chunk = b"[0.123456,0.654321]," * 50_000
        return await self.exchange(head("/api/solve", 200 * len(chunk)), *([chunk] * 200))

    async def slow_body(self) -> object:
        body = solve_body(np.zeros((50, 2)))
        pieces = [body[k : k + 1] for k in range(len(body))]
        return await self.exchange(head("/api/solve", len(body)), *pieces, pause=1.0)

    async def hang_up(self) -> object:
        """Ask for a long solve and leave."""
        body = solve_body(np.random.default_rng(2).random((3000, 2)))
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(head("/api/solve", len(body)) + body)
        await writer.drain()
        await asyncio.sleep(0.3)
        writer.close()
        return "left"

    async def past_limit(self) -> object:
        body = solve_body(np.random.default_rng(3).random((2000, 2)), time_limit=0.3)
        return await self.exchange(head("/api/solve", len(body)) + body)


async def measure_load(server: Server, arguments: argparse.Namespace) -> None:
    load, hostile = Load(server.port, arguments.n), Hostile(server.port)
    begun = time.perf_counter()
    until = begun + arguments.seconds
    tasks = [load.client(k, until) for k in range(arguments.clients)]
    if not arguments.polite:
        tasks.append(hostile.run(until))
    running = asyncio.gather(*tasks)
    await asyncio.sleep(SETTLED * arguments.seconds)
    early = server.memory()
    await asyncio.sleep((1 - SETTLED) * arguments.seconds - 0.2)
    late = server.memory()
    await running
    elapsed = load.last - begun
    answers = np.array(load.milliseconds)
    print(f"{arguments.clients} clients, {arguments.seconds:g} s, exact, n = {arguments.n}:")
    rows = [
        ["answers", len(answers)],
        ["answers a second", f"{len(answers) / elapsed:.0f}"],
        ["p50, p99, slowest (ms)", ", ".join(f"{q:.0f}" for q in quantiles(answers))],
        ["errors, wrong or lost answers", dict(load.problems) or 0],
        ["memory early and late (MB)", f"{early:.0f}, {late:.0f}"],
    ]
    rows += [[f"hostile, {name}", times] for name, times in sorted(hostile.told.items())]
    print_table(["what", "value"], rows)


def quantiles(values: np.ndarray) -> list[float]:
    return [float(np.quantile(values, q)) for q in (0.5, 0.99, 1.0)]


async def measure_alone(server: Server) -> None:
    """What one client sees: the live tree while dragging, and larger solves."""
    connection, rng, rows = Connection(server.port), np.random.default_rng(4), []
    for method, n, times in (("exact", 10, 200), ("exact", 20, 200), ("exact", 50, 20),
                             ("local", 5000, 2)):  # fmt: skip
        spent = []
        for body in [solve_body(rng.random((n, 2)), method) for _ in range(times + 1)]:
            started = time.perf_counter()
            status, _ = await connection.post("/api/solve", body)
            assert status == 200
            spent.append(1000 * (time.perf_counter() - started))
        median, _, slowest = quantiles(np.array(spent[1:]))
        rows.append([method, n, f"{median:.1f}", f"{slowest:.1f}", f"{1000 / median:.0f}"])
    connection.close()
    print("One client alone:")
    print_table(["method", "n", "median ms", "slowest ms", "a second"], rows)
    print()


async def first_solve(port: int) -> None:
    connection = Connection(port)
    await connection.post("/api/solve", solve_body(np.random.default_rng(0).random((10, 2))))
    connection.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--n", type=int, default=10)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--polite", action="store_true", help="no hostile clients")
    arguments = parser.parse_args()
    print_provenance(seed=1)
    started = time.perf_counter()
    server = Server(arguments.workers)
    up = time.perf_counter() - started
    asyncio.run(first_solve(server.port))
    print(f"listening after {up:.2f} s, first answer after {time.perf_counter() - started:.2f} s\n")
    try:
        asyncio.run(measure_alone(server))
        asyncio.run(measure_load(server, arguments))
    finally:
        print(f"\nCtrl-C to exit: {server.stop():.2f} s")


if __name__ == "__main__":
    main()
