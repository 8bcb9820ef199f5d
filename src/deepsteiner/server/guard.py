"""The door: who may ask, how large and how slow a body may be, and what every answer carries."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import error_response
from .limits import Limits
from .refusals import Refusal

POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
ANSWER_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, limits: Limits, hosts: Iterable[str]) -> None:
        self.app = app
        self.limits = limits
        self.hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ANSWER_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-cache")
                if message["status"] == 408:
                    headers["connection"] = "close"
            await send(message)

        try:
            self.check(scope["method"], Headers(scope=scope))
        except Refusal as refusal:
            response = error_response(refusal.status_code, str(refusal.detail))
            await response(scope, receive, send_guarded)
            return
        await self.app(scope, self._limited(receive), send_guarded)

    def check(self, method: str, headers: Headers) -> None:
        """Refuse other hosts' names, other sites' pages, and bodies announced as too large."""
        host = headers.get("host", "")
        if not self.is_own(host):
            raise Refusal(
                403, f"the host {host!r} is not served; --allow-host NAME at the start adds one"
            )
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise Refusal(403, f"pages of {origin!r} may not use this server")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.limits.body_bytes:
            raise self._too_large()

    def is_own(self, host: str) -> bool:
        """Return whether a Host header names this server: an address, or a name it goes by.

        A page elsewhere can let its own name point here (DNS rebinding); the header gives it away.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self.hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _too_large(self) -> Refusal:
        most = self.limits.body_bytes
        return Refusal(413, f"the body is too large: at most {most} bytes are accepted")

    def _limited(self, receive: Receive) -> Receive:
        """Return `receive` that counts bytes, and seconds until the body is complete."""
        limits, room, complete = self.limits, self.limits.body_bytes, False
        deadline: float | None = None

        async def receive_limited() -> Message:
            nonlocal room, complete, deadline
            if complete:
                return await receive()
            if deadline is None:
                deadline = asyncio.get_running_loop().time() + limits.body_seconds
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise Refusal(
                    408, f"the body did not arrive within {limits.body_seconds:g} s"
                ) from None
            complete = not message.get("more_body", False)
            room -= len(message.get("body", b""))
            if room < 0:
                raise self._too_large()
            return message

        return receive_limited


async def on_internal_error(request: Request, error: Exception) -> Response:
    """Answer what should not happen, from outside the guard; the traceback goes to the log."""
    return error_response(500, "internal error; the server's log has more", dict(ANSWER_HEADERS))


def own_names(host: str) -> set[str]:
    """Return the names under which a server bound to `host` is reached, beside addresses."""
    names = {"localhost", host.lower()}
    return names if host in ("127.0.0.1", "::1", "localhost") else names | {socket.gethostname()}
