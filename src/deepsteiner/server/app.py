"""The application: routes, the page, and the pool behind them."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

import numpy as np
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from .. import __version__, datasets
from ..core.errors import InputError
from . import errors, examples
from .guard import Guard, on_internal_error, own_names
from .jobs import Answer, Job
from .limits import Limits, default_workers
from .manual import manual_page
from .options import describe_methods
from .pool import Pool
from .refusals import Refusal
from .schemas import LARGEST_SEED, ExportBody, SolveBody, TraceBody
from .tasks import MEDIA_TYPES

HERE = Path(__file__).resolve().parent
# What /api/samples calls them, and what `datasets` does.
SAMPLES = {
    "random": "uniform",
    "D1": "D1",
    "D2": "D2",
    "D3": "D3",
    "lattice": "lattice",
    "clustered": "clustered",
}
SAMPLE_SIZE = 24
FILE_SECONDS = 20.0


def create_app(pool: Pool | None = None, *, hosts: Iterable[str] | None = None) -> FastAPI:
    """Return the application; its workers end with it, and start if they have not yet."""
    pool = pool or Pool(Limits(), default_workers())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        pool.start()
        yield
        await pool.close()

    app = FastAPI(
        title="deepsteiner",
        version=__version__,
        summary="Shortest networks between points, solved over HTTP.",
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere; /docs is ours
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.pool = pool
    app.add_middleware(
        Guard, limits=pool.limits, hosts=own_names("127.0.0.1") if hosts is None else hosts
    )
    app.add_exception_handler(HTTPException, errors.on_http_exception)
    app.add_exception_handler(RequestValidationError, errors.on_invalid_request)
    app.add_exception_handler(Exception, on_internal_error)
    _add_pages(app)
    _add_facts(app, pool)
    _add_solving(app, pool)
    _add_files(app, pool)
    return app


def _add_pages(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        if not (HERE / "page" / "index.html").is_file():
            raise HTTPException(404, "the page is not installed; /docs describes the API")
        return FileResponse(HERE / "page" / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(manual_page(app.openapi()))

    @app.get("/docs/manual.css", include_in_schema=False)
    async def docs_style() -> Response:
        return FileResponse(HERE / "manual.css")

    for kind, suffix in (
        ("text/javascript", ".js"),
        ("text/css", ".css"),
        ("image/svg+xml", ".svg"),
    ):
        mimetypes.add_type(kind, suffix)  # some systems' own tables say otherwise
    app.mount("/page", StaticFiles(directory=HERE / "page", check_dir=False), name="page")


def _add_facts(app: FastAPI, pool: Pool) -> None:
    described = describe_methods()

    @app.get("/healthz", responses=examples.HEALTH)
    async def health() -> dict[str, Any]:
        """Whether the server is up, how many workers are, and how many requests wait."""
        status = "ok" if pool.ready else "starting"
        return {
            "status": status,
            "version": __version__,
            "workers": pool.ready,
            "queue": pool.queued,
        }

    @app.get("/api/methods", responses=examples.METHODS)
    async def methods() -> list[dict[str, Any]]:
        """Every method with its guarantee, its options, and whether it can be used here."""
        return described

    @app.get("/api/limits", responses=examples.LIMITS)
    async def limits() -> dict[str, Any]:
        """What a request may cost."""
        most = pool.limits
        return {
            "points": most.points,
            "trace_points": most.trace_points,
            "relays": most.relays,
            "body_bytes": most.body_bytes,
            "body_seconds": most.body_seconds,
            "time_limit": most.time_limit,
            "queue": most.queue,
        }

    @app.get("/api/samples/{name}", responses=examples.SAMPLES)
    async def sample(
        name: str,
        n: Annotated[int | None, Query(ge=1, description="How many points.")] = None,
        seed: Annotated[int, Query(ge=0, le=LARGEST_SEED)] = 0,
    ) -> dict[str, Any]:
        """Points to play with: random, D1, D2, D3 (of 10, 20 and 10 points), lattice, clustered."""
        if name not in SAMPLES:
            raise Refusal(404, f"no sample {name!r}; there are: {', '.join(SAMPLES)}")
        _check_count(n or 1, pool.limits.points)
        size = n if n is not None or name in datasets.PAPER else SAMPLE_SIZE
        try:
            points = datasets.load(SAMPLES[name], count=1, n=size, seed=seed)[0]
        except InputError as error:
            raise Refusal(422, str(error)) from None
        return {"points": points.tolist()}


def _add_solving(app: FastAPI, pool: Pool) -> None:
    def begin(body: SolveBody, *, streams: bool) -> Job:
        limits = pool.limits
        _check_count(len(body.points), limits.points)
        arguments = {
            **_common(body, limits),
            "start": body.start,
            "max_edge": body.max_edge,
            "most_relays": limits.relays,
            "streams": streams,
        }
        return pool.submit("solve", arguments, seconds=_seconds(body, limits), method=body.method)

    @app.post("/api/solve", responses=examples.SOLVE)
    async def solve(request: Request, body: SolveBody) -> Response:
        """Connect the points; the answer comes when the tree is found or the time is up."""
        return _respond(await _wait(request, pool, begin(body, streams=False)))

    @app.post("/api/solve/stream", responses=examples.STREAM)
    async def stream(request: Request, body: SolveBody) -> Response:
        """Connect the points and report progress on the way, as server-sent events.

        First `job` with an id to cancel it by, then `progress` events, then one `solution` or
        `error`. Closing the connection cancels as well.
        """
        job = begin(body, streams=True)
        return EventStream(pool, job)

    @app.delete("/api/jobs/{id}", responses=examples.CANCEL)
    async def cancel(id: str) -> dict[str, str]:
        """Cancel a streamed solve; its stream ends with the best tree so far."""
        pool.cancel(pool.find(id))
        return {"status": "cancelling"}

    @app.post("/api/trace", responses=examples.TRACE)
    async def trace(request: Request, body: TraceBody) -> Response:
        """Solve and explain: the policy's steps, or the exact solver's trees, bounds and cuts."""
        limits = pool.limits
        _check_count(len(body.points), limits.trace_points, "traced ")
        seconds = _seconds(body, limits)
        job = pool.submit("trace", _common(body, limits), seconds=seconds, method=body.method)
        return _respond(await _wait(request, pool, job))


def _add_files(app: FastAPI, pool: Pool) -> None:
    @app.post("/api/read", responses=examples.READ, openapi_extra=examples.READ_BODY)
    async def read(request: Request) -> Response:
        """Read points from the text of a file.

        `X-Filename`, percent-encoded, tells the format by its suffix; the content does otherwise.
        """
        given = unquote(request.headers.get("x-filename", "")).replace("\\", "/")
        arguments = {
            "name": Path(given).name[-100:] or "points.txt",
            "data": await request.body(),
            "most_points": pool.limits.points,
        }
        job = pool.submit("read", arguments, seconds=FILE_SECONDS)
        return _respond(await _wait(request, pool, job))

    @app.post("/api/export", responses=examples.EXPORT)
    async def export(request: Request, body: ExportBody) -> Response:
        """Return a solution as a file."""
        arguments = {**body.model_dump(), "most_relays": pool.limits.relays}
        answer = await _wait(request, pool, pool.submit("export", arguments, seconds=FILE_SECONDS))
        if answer.status != 200:
            return _respond(answer)
        name = f'attachment; filename="steiner-tree.{body.format}"'
        return Response(
            answer.body,
            media_type=MEDIA_TYPES[body.format],
            headers={"content-disposition": name},
        )


def _common(body: SolveBody | TraceBody, limits: Limits) -> dict[str, Any]:
    """Return the arguments that solving and tracing share."""
    try:
        points = np.array(body.points, dtype=np.float64)
    except OverflowError:
        raise Refusal(422, "points: a number is too large for a coordinate") from None
    return {
        "points": points,
        "method": body.method,
        "options": body.options,
        "time_limit": body.time_limit,
        "most_seconds": limits.time_limit,
        "seed": body.seed,
    }


def _seconds(body: SolveBody | TraceBody, limits: Limits) -> float:
    """Return the time a request may take: its own limit, or the server's."""
    if body.time_limit is None:
        return limits.time_limit
    if body.time_limit > limits.time_limit:
        raise Refusal(422, f"time_limit: at most {limits.time_limit:g} s, got {body.time_limit:g}")
    return body.time_limit


def _check_count(count: int, most: int, word: str = "") -> None:
    if count > most:
        raise Refusal(413, f"too many points: at most {most} {word}points, got {count}")


async def _wait(request: Request, pool: Pool, job: Job) -> Answer:
    """Wait for the answer; a client that hangs up cancels its job."""
    gone = asyncio.ensure_future(_hang_up(request))
    either: set[asyncio.Future[Any]] = {job.future, gone}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        pool.cancel(job)  # does nothing to a job that is done
    if not job.future.done():
        raise Refusal(499, "the client hung up")
    return job.future.result()


async def _hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _respond(answer: Answer) -> Response:
    timing = {"server-timing": f"solve;dur={answer.milliseconds:.2f}"}
    return Response(answer.body, answer.status, timing, "application/json")


class EventStream(StreamingResponse):
    """The progress of a job and its answer, as server-sent events."""

    def __init__(self, pool: Pool, job: Job) -> None:
        super().__init__(_events(job), media_type="text/event-stream")
        self._pool, self._job = pool, job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; however that ends, the job ends with it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._pool.cancel(self._job)


async def _events(job: Job) -> AsyncIterator[bytes]:
    yield b'event: job\ndata: {"id":"%s"}\n\n' % job.id.encode()
    async for report in job.progress():
        yield b"event: progress\ndata: %s\n\n" % report
    answer = job.future.result()
    kind = b"solution" if answer.status == 200 else b"error"
    yield b"event: %s\ndata: %s\n\n" % (kind, answer.body)
