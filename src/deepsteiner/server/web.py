"""uvicorn as we run it: it says where it is, ends cleanly, and is not held up by odd clients."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .refusals import error_body

if TYPE_CHECKING:
    from fastapi import FastAPI

    from .pool import Pool

# A connection that has not sent a whole request head by then is closed.
HEAD_SECONDS = 15.0
# A client that is still sending a refused body gets so long and so much further. Closing at once
# would reset the connection, and the sentence that says why would be lost.
DRAIN_SECONDS = 5.0
DRAIN_BYTES = 64 * 2**20


def make_server(app: FastAPI, url: str, *, open_browser: bool) -> Server:
    """Return the server of an application."""
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=5,
    )
    return Server(config, app.state.pool, url, open_browser)


class Server(uvicorn.Server):
    """uvicorn's server that says where it is, and stops solves when it ends."""

    def __init__(self, config: uvicorn.Config, pool: Pool, url: str, open_browser: bool) -> None:
        super().__init__(config)
        self._pool = pool
        self._url = url
        self._open_browser = open_browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then announce the address."""
        await super().startup(sockets)
        print(f"serving on {self._url}", flush=True)
        if self._open_browser:
            # Some browsers only return when they are closed.
            threading.Thread(target=webbrowser.open, args=(self._url,), daemon=True).start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the running solves, so that their streams end, then everything else."""
        self._pool.stop_jobs()
        await super().shutdown(sockets)


class Protocol(H11Protocol):
    """One connection."""

    _timer: asyncio.TimerHandle | None = None
    _drained = 0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(HEAD_SECONDS, self._close_if_silent)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has come, within reason where it is not wanted any more."""
        if self._refused():
            self._drained += len(data)
            if self._drained > DRAIN_BYTES:
                self.transport.close()
                return
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Go on with the connection, or let the client finish what was refused."""
        super().on_response_complete()
        if self._refused() and self._timer is not None:
            self._timer.cancel()
            self._timer = self.loop.call_later(DRAIN_SECONDS, self.transport.close)

    def _refused(self) -> bool:
        """Return whether the client is still sending a body that has had its answer."""
        return self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY

    def _close_if_silent(self) -> None:
        if getattr(self, "cycle", None) is None:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
        body = error_body("this is not an HTTP/1.1 request")
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        events = [
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ]
        # Where an answer is already under way, closing is all that is left.
        with contextlib.suppress(h11.LocalProtocolError):
            for event in events:
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
