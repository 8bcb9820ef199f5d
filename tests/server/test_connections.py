"""Connections: how long each may keep the server waiting, how many there are, what is logged."""

from __future__ import annotations

import json
import socket
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from serving import all_of, one_answer, request, serving, solve_body, wait_until

pytest.importorskip("fastapi", reason="the server needs the [serve] extra")
pytest.importorskip("httpx", reason="the server's tests need httpx")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's limits and /proc")

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
PATIENCE = 20.0


@pytest.fixture(scope="module")
def server():
    limits = {"head_seconds": 1.0, "answer_seconds": 4.0, "body_seconds": 6.0, "connections": 12}
    with serving(workers=1, **limits) as server:
        server.solve()
        yield server


def closed_after(connection: socket.socket, began: float) -> float:
    """Return the seconds until the other side closes; whatever it says before is dropped."""
    connection.settimeout(PATIENCE)
    all_of(connection)
    return time.monotonic() - began


# --- time-outs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [0, 1, 3])
@pytest.mark.parametrize("start", [b"", b"POST /api/solve HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: "])
def test_head_that_does_not_come_closes_the_connection(server, before, start):
    """On every request of a connection, and also where a byte comes now and then."""
    with server.connect() as connection:
        for _ in range(before):
            connection.sendall(HEALTH)
            assert one_answer(connection)[0] == 200
        began = time.monotonic()
        connection.sendall(start)
        connection.settimeout(0.2)
        while start and time.monotonic() - began < PATIENCE:
            try:
                connection.sendall(b"a")
                if connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert closed_after(connection, began) < PATIENCE - 1


def test_connection_in_use_stays_open(server):
    """The time starts anew with every request."""
    with server.connect() as connection:
        for _ in range(10):
            connection.sendall(HEALTH)
            assert one_answer(connection)[0] == 200
            time.sleep(0.3)


def test_solve_may_take_longer_than_a_head(server):
    with server.connect() as connection:
        connection.sendall(request(solve_body(20_000, time_limit=3)))
        status, answer = one_answer(connection)
    assert status == 200
    assert answer["solution"]["status"] == "time_limit"


def test_answer_that_is_not_taken_closes_the_connection(server):
    """More than the system's own buffers hold waits here, for a moment."""
    body = solve_body(20_000, "mst")
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.settimeout(PATIENCE)
        with pytest.raises(OSError, match=r"reset|[Bb]roken"):
            connection.sendall(request(body) * 100)
    assert server.client.get("/healthz").status_code == 200


def test_what_waits_to_be_taken_is_limited_in_all():
    from deepsteiner.server.limits import Limits
    from deepsteiner.server.logs import LogBudget
    from deepsteiner.server.web import Doorman

    class Transport:
        def __init__(self, unread: int) -> None:
            self.unread, self.aborted = unread, False

        def get_write_buffer_size(self) -> int:
            return self.unread

        def abort(self) -> None:
            self.aborted = True

    class Connection:
        def __init__(self, unread: int) -> None:
            self.transport = Transport(unread)

        def phase(self, now: float):
            return "answer", now

    connections = {Connection(unread) for unread in (10, 500, 700, 0)}
    doorman = Doorman(None, connections, Limits(waiting_bytes=600), LogBudget())
    doorman.sweep(0.0)
    assert [one.transport.unread for one in connections if one.transport.aborted] == [700]


# --- how many -----------------------------------------------------------------------------------


def test_idle_connections_make_way_for_new_ones(server):
    with ExitStack() as stack:
        idle = [stack.enter_context(server.connect()) for _ in range(40)]
        with server.connect() as connection:
            connection.sendall(HEALTH)
            assert one_answer(connection)[0] == 200
        assert all_of(idle[0]) == b""


def test_busy_connections_do_not_make_way(server):
    """Whoever is being served stays; the next one is told that there is no room."""
    with ExitStack() as stack:
        for _ in range(12):
            busy = stack.enter_context(server.connect())
            busy.sendall(request(b'{"points":', length=1000))
        time.sleep(0.3)
        connection = stack.enter_context(server.connect())
        answer = all_of(connection)
    assert answer.startswith(b"HTTP/1.1 503 ")
    told = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
    assert told == "all 12 connections are in use; try again soon"
    wait_until(lambda: server.solve(method="mst").status_code == 200)


@on_linux
def test_connections_fit_the_descriptors():
    import resource

    from deepsteiner.server.limits import affordable_connections

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert affordable_connections(10, 2) == 10
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        assert 50 <= affordable_connections(1000, 2) <= 120
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, hard))
        assert affordable_connections(1000, 2) == 4
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# --- the log ------------------------------------------------------------------------------------


@on_linux
def test_running_out_of_descriptors_fills_no_log():
    import resource

    with serving(workers=1) as server:
        server.solve()
        pid = server.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 4, before[1]))
        with ExitStack() as stack:
            for _ in range(60):
                stack.enter_context(server.connect())
            time.sleep(2.0)
            # Idle connections have made way, so that the server can still be asked.
            with server.connect() as connection:
                connection.sendall(HEALTH)
                assert one_answer(connection)[0] == 200
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        assert server.solve().status_code == 200
        log = server.end()
    assert "cannot accept a connection" in log
    assert "Traceback" not in log
    assert len(log.splitlines()) < 20


def test_log_keeps_to_its_budget(capsys, monkeypatch):
    import logging

    from deepsteiner.server import logs

    clock = [0.0]
    monkeypatch.setattr(logs.time, "monotonic", lambda: clock[0])
    budget = logs.LogBudget()
    for _ in range(500):
        budget.write("again")
    assert capsys.readouterr().err.splitlines() == ["again"] * logs.MESSAGES
    assert not budget.filter(logging.makeLogRecord({"msg": "from a library"}))
    clock[0] = logs.MINUTE
    budget.write("once more")
    left_out = 500 + 1 - logs.MESSAGES
    assert capsys.readouterr().err.splitlines() == [
        f"{left_out} more messages were left out",
        "once more",
    ]
