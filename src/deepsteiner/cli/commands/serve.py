"""`deepsteiner serve`: the playground in a browser, and the same solvers over HTTP."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Annotated

import typer

from ...core.errors import MissingDependencyError, OptionError
from ...server.limits import Limits

LIMITS = Limits()
_limit = partial(typer.Option, rich_help_panel="Limits")


def serve(
    host: Annotated[
        str, typer.Option(help="The address to serve on; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8321,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=256, help="Processes that solve; one a core, and three at least."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name this server is reached by; repeatable."),
    ] = None,
    max_points: Annotated[int, _limit(min=1, help="Points of one request.")] = LIMITS.points,
    max_seconds: Annotated[float, _limit(help="Time of one solve.")] = LIMITS.time_limit,
    max_megabytes: Annotated[float, _limit(help="Size of one request's body.")] = (
        LIMITS.body_bytes / 2**20
    ),
    max_queue: Annotated[
        int, _limit(min=1, help="Requests that may wait; also streams.")
    ] = LIMITS.queue,
    max_waiting_megabytes: Annotated[
        float, _limit(help="What large ones that wait hold in all.")
    ] = LIMITS.waiting_bytes / 2**20,
    max_connections: Annotated[
        int, _limit(min=1, help="Connections open at a time.")
    ] = LIMITS.connections,
    max_worker_gigabytes: Annotated[float, _limit(help="Memory of one worker.")] = (
        LIMITS.worker_bytes / 2**30
    ),
) -> None:
    """Serve the playground: put points down, drag them, and watch the tree follow.

    A request's head must arrive within 15 s, on every request of a connection, its body within
    10 s, and its answer must be taken within 60 s. Streams get all workers but one, so that plain
    solves never wait for them; clients take turns. GET /api/limits tells all limits in force.

    \b
    Examples:
      deepsteiner serve
      deepsteiner serve --port 9000 --no-open --max-seconds 10
    """
    for name in ("fastapi", "uvicorn"):
        if find_spec(name) is None:
            raise MissingDependencyError(
                f"the server needs {name}; install it with: pip install 'deepsteiner[serve]'"
            )
    for value, option in (
        (max_seconds, "--max-seconds"),
        (max_megabytes, "--max-megabytes"),
        (max_waiting_megabytes, "--max-waiting-megabytes"),
        (max_worker_gigabytes, "--max-worker-gigabytes"),
    ):
        if not 0 < value < float("inf"):
            raise OptionError(f"{option} must be greater than 0, got {value!r}")
    from ...server.run import serve as run

    limits = Limits(
        points=max_points,
        body_bytes=int(max_megabytes * 2**20),
        time_limit=max_seconds,
        queue=max_queue,
        waiting_bytes=int(max_waiting_megabytes * 2**20),
        connections=max_connections,
        worker_bytes=int(max_worker_gigabytes * 2**30),
    )
    run(host, port, limits, workers, open_browser=not no_open, hosts=allow_host or ())
