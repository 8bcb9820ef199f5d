"""The server as a process: how it starts and ends, and what it survives."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from deepsteiner.cli import run
from serving import Server, request, serving, wait_until

pytest.importorskip("fastapi", reason="the server needs the [serve] extra")
pytest.importorskip("httpx", reason="the server's tests need httpx")
on_linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")


@pytest.fixture(scope="module")
def server():
    with serving(body_seconds=1.0, grace=1.0, time_limit=30.0) as server:
        yield server


@pytest.fixture(scope="module")
def lone():
    """Return a server with one worker, which everything depends on."""
    with serving(workers=1, grace=0.5, time_limit=30.0) as server:
        yield server


def is_alive(pid: int) -> bool:
    """Return whether a process is there and not just waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# --- starting and ending ------------------------------------------------------------------------


@on_linux
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_command_starts_solves_and_ends_with_all_its_workers(end):
    server = Server([sys.executable, "-m", "deepsteiner", "serve", "--no-open", "--port", "0"])
    assert server.address.startswith("http://127.0.0.1:")
    assert server.solve().json()["solution"]["status"] == "optimal"
    workers = server.children()
    assert len(workers) >= 2
    server.client.close()
    server.process.send_signal(end)
    _, errors = server.process.communicate(timeout=20)
    assert server.process.returncode == {signal.SIGINT: 0}.get(end, -end)
    assert "Traceback" not in errors
    wait_until(lambda: not any(map(is_alive, workers)), 10)
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", server.port))


def test_listener_is_known_to_be_tcp():
    """Without that asyncio sets no TCP_NODELAY, and small answers take 40 ms longer."""
    from deepsteiner.server.run import bound_socket

    with bound_socket("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_port_in_use_is_one_sentence(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["serve", "--no-open", "--port", str(port)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: cannot serve on 127.0.0.1 port {port}: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "no.such.host.invalid"], "is not an address"),
        (["--port", "70000"], "65535"),
        (["--max-seconds", "0"], "--max-seconds must be greater than 0"),
        (["--max-megabytes", "nan"], "--max-megabytes must be greater than 0"),
        (["--max-waiting-megabytes", "0"], "--max-waiting-megabytes must be greater than 0"),
        (["--max-worker-gigabytes", "inf"], "--max-worker-gigabytes must be greater than 0"),
        (["--max-connections", "0"], "--max-connections"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_bad_options_are_one_sentence(capsys, arguments, words):
    assert run(["serve", "--no-open", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_missing_packages_are_one_sentence(capsys, monkeypatch):
    monkeypatch.setattr("deepsteiner.cli.commands.serve.find_spec", lambda name: None)
    assert run(["serve"]) == 2
    assert "pip install 'deepsteiner[serve]'" in capsys.readouterr().err


def test_serving_other_machines_is_announced():
    command = [sys.executable, "-m", "deepsteiner", "serve", "--no-open", "--port", "0"]
    server = Server([*command, "--host", "0.0.0.0", "--workers", "1"])
    server.client.close()
    server.process.terminate()
    _, errors = server.process.communicate(timeout=20)
    assert "warning: 0.0.0.0 can be reached from other machines" in errors.splitlines()


# --- what it survives ---------------------------------------------------------------------------


def test_many_clients_at_once_all_get_their_answers(server, golden):
    points, optima = golden("u10", 40)

    def ask(k: int) -> float:
        body = {"points": points[k].tolist(), "method": "exact"}
        return server.client.post("/api/solve", json=body).json()["solution"]["length"]

    with ThreadPoolExecutor(40) as threads:
        assert list(threads.map(ask, range(40))) == pytest.approx(optima)


@on_linux
def test_solve_past_its_limit_is_ended_and_the_worker_replaced(lone):
    """A stopped process stands for a solver that does not look at the clock."""
    assert lone.solve(method="mst").status_code == 200
    (worker,) = lone.workers()
    os.kill(worker, signal.SIGSTOP)
    answer = lone.solve(method="mst", time_limit=0.5)
    assert answer.status_code == 504
    assert "limit of 0.5 s" in answer.json()["error"]
    assert lone.solve(method="mst").status_code == 200
    assert not is_alive(worker)


@on_linux
def test_worker_that_dies_is_replaced(lone):
    lone.solve()
    with ThreadPoolExecutor(1) as thread:
        long = thread.submit(lone.solve, 3000)
        time.sleep(0.5)
        (worker,) = lone.workers()
        os.kill(worker, signal.SIGKILL)
        answer = long.result()
    assert answer.status_code == 500
    assert "send the request again" in answer.json()["error"]
    assert lone.solve().status_code == 200


def test_garbage_is_refused_in_one_sentence(server):
    answer = server.raw(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {
        "error": "this is not an HTTP/1.1 request"
    }


def test_slow_body_is_refused(server):
    began = time.monotonic()
    answer = server.raw(request(b'{"points": ', length=1000))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive within 1 s" in answer
    assert time.monotonic() - began < 10


def test_ten_million_points_are_refused_before_they_arrive(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(request(b"[[0.5,0.5],", length=200_000_000))
        answer = b""
        while b"}" not in answer:
            answer += connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"at most 4194304 bytes" in answer


def test_client_in_the_middle_of_a_refused_body_hears_why(server):
    answer = server.client.post("/api/solve", content=b"[" * 5_000_000)
    assert answer.status_code == 413


def start_stream(server: Server, n: int, started: threading.Event, ids: list[str]) -> list[str]:
    """Stream a solve; return the lines."""
    body = {"points": np.random.default_rng(n).random((n, 2)).tolist(), "method": "exact"}
    lines = []
    with server.client.stream("POST", "/api/solve/stream", json=body) as answer:
        for line in answer.iter_lines():
            lines.append(line)
            if '"id"' in line and not ids:
                ids.append(json.loads(line.removeprefix("data: "))["id"])
            if line == "event: progress":
                started.set()
    return lines


def test_full_queue_refuses_cancel_and_hang_up_make_room():
    with serving(workers=1, queue=1, time_limit=60.0) as server:
        server.solve()
        started, ids = threading.Event(), []
        with ThreadPoolExecutor(3) as threads:
            long = threads.submit(start_stream, server, 4000, started, ids)
            assert started.wait(30)
            waiting = threads.submit(server.solve)
            wait_until(lambda: server.client.get("/healthz").json()["queue"] == 1)
            refused = server.solve()
            assert refused.status_code == 429
            assert "at most 1 requests wait" in refused.json()["error"]
            assert server.client.delete(f"/api/jobs/{ids[0]}").json() == {"status": "cancelling"}
            last = json.loads(long.result()[-2].removeprefix("data: "))
            assert last["solution"]["status"] == "interrupted"
            assert waiting.result().status_code == 200
        # A client that leaves takes its solve with it: the only worker is free again.
        body = json.dumps(
            {"points": np.random.default_rng(1).random((4000, 2)).tolist(), "method": "exact"}
        ).encode()
        for path in ("/api/solve", "/api/solve/stream"):
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(request(body, path))
                time.sleep(0.5)
            began = time.monotonic()
            assert server.solve().status_code == 200
            assert time.monotonic() - began < 20


@on_linux
def test_ctrl_c_ends_a_running_stream_with_its_best_tree():
    with serving(workers=1) as server:
        server.solve()
        started = threading.Event()
        with ThreadPoolExecutor(1) as threads:
            stream = threads.submit(start_stream, server, 4000, started, [])
            assert started.wait(30)
            server.process.send_signal(signal.SIGINT)
            lines = stream.result()
        assert '"status":"interrupted"' in lines[-2]
        assert server.process.wait(20) == 0


def test_workers_that_cannot_start_do_not_keep_anyone_waiting(monkeypatch):
    from deepsteiner.server.limits import Limits
    from deepsteiner.server.refusals import Refusal
    from deepsteiner.server.workers import processes
    from deepsteiner.server.workers.jobs import Order
    from deepsteiner.server.workers.pool import Pool

    failing = (sys.executable, "-c", "raise SystemExit(1)")
    monkeypatch.setattr(processes, "START_COMMAND", failing)
    monkeypatch.setattr(processes, "FIRST_PAUSE", 0.01)

    async def ask():
        pool = Pool(Limits(), 2)
        pool.start()
        waiting = pool.submit(Order(b"", 1.0))
        answer = await asyncio.wait_for(waiting.future, 30)
        with pytest.raises(Refusal, match="no worker can be started"):
            pool.submit(Order(b"", 1.0))
        await pool.close()
        return answer

    answer = asyncio.run(ask())
    assert answer.status == 503
    assert b"no worker can be started" in answer.body


def test_a_fault_in_a_task_is_told_logged_and_survived(capfd):
    from deepsteiner.server.workers.frames import REPLY, pack_task
    from deepsteiner.server.workers.worker import Request, Worker

    def broken(channel):
        raise ZeroDivisionError("nobody thought of this")

    tasks = {"broken": broken, "sound": lambda channel: b"{}"}
    source, target = os.pipe()
    with open(source, "rb") as answers, open(target, "wb"):
        worker = Worker(answers, target, tasks)
        for job, task in enumerate(tasks, start=1):
            worker.serve(Request(job, False, pack_task(task)))
        size, job, status, _ = REPLY.unpack(answers.read(REPLY.size))
        told = json.loads(answers.read(size))["error"]
        assert (job, status) == (1, 500)
        assert told == "internal error; the server's log has more"
        assert REPLY.unpack(answers.read(REPLY.size))[1:3] == (2, 200)
    assert "ZeroDivisionError: nobody thought of this" in capfd.readouterr().err
