"""Whose turn it is, what may wait, and that hostile requests leave the server as it was."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from serving import one_answer, request, resident_megabytes, serving, solve_body, wait_until

pytest.importorskip("fastapi", reason="the server needs the [serve] extra")
pytest.importorskip("httpx", reason="the server's tests need httpx")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc")


# --- the line -----------------------------------------------------------------------------------


def make_line(*clients: str):
    from deepsteiner.server.workers.jobs import Job, Line

    line = Line()
    for number, client in enumerate(clients):
        line.add(Job(number, (b"123", b"45"), 1.0, None, client=client))
    return line


def in_loop(test):
    """Run a test on an event loop, which jobs need."""

    async def run() -> None:
        test()

    return lambda: asyncio.run(run())


@in_loop
def check_turns():
    line = make_line(*"aaaabbc")
    assert len(line) == 7
    assert line.bytes == 35
    order = [line.pop() for _ in range(7)]
    assert "".join(job.client for job in order) == "abcabaa"
    assert [job.number for job in order if job.client == "a"] == [0, 1, 2, 3]
    assert (len(line), line.bytes) == (0, 0)


@in_loop
def check_crowding():
    line = make_line(*"aaabb")
    assert line.crowding_out("c").number == 2
    assert line.crowding_out("b") is None
    assert line.crowding_out("a") is None
    assert make_line().crowding_out("a") is None


def test_clients_take_turns():
    check_turns()


def test_last_of_the_longest_makes_way_for_who_has_fewer():
    check_crowding()


# --- the pool -----------------------------------------------------------------------------------


@pytest.fixture
def make_pool(monkeypatch):
    """Return a maker of pools whose workers take jobs and keep them."""
    from deepsteiner.server.limits import Limits
    from deepsteiner.server.workers.pool import Pool
    from deepsteiner.server.workers.processes import CLERK, Worker

    def begin(worker, job) -> None:
        worker.job = job

    monkeypatch.setattr(Worker, "begin", begin)

    def make(workers: int, **limits: object) -> Pool:
        pool = Pool(Limits(**limits), workers, CLERK)
        for worker in pool.workers:
            worker.ready = True
        return pool

    return make


def order(size: int = 10):
    from deepsteiner.server.workers.jobs import Order

    return Order(b"x" * size, 1.0)


def running(pool) -> list[bool]:
    """Return, for every job at work, whether it is a stream."""
    return [worker.job.streams for worker in pool.workers if worker.job is not None]


def test_streams_leave_a_worker_to_plain_requests(make_pool):
    async def run():
        pool = make_pool(3)
        streams = [pool.submit(order(), streams=True) for _ in range(20)]
        assert running(pool) == [True, True]
        plain = [pool.submit(order()) for _ in range(2)]
        assert sorted(running(pool)) == [False, True, True]
        # A worker that streams becomes free: the waiting stream has no claim while two others run.
        worker = next(one for one in pool.workers if one.job is streams[0])
        worker.job = None
        pool.dispatch()
        assert sorted(running(pool)) in ([False, True, True], [False, False, True])
        # Plain requests do not keep streams out either.
        for worker in pool.workers:
            worker.job = None
        pool.dispatch()
        assert True in running(pool)
        assert plain[1].id in pool._jobs

    asyncio.run(run())


def test_worker_that_loads_a_method_is_not_the_one_left_to_plain_requests(make_pool):
    from deepsteiner.server.workers.jobs import Job

    async def run():
        pool = make_pool(3)
        pool.workers[2].job = Job(0, (), 1.0, "exact")
        for _ in range(5):
            pool.submit(order(), streams=True)
        assert running(pool) == [True, False]  # the stream, and what is being loaded
        pool.submit(order())
        assert running(pool) == [True, False, False]

    asyncio.run(run())


def test_one_worker_serves_both_in_turn(make_pool):
    async def run():
        pool = make_pool(1)
        for _ in range(5):
            pool.submit(order(), streams=True)
        for _ in range(5):
            pool.submit(order())
        served = []
        for _ in range(10):
            served += running(pool)
            pool.workers[0].job = None
            pool.dispatch()
        assert served == [True, False] * 5

    asyncio.run(run())


def test_streams_do_not_fill_the_queue_of_plain_requests(make_pool):
    from deepsteiner.server.refusals import Refusal

    async def run():
        pool = make_pool(2, queue=3)
        for _ in range(4):
            pool.submit(order(), streams=True)
        with pytest.raises(Refusal, match="at most 3 requests wait"):
            pool.submit(order(), streams=True)
        for _ in range(4):
            pool.submit(order())

    asyncio.run(run())


def test_client_with_many_requests_makes_way_for_another(make_pool):
    async def run():
        pool = make_pool(1, queue=3)
        crowd = [pool.submit(order(), client="a") for _ in range(4)]
        other = pool.submit(order(), client="b")
        answer = await asyncio.wait_for(crowd[-1].future, 5)
        assert answer.status == 429
        pool.workers[0].job = None
        pool.dispatch()
        pool.workers[0].job = None
        pool.dispatch()
        assert pool.workers[0].job is other

    asyncio.run(run())


def test_bytes_that_wait_are_limited_in_all(make_pool):
    from deepsteiner.server.refusals import Refusal

    async def run():
        pool = make_pool(1, waiting_bytes=300_000)
        pool.submit(order())
        jobs = [pool.submit(order(140_000)) for _ in range(2)]
        with pytest.raises(Refusal, match="at most 300000 bytes") as refusal:
            pool.submit(order(140_000), client="another")
        assert refusal.value.status == 503
        pool.submit(order(1000))  # what is small may always wait
        pool.cancel(jobs[0])
        pool.submit(order(140_000))

    asyncio.run(run())


def test_large_bodies_under_way_are_limited_in_all():
    from deepsteiner.server.intake.body import Intake
    from deepsteiner.server.limits import SMALL_BYTES, Limits
    from deepsteiner.server.refusals import Refusal

    intake = Intake(Limits(waiting_bytes=100_000), None)
    with intake.holding() as first:
        first(SMALL_BYTES)
        assert intake.held == 0
        first(SMALL_BYTES + 90_000)
        with intake.holding() as second:
            second(SMALL_BYTES + 9_000)
            with pytest.raises(Refusal, match="at most 100000 bytes"):
                second(SMALL_BYTES + 10_001)
        assert intake.held == 90_000
    assert intake.held == 0


def test_small_bodies_are_checked_here_and_large_ones_by_the_clerk(make_pool):
    from starlette.requests import Request

    from deepsteiner.server.intake.body import Intake
    from deepsteiner.server.refusals import Refusal
    from deepsteiner.server.workers.jobs import Answer

    def post(body: bytes) -> Request:
        pieces = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive():
            for piece in pieces:
                return piece
            return await asyncio.Future()

        headers = [(b"content-type", b"application/json")]
        return Request({"type": "http", "headers": headers, "client": ("1.2.3.4", 5)}, receive)

    async def run():
        clerk = make_pool(1)
        intake = Intake(clerk.limits, clerk)
        assert (await intake.order(post(solve_body(10)), "solve")).method == "exact"
        assert clerk.workers[0].job is None
        large = asyncio.ensure_future(intake.order(post(solve_body(5000)), "solve"))
        while clerk.workers[0].job is None:
            await asyncio.sleep(0.01)
        job = clerk.workers[0].job
        assert job.client == "1.2.3.4"
        job.finish(Answer(422, b'{"error": "as the clerk says"}'))
        with pytest.raises(Refusal, match="as the clerk says"):
            await large
        assert intake.held == 0

    asyncio.run(run())


def test_counts_end_a_body_early():
    from deepsteiner.server.intake.body import file_counter, request_counter
    from deepsteiner.server.refusals import Refusal

    counter = request_counter(100)
    for _ in range(15):
        counter.add(b"[0,0]," * 100)
    with pytest.raises(Refusal, match="more than 1500 lists") as refusal:
        counter.add(b"[")
    assert refusal.value.status == 413
    for piece, word in ((b"{}", "objects"), (b"0,", "values"), (b"0\n", "lines")):
        with pytest.raises(Refusal, match=word):
            file_counter(100).add(piece * 50_000)


# --- the server ---------------------------------------------------------------------------------


def test_solve_is_served_beside_many_streams():
    """Without a share for each the solve would wait for all the streams, a minute each."""
    with serving(workers=2, time_limit=60.0) as server, ExitStack() as stack:
        server.solve()
        body = request(solve_body(5000), "/api/solve/stream")
        for _ in range(60):
            stack.enter_context(server.connect()).sendall(body)
        wait_until(lambda: server.client.get("/healthz").json()["queue"] >= 50)
        began = time.monotonic()
        assert server.solve().status_code == 200
        assert time.monotonic() - began < 15


@on_linux
def test_waiting_requests_hold_little_more_than_their_bytes():
    """Twenty bodies of 0.8 MB; parsed to Python's objects they would take 400 MB."""
    with serving(workers=1, time_limit=60.0) as server, ExitStack() as stack:
        server.solve()
        long = stack.enter_context(server.connect())
        long.sendall(request(solve_body(8000), "/api/solve/stream"))
        wait_until(lambda: b"progress" in long.recv(65536))
        before = resident_megabytes(server.process.pid)
        body = request(solve_body(20_000))
        for _ in range(20):
            stack.enter_context(server.connect()).sendall(body)
        wait_until(lambda: server.client.get("/healthz").json()["queue"] == 20)
        assert resident_megabytes(server.process.pid) - before < 5 * 20 * len(body) / 2**20


def test_body_that_holds_too_much_is_refused_before_it_is_complete():
    with serving(workers=1, points=100) as server:
        for path in ("/api/solve", "/api/trace", "/api/export", "/api/read"):
            with server.connect() as connection:
                body = b'{"points":[' + b"[]," * 50_000
                connection.sendall(request(body, path, length=4_000_000))
                status, answer = one_answer(connection)
            assert status == 413, path
            assert "lists, where at most 100 points are accepted" in answer["error"]


def filled(piece: bytes, size: int) -> bytes:
    return b'{"points":[' + b",".join([piece] * (size // (len(piece) + 1))) + b"]}"


@on_linux
def test_hostile_bodies_leave_no_memory_behind_and_hold_nobody_up():
    """A body of 4 MB once took 11 s and 2.5 GB, and 60 long names 240 MB for good."""
    with serving(workers=1) as server:
        server.solve()
        bodies = [filled(piece, 4_000_000) for piece in (b"[null,null]", b"[]", b'["",""]', b"{}")]
        bodies.append(filled(b"[0,0]", 500_000))
        bodies.append(filled(b"[" + b"9" * 400 + b",0]", 4_000_000))
        post, headers = server.client.post, {"content-type": "application/json"}
        for body in bodies:
            assert post("/api/solve", content=body, headers=headers).status_code in (413, 422)
        before, slowest, done = server.megabytes(), 0.0, threading.Event()

        def watch() -> float:
            slowest = 0.0
            while not done.wait(0.02):
                began = time.monotonic()
                assert server.client.get("/healthz").status_code == 200
                slowest = max(slowest, time.monotonic() - began)
            return slowest

        with ThreadPoolExecutor(1) as threads:
            watching = threads.submit(watch)
            try:
                for body in bodies * 2:
                    began = time.monotonic()
                    post("/api/solve", content=body, headers=headers)
                    slowest = max(slowest, time.monotonic() - began)
                for letter in "abcdefghijklmnop":
                    name = json.dumps({"points": [[0, 0]], "method": letter * 4_000_000})
                    answer = post("/api/solve", content=name, headers=headers)
                    assert answer.status_code == 422
            finally:
                done.set()
            assert watching.result() < 2.0
        assert slowest < 5.0
        assert server.megabytes() - before < 40
