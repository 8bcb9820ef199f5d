"""The server under attack: hostile bodies, slow connections, many streams, no descriptors.

Run: python benchmarks/server_hostile.py                    (about 3 minutes)
     python benchmarks/server_hostile.py --requests 200 --connections 50 --streams 50

Everything happens on this machine, against a server that is started for it. A process of its own
fetches `/healthz` up to a hundred times a second, which shows when the server holds others up.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import resource
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import print_provenance, print_table
from server.hostile_requests import Attack, forbidden, large_bodies, odd_bodies, request
from server.load import Connection, Server, read_answer, solve_body

ANSWER_MS = 200.0
HEALTH_MS = 50.0
SOLVE_MS = 2000.0
MEMORY_MB = 20.0
REPEATS = 5
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HALF_HEAD = b"POST /api/solve HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
HALF_BODY = request("/api/solve", b'{"points":', Content_Length="1000")


class Watch:
    """A process that fetches /healthz again and again; afterwards, how long it took when."""

    def __init__(self, port: int) -> None:
        command = [sys.executable, __file__, "--watch", str(port)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.process.stdout.readline()  # it is there
        self.rows = np.empty((0, 2))

    def stop(self) -> None:
        output, _ = self.process.communicate("\n", timeout=60)
        self.rows = np.array(json.loads(output)).reshape(-1, 2)

    def slowest(self, began: float, ended: float) -> float:
        """Return the milliseconds of the slowest answer that was waited for in that time."""
        waited = (self.rows[:, 0] < ended) & (self.rows[:, 0] + self.rows[:, 1] / 1000 > began)
        return float(self.rows[waited, 1].max(initial=0.0))


def watch(port: int) -> None:
    """Fetch until a line comes in; print when each request began and how long it took."""
    rows = []
    print("watching", flush=True)
    os.set_blocking(0, False)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        while not sys.stdin.read(1):
            began = time.perf_counter()
            connection.sendall(HEALTH)
            while b"}" not in connection.recv(65536):
                pass
            rows.append((began, 1000 * (time.perf_counter() - began)))
            time.sleep(0.01)
    print(json.dumps(rows))


@dataclass
class Outcome:
    """What became of one attack."""

    attack: Attack
    statuses: set[int]
    milliseconds: list[float]
    began: float
    ended: float

    @property
    def right(self) -> bool:
        return self.statuses <= set(self.attack.statuses)


async def send(port: int, content: bytes) -> int:
    """Send a request on a connection of its own; return the status of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        answer = asyncio.ensure_future(read_answer(reader))
        writer.write(content)
        with contextlib.suppress(ConnectionError):  # the answer tells
            await writer.drain()
        return (await asyncio.wait_for(answer, 60))[0]
    finally:
        writer.close()


async def attack_once(port: int, attack: Attack) -> Outcome:
    statuses, spent, began = set(), [], time.perf_counter()
    for _ in range(REPEATS):
        started = time.perf_counter()
        statuses.add(await send(port, attack.request))
        spent.append(1000 * (time.perf_counter() - started))
    return Outcome(attack, statuses, spent, began, time.perf_counter())


def measure_bodies(server: Server) -> None:
    """Every attack by itself: its answer, its time, and what others noticed."""
    groups = {"large bodies": large_bodies(), "odd bodies": odd_bodies(), "forbidden": forbidden()}
    watching = Watch(server.port)
    outcomes = {
        name: [asyncio.run(attack_once(server.port, attack)) for attack in attacks]
        for name, attacks in groups.items()
    }
    watching.stop()
    rows = []
    for one in outcomes["large bodies"]:
        health = watching.slowest(one.began, one.ended)
        rows.append([one.attack.name, told(one), *figures(one.milliseconds, health)])
    for name in ("odd bodies", "forbidden"):
        group = outcomes[name]
        spent = [each for one in group for each in one.milliseconds]
        health = watching.slowest(group[0].began, group[-1].ended)
        wrong = [one.attack.name for one in group if not one.right]
        statuses = f"wrong: {', '.join(wrong)}" if wrong else "as they should be"
        rows.append([f"{len(group)} {name}", statuses, *figures(spent, health)])
    limits = f"{ANSWER_MS:.0f} ms, and {HEALTH_MS:.0f} ms for /healthz"
    print(f"Hostile requests, {REPEATS} times each; limits: {limits}")
    print_table(["request", "status", "median ms", "slowest ms", "/healthz ms", "within"], rows)
    print()


def told(outcome: Outcome) -> str:
    statuses = ", ".join(map(str, sorted(outcome.statuses)))
    return statuses if outcome.right else f"{statuses}, WRONG"


def figures(spent: list[float], health: float) -> list[str]:
    """Return median and slowest time, the slowest of /healthz, and whether they are in limits."""
    within = max(spent) <= ANSWER_MS and health <= HEALTH_MS
    return [*times(spent, health), "yes" if within else "NO"]


def times(spent: list[float], health: float) -> list[str]:
    return [f"{each:.0f}" for each in (float(np.median(spent)), max(spent), health)]


def measure_memory(server: Server, requests: int) -> None:
    """Many attacks behind each other, and what is left of them."""
    attacks = [*large_bodies(), *odd_bodies(), *forbidden()]

    async def run(count: int) -> None:
        for attack in itertools.islice(itertools.cycle(attacks), count):
            await send(server.port, attack.request)

    asyncio.run(run(len(attacks)))  # what is loaded for the first time stays
    settle(server)
    before = server.memory("Anonymous")
    started = time.perf_counter()
    asyncio.run(run(requests))
    seconds = time.perf_counter() - started
    time.sleep(1.0)
    after = server.memory("Anonymous")
    print(f"{requests} hostile requests in {seconds:.0f} s; limit: {MEMORY_MB:.0f} MB")
    within = "yes" if abs(after - before) <= MEMORY_MB else "NO"
    rows = [[f"{before:.0f}", f"{after:.0f}", f"{after - before:+.1f}", within]]
    print_table(["MB before", "MB after", "difference", "within"], rows)
    print()


async def slow_connection(port: int, kind: int) -> None:
    """Keep a connection open that sends next to nothing, and another when it is closed."""
    while True:
        with contextlib.suppress(OSError, EOFError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                if kind == 1:
                    writer.write(HEALTH)
                    await read_answer(reader)
                writer.write(HALF_BODY if kind == 2 else HALF_HEAD)
                while not reader.at_eof():
                    writer.write(b" ")
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(reader.read(4096), 1.0)
            finally:
                writer.close()


async def open_stream(port: int, body: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request("/api/solve/stream", body))
        while await reader.read(65536):
            pass
    finally:
        writer.close()


async def measure_share(server: Server, connections: int, streams: int) -> list[float]:
    """Return the times of solves beside slow connections and streams."""
    body = solve_body(np.random.default_rng(5).random((5000, 2)))
    crowd = [asyncio.ensure_future(slow_connection(server.port, k % 3)) for k in range(connections)]
    crowd += [asyncio.ensure_future(open_stream(server.port, body)) for _ in range(streams)]
    await asyncio.sleep(3.0)
    connection, rng, spent = Connection(server.port), np.random.default_rng(6), []
    for _ in range(20):
        started = time.perf_counter()
        status, _ = await connection.post("/api/solve", solve_body(rng.random((20, 2))))
        assert status == 200
        spent.append(1000 * (time.perf_counter() - started))
    connection.close()
    for one in crowd:
        one.cancel()
    await asyncio.gather(*crowd, return_exceptions=True)
    return spent


def print_share(server: Server, connections: int, streams: int) -> None:
    watching, began = Watch(server.port), time.perf_counter()
    spent = asyncio.run(measure_share(server, connections, streams))
    ended = time.perf_counter()
    watching.stop()
    health = watching.slowest(began, ended)
    print(
        f"{connections} slow connections and {streams} streams (exact, n = 5000) beside solves "
        f"(exact, n = 20); limit: {SOLVE_MS:.0f} ms"
    )
    within = "yes" if max(spent) <= SOLVE_MS else "NO"
    header = ["median ms", "slowest ms", "within", "/healthz ms, from the first connection on"]
    *solves, slowest_health = times(spent, health)
    print_table(header, [[*solves, within, slowest_health]])
    print()


def measure_descriptors() -> None:
    """A server without descriptors to spare, and more connections than it can have."""
    server = Server(1, stderr=subprocess.PIPE)
    asyncio.run(first_solve(server.port))
    pid = server.process.pid
    used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 5, hard))
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        time.sleep(3.0)
        started = time.perf_counter()
        status = asyncio.run(send(server.port, HEALTH))
        spent = 1000 * (time.perf_counter() - started)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 200, hard))
    server.stop()
    lines = server.process.stderr.read().splitlines()
    print("300 connections to a server with 5 descriptors left")
    print_table(["/healthz", "ms", "lines in the log"], [[status, f"{spent:.0f}", len(lines)]])


async def first_solve(port: int) -> None:
    connection = Connection(port)
    await connection.post("/api/solve", solve_body(np.random.default_rng(0).random((10, 2))))
    connection.close()


def settle(server: Server) -> None:
    """Wait until the workers have loaded what they load while idle."""
    before, deadline = 0.0, time.monotonic() + 180
    while abs(server.memory("Anonymous") - before) > 1.0 and time.monotonic() < deadline:
        before = server.memory("Anonymous")
        time.sleep(5.0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--watch", type=int, default=None, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.watch is not None:
        watch(arguments.watch)
        return
    print_provenance(seed=5)
    server = Server(arguments.workers)
    try:
        asyncio.run(first_solve(server.port))
        settle(server)
        measure_bodies(server)
        measure_memory(server, arguments.requests)
        print_share(server, arguments.connections, arguments.streams)
    finally:
        server.stop()
    measure_descriptors()


if __name__ == "__main__":
    main()
