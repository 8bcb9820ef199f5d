"""uvicorn as we run it: it says where it is, ends cleanly, and is not held up by odd clients.

A connection waits for a request's head, sends a body that was refused, is served, or takes its
answer. All but being served is the client's time, and it is limited for every request, the first
as the hundredth. Where there are too many connections, the one that has sent nothing for longest
makes way for a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from typing import Any, Literal

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from .limits import Limits
from .logs import LogBudget
from .refusals import Refusal, last_answer
from .workers.pool import Pool

Phase = Literal["head", "drain", "answer", "served"]
# How often connections are looked at.
SWEEP_SECONDS = 0.5
# Without descriptors for another connection, the next attempt comes after a pause: a short one
# where a connection has been ended for it.
PAUSE_SECONDS = 0.2
CLOSING_SECONDS = 0.01
# How long a client may go on sending a refused body, and how much of it. Closing at once would
# reset the connection, and the sentence that says why would be lost.
DRAIN_SECONDS, DRAIN_BYTES = 5.0, 64 * 2**20
# Bytes read from a connection at a time, before it is another's turn.
PIECE_BYTES = 32 * 2**10


class Server(uvicorn.Server):
    """uvicorn's server that says where it is, and stops solves when it ends."""

    def __init__(self, app: FastAPI, pool: Pool, url: str, *, open_browser: bool) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Protocol,
                ws="none",
                lifespan="on",
                log_level="error",
                access_log=False,
                server_header=False,
                timeout_keep_alive=max(1, round(pool.limits.head_seconds)),
                timeout_graceful_shutdown=5,
            )
        )
        self._pool = pool
        self._url = url
        self._open_browser = open_browser
        self._doors: list[asyncio.Task[None]] = []
        self._log = LogBudget()
        for name in ("uvicorn.error", "asyncio"):
            logging.getLogger(name).addFilter(self._log)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, open the door, then announce the address."""
        # asyncio's own way to accept logs a flood when descriptors run out, so ours does it.
        await super().startup(sockets=[])
        for listener in sockets or []:
            connections = self.server_state.connections
            doorman = Doorman(listener, connections, self._pool.limits, self._log)
            self._doors.append(asyncio.create_task(doorman.accept(self._make_protocol)))
            self._doors.append(asyncio.create_task(doorman.watch()))
        print(f"serving on {self._url}", flush=True)
        if self._open_browser:
            # Some browsers only return when they are closed.
            threading.Thread(target=webbrowser.open, args=(self._url,), daemon=True).start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the running solves, so that their streams end, then everything else."""
        for door in self._doors:
            door.cancel()
        self._pool.stop_jobs()
        await super().shutdown(sockets)

    def _make_protocol(self) -> Protocol:
        return Protocol(self.config, self.server_state, self.lifespan.state)


class Protocol(H11Protocol):
    """One connection."""

    _drained = 0
    _phase: tuple[Phase, Any] = ("head", None)
    _since = 0.0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        transport.max_size = PIECE_BYTES
        self._since = time.monotonic()

    def phase(self, now: float) -> tuple[Phase, float]:
        """Return what the connection is doing and since when, as far as was looked."""
        # Another request is another beginning, also where the phase is the same again.
        phase = (self._current_phase(), self.cycle)
        if phase != self._phase:
            self._phase, self._since = phase, now
        return phase[0], self._since

    def _current_phase(self) -> Phase:
        if self._refused():
            return "drain"
        if self.transport.get_write_buffer_size() > 0:
            return "answer"
        # A request that begins while the one before is served waits for that one.
        return "head" if self.conn.their_state is h11.IDLE else "served"

    def data_received(self, data: bytes) -> None:
        """Take what has come, within reason where it is not wanted any more."""
        if self._refused():
            self._drained += len(data)
            if self._drained > DRAIN_BYTES:
                self.transport.abort()
                return
        super().data_received(data)

    def _refused(self) -> bool:
        """Return whether the client is still sending a body that has had its answer."""
        return self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
        # Where an answer is already under way, closing is all that is left.
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(last_answer(Refusal(400, "this is not an HTTP/1.1 request")))
        self.transport.close()


class Doorman:
    """Accepts connections and ends those that take too long."""

    def __init__(
        self, listener: socket.socket, connections: set[Any], limits: Limits, log: LogBudget
    ) -> None:
        self._listener = listener
        self._connections: set[Protocol] = connections
        self._limits = limits
        self._log = log
        self._seconds: dict[Phase, float] = {
            "head": limits.head_seconds,
            "drain": DRAIN_SECONDS,
            "answer": limits.answer_seconds,
        }

    async def accept(self, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        """Accept connections for as long as the server runs."""
        loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError as error:  # above all: no descriptors left
                self._log.write(f"cannot accept a connection: {error.strerror or error}")
                ended = self._end_longest_waiting()
                await asyncio.sleep(CLOSING_SECONDS if ended else PAUSE_SECONDS)
                continue
            full = len(self._connections) >= self._limits.connections
            if full and not self._end_longest_waiting():
                self._turn_away(connection)
                continue
            with contextlib.suppress(OSError):  # gone already
                await loop.connect_accepted_socket(protocol, connection)

    async def watch(self) -> None:
        """Look at all connections every now and then."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            self.sweep(time.monotonic())

    def sweep(self, now: float) -> None:
        """End the connections whose time is over, and those that hold too much unread."""
        for connection in list(self._connections):
            phase, since = connection.phase(now)
            if now - since > self._seconds.get(phase, float("inf")):
                connection.transport.abort()
        unread = {one: one.transport.get_write_buffer_size() for one in self._connections}
        excess = sum(unread.values()) - self._limits.waiting_bytes
        for connection in sorted(unread, key=lambda one: -unread[one]):
            if excess <= 0:
                break
            excess -= unread[connection]
            connection.transport.abort()

    def _end_longest_waiting(self) -> bool:
        """End the connection that has sent no request for longest, and say whether there is one."""
        now = time.monotonic()
        waiting = [
            (since, connection)
            for connection in self._connections
            for phase, since in [connection.phase(now)]
            if phase == "head" and not connection.transport.is_closing()
        ]
        if waiting:
            min(waiting, key=lambda one: one[0])[1].transport.abort()
        return bool(waiting)

    def _turn_away(self, connection: socket.socket) -> None:
        """Say that there is no room, as far as that can be said without waiting."""
        sentence = f"all {self._limits.connections} connections are in use; try again soon"
        with connection, contextlib.suppress(OSError):
            connection.send(last_answer(Refusal(503, sentence, {"retry-after": "1"})))
