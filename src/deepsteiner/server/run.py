"""Running the server: a socket, the workers, uvicorn, and a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Iterable
from dataclasses import replace

from ..core.errors import OptionError
from .limits import Limits, affordable_connections, default_workers
from .workers.pool import Pool

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    host: str,
    port: int,
    limits: Limits,
    workers: int | None = None,
    *,
    open_browser: bool = False,
    hosts: Iterable[str] = (),
) -> None:
    """Serve until Ctrl-C or a termination signal."""

    async def run(listener: socket.socket) -> None:
        count = workers or default_workers()
        connections = affordable_connections(limits.connections, count)
        pool = Pool(replace(limits, connections=connections), count)
        pool.start()
        await asyncio.sleep(0)
        # The first worker is on its way; loading there and here takes about as long.
        from .app import create_app
        from .guard import own_names
        from .web import Server

        app = create_app(pool, hosts=own_names(host) | set(hosts))
        url = address(host, listener.getsockname()[1])
        await Server(app, pool, url, open_browser=open_browser).serve(sockets=[listener])

    with bound_socket(host, port) as listener:
        if host not in LOOPBACK:
            print(f"warning: {host} can be reached from other machines", file=sys.stderr)
        # Ctrl-C is the normal way to end.
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(run(listener))


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to the address, or say why there is none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise OptionError(f"--host {host!r} is not an address or a known name") from None
    family, kind, protocol, _, target = found[0]
    # `socket.create_server` leaves the protocol open. asyncio then does not know that this is TCP,
    # sets no TCP_NODELAY, and answers wait 40 ms for the client's acknowledgement.
    listener = socket.socket(family, kind, protocol)
    if sys.platform != "win32":  # where it would let two servers share the port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(target)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        reason = (error.strerror or str(error)).lower()
        raise OptionError(
            f"cannot serve on {host} port {port}: {reason}; --port 0 takes a free port"
        ) from None
    return listener


def address(host: str, port: int) -> str:
    """Return the address to type into a browser.

    >>> address("::1", 8000), address("0.0.0.0", 8000)
    ('http://[::1]:8000', 'http://127.0.0.1:8000')
    """
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
