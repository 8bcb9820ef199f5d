"""`deepsteiner serve`: the playground in a browser, and the same solvers over HTTP."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from ..core.errors import MissingDependencyError, OptionError

LIMITS = "Limits"


def serve(
    host: Annotated[
        str, typer.Option(help="The address to serve on; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8321,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, help="Processes that solve; one a core.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name this server is reached by; repeatable."),
    ] = None,
    max_points: Annotated[
        int, typer.Option(min=1, rich_help_panel=LIMITS, help="Points of one request.")
    ] = 20_000,
    max_seconds: Annotated[
        float, typer.Option(rich_help_panel=LIMITS, help="Time of one solve.")
    ] = 60.0,
    max_megabytes: Annotated[
        float, typer.Option(rich_help_panel=LIMITS, help="Size of one request's body.")
    ] = 4.0,
    max_queue: Annotated[
        int, typer.Option(min=1, rich_help_panel=LIMITS, help="Requests that may wait.")
    ] = 512,
) -> None:
    """Serve the playground: put points down, drag them, and watch the tree follow.

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
    for value, option in ((max_seconds, "--max-seconds"), (max_megabytes, "--max-megabytes")):
        if not 0 < value < float("inf"):
            raise OptionError(f"{option} must be greater than 0, got {value!r}")
    from ..server.limits import Limits
    from ..server.run import serve as run

    limits = Limits(
        points=max_points,
        body_bytes=int(max_megabytes * 2**20),
        time_limit=max_seconds,
        queue=max_queue,
    )
    run(
        host=host,
        port=port,
        open_browser=not no_open,
        workers=workers,
        limits=limits,
        hosts=allow_host or (),
    )
