"""The door: who may ask, how large a body may be announced, and what every answer carries."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import ANSWER_HEADERS, refusal_response
from .intake.body import too_large
from .limits import Limits
from .refusals import Refusal, quoted

# Digits of a body's size; longer ones are no sizes.
LONGEST_LENGTH = 20


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
            await send(message)

        try:
            self.check(scope["method"], Headers(scope=scope))
        except Refusal as refusal:
            await refusal_response(refusal)(scope, receive, send_guarded)
            return
        await self.app(scope, receive, send_guarded)

    def check(self, method: str, headers: Headers) -> None:
        """Refuse other hosts' names, other sites' pages, and bodies announced as too large."""
        host = headers.get("host", "")
        if not self.is_own(host):
            raise Refusal(
                403,
                f"the host {quoted(host)} is not served; --allow-host NAME at the start adds one",
            )
        origin = headers.get("origin")
        if origin is not None and _split(origin).netloc.lower() != host.lower():
            raise Refusal(403, f"pages of {quoted(origin)} may not use this server")
        length = headers.get("content-length", "0")
        is_size = len(length) <= LONGEST_LENGTH and length.isdecimal()
        if not is_size or int(length) > self.limits.body_bytes:
            raise too_large(self.limits)

    def is_own(self, host: str) -> bool:
        """Return whether a Host header names this server: an address, or a name it goes by.

        A page elsewhere can let its own name point here (DNS rebinding); the header gives it away.
        """
        name = _split(f"//{host}").hostname or ""
        with suppress(ValueError):
            return name in self.hosts or ipaddress.ip_address(name) is not None
        return False


def _split(address: str) -> SplitResult:
    """Return the parts of an address, all of them empty where it is none."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def own_names(host: str) -> set[str]:
    """Return the names under which a server bound to `host` is reached, beside addresses."""
    names = {"localhost", host.lower()}
    return names if host in ("127.0.0.1", "::1", "localhost") else names | {socket.gethostname()}
