"""Who may ask, what every answer carries, and the answers to requests that cannot be served."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, urlsplit

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .intake.body import too_large
from .limits import Limits
from .refusals import INTERNAL, Refusal, error_body, problem_sentence, quoted, short

# Digits of a body's size; longer ones are no sizes.
LONGEST_LENGTH = 20
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


def refusal_response(refusal: Refusal) -> Response:
    """Return a refusal as a response."""
    body = error_body(refusal.sentence)
    return Response(body, refusal.status, refusal.headers, media_type="application/json")


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer a request that failed: refused, not routed, malformed, or through a fault of ours."""
    if isinstance(error, Refusal):
        return refusal_response(error)
    if isinstance(error, RequestValidationError):
        return refusal_response(Refusal(422, problem_sentence(error.errors()[0])))
    if not isinstance(error, HTTPException):
        # This one is sent from outside the guard, so it brings the headers itself.
        return refusal_response(Refusal(*INTERNAL, ANSWER_HEADERS))
    sentence, path = str(error.detail), short(request.url.path)
    if error.status_code == 404:
        sentence = f"there is nothing at {path}; /docs lists what there is"
    elif error.status_code == 405:
        sentence = f"{short(request.method)} is not served at {path}; see /docs"
    return refusal_response(Refusal(error.status_code, sentence, error.headers))


HANDLERS: dict[int | type[Exception], Any] = dict.fromkeys(
    (Refusal, HTTPException, RequestValidationError, Exception), answer_error
)
