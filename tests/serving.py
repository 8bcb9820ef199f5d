"""A running server and what a test wants to do to it and to know about it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

SERVE = """
from deepsteiner.server.limits import Limits
from deepsteiner.server.run import serve
serve(host="127.0.0.1", port=0, open_browser=False, workers={workers}, limits=Limits({limits}))
"""
SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]


class Server:
    """A server as a process of its own."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.address = self.process.stdout.readline().split()[-1]
        self.port = int(self.address.rpartition(":")[2])
        import httpx

        self.client = httpx.Client(base_url=self.address, timeout=60)

    def workers(self) -> list[int]:
        """Return the processes that solve."""
        return [pid for pid in self.children() if "server.workers.worker" in command_line(pid)]

    def children(self) -> list[int]:
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(child) for task in tasks for child in task.read_text().split()]

    def megabytes(self) -> float:
        """Return the memory of the server and all its processes."""
        return sum(resident_megabytes(pid) for pid in [self.process.pid, *self.children()])

    def solve(self, n: int = 10, method: str = "exact", **fields: object):
        points = np.random.default_rng(n).random((n, 2)).tolist()
        return self.client.post("/api/solve", json={"points": points, "method": method, **fields})

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def raw(self, *pieces: bytes) -> bytes:
        """Send bytes as they are and return all that comes back."""
        with self.connect() as connection:
            for piece in pieces:
                connection.sendall(piece)
            return all_of(connection)

    def end(self) -> str:
        """End the server; return its log."""
        self.client.close()
        self.process.terminate()
        return self.process.communicate(timeout=30)[1]


@contextmanager
def serving(workers: int = 2, **limits: object):
    """Run a server with these limits."""
    words = ", ".join(f"{name}={value!r}" for name, value in limits.items())
    server = Server([sys.executable, "-c", SERVE.format(workers=workers, limits=words)])
    try:
        yield server
    finally:
        server.end()


def request(body: bytes = b"", path: str = "/api/solve", length: int | None = None) -> bytes:
    """Return a request as bytes, with a body that may be announced as longer than it is."""
    size = len(body) if length is None else length
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {size}\r\n\r\n"
    ).encode() + body


def solve_body(n: int, method: str = "exact", **fields: object) -> bytes:
    points = np.random.default_rng(n).random((n, 2)).tolist()
    return json.dumps({"points": points, "method": method, **fields}).encode()


def all_of(connection: socket.socket) -> bytes:
    """Return everything that comes until the other side closes."""
    answer = b""
    try:
        while chunk := connection.recv(65536):
            answer += chunk
    except ConnectionResetError:
        pass
    return answer


def one_answer(connection: socket.socket) -> tuple[int, dict]:
    """Return status and JSON of the next answer on a connection."""
    content = b""
    while b"\r\n\r\n" not in content:
        content += received(connection)
    head, _, body = content.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += received(connection)
    return int(head.split()[1]), json.loads(body)


def received(connection: socket.socket) -> bytes:
    chunk = connection.recv(65536)
    assert chunk, "the connection was closed before the answer was complete"
    return chunk


def sentence(answer) -> str:
    """Return the sentence of a refusal, which has nothing else in it."""
    body = answer.json()
    assert list(body) == ["error"]
    assert "\n" not in body["error"]
    assert "Traceback" not in body["error"]
    assert len(body["error"]) < 450
    return body["error"]


def wait_until(condition, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this should have happened by now"
        time.sleep(0.05)


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def resident_megabytes(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(float(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024
