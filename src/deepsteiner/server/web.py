"""uvicorn as we run it: it says where it is, ends cleanly, and is not held up by odd clients."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
import webbrowser
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .connections import Doorman, Phase
from .logs import LogBudget
from .refusals import Refusal, last_answer

if TYPE_CHECKING:
    from fastapi import FastAPI

    from .workers.pool import Pool

# A client that is still sending a refused body may send so much further.
DRAIN_BYTES = 64 * 2**20
# What is taken from a connection at a time, before it is another's turn.
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
