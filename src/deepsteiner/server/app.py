"""The application: routes, the page, and the pool behind them."""

from __future__ import annotations

import mimetypes
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import FastAPI, Query, Request
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from .. import __version__, datasets
from . import manual
from .guard import HANDLERS, Guard, own_names
from .intake.body import Intake
from .intake.checks import check_count
from .intake.schemas import LARGEST_SEED, ExportBody, SolveBody, TraceBody, described
from .limits import Limits, default_workers
from .options import describe_methods
from .refusals import Refusal, quoted
from .workers.frames import pack_task
from .workers.jobs import Answer, Job, Order
from .workers.pool import Pool, answered, client_of
from .workers.processes import CLERK

HERE = Path(__file__).resolve().parent
PAGE_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
# Of the files that /api/export makes, by format.
MEDIA_TYPES = {
    "json": "application/json",
    "geojson": "application/geo+json",
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}
SAMPLES = ("random", "D1", "D2", "D3", "lattice", "clustered")
SAMPLE_SIZE = 24
SAMPLE_SECONDS = 10.0


def create_app(pool: Pool | None = None, *, hosts: Iterable[str] | None = None) -> FastAPI:
    """Return the application; its workers end with it, and start if they have not yet."""
    pool = pool or Pool(Limits(), default_workers())
    clerk = Pool(pool.limits, 1, CLERK)
    intake = Intake(pool.limits, clerk)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        pool.start()
        clerk.start()
        yield
        await pool.close()
        await clerk.close()

    app = FastAPI(
        title="deepsteiner",
        version=__version__,
        summary="Shortest networks between points, solved over HTTP.",
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere; /docs is ours
        redoc_url=None,
        lifespan=lifespan,
        exception_handlers=HANDLERS,
    )
    app.add_middleware(
        Guard, limits=pool.limits, hosts=own_names("127.0.0.1") if hosts is None else hosts
    )
    _add_pages(app)
    _add_facts(app, pool, clerk)
    _add_solving(app, pool, intake)
    _add_files(app, pool, intake)
    return app


def _add_pages(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        if not (HERE / "page" / "index.html").is_file():
            raise Refusal(404, "the page is not installed; /docs describes the API")
        return FileResponse(HERE / "page" / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(manual.page(app.openapi()))

    @app.get("/docs/manual.css", include_in_schema=False)
    async def docs_style() -> Response:
        return FileResponse(HERE / "manual.css")

    for suffix, kind in PAGE_TYPES.items():
        mimetypes.add_type(kind, suffix)  # some systems' own tables say otherwise
    app.mount("/page", StaticFiles(directory=HERE / "page", check_dir=False), name="page")


def _add_facts(app: FastAPI, pool: Pool, clerk: Pool) -> None:
    known = describe_methods()
    first = next(method for method in known if method["name"] == "mst")

    @app.get("/healthz", responses=manual.HEALTH)
    async def health() -> dict[str, Any]:
        """Whether the server is up, how many workers are, and how many requests wait."""
        return {
            "status": "ok" if pool.ready else "starting",
            "version": __version__,
            "workers": pool.ready,
            "queue": pool.queued,
        }

    @app.get("/api/methods", responses=manual.answer([first]))
    async def methods() -> list[dict[str, Any]]:
        """Every method with its guarantee, its options, and whether it can be used here."""
        return known

    @app.get("/api/limits", responses=manual.LIMITS)
    async def limits() -> dict[str, Any]:
        """What a request may cost."""
        return pool.limits.told(len(pool.workers))

    @app.get("/api/samples/{name}", responses=manual.SAMPLES)
    async def sample(
        request: Request,
        name: str,
        n: Annotated[int | None, Query(ge=1, description="How many points.")] = None,
        seed: Annotated[int, Query(ge=0, le=LARGEST_SEED)] = 0,
    ) -> Response:
        """Points to play with: random, D1, D2, D3 (of 10, 20 and 10 points), lattice, clustered."""
        if name not in SAMPLES:
            raise Refusal(404, f"no sample {quoted(name)}; there are: {', '.join(SAMPLES)}")
        check_count(n or 1, pool.limits.points)
        size = n if n is not None or name in datasets.PAPER else SAMPLE_SIZE
        kind = "uniform" if name == "random" else name
        task = pack_task("sample", name=kind, n=size, seed=seed)
        return _respond(await answered(request, clerk, Order(task, SAMPLE_SECONDS)))


def _add_solving(app: FastAPI, pool: Pool, intake: Intake) -> None:
    @app.post("/api/solve", responses=manual.SOLVE, openapi_extra=described(SolveBody))
    async def solve(request: Request) -> Response:
        """Connect the points; the answer comes when the tree is found or the time is up."""
        return _respond(await answered(request, pool, await intake.order(request, "solve")))

    @app.post("/api/solve/stream", responses=manual.STREAM, openapi_extra=described(SolveBody))
    async def stream(request: Request) -> Response:
        """Connect the points and report progress on the way, as server-sent events.

        First `job` with an id to cancel it by, then `progress` events, then one `solution` or
        `error`. Closing the connection cancels as well.
        """
        order = await intake.order(request, "solve")
        job = pool.submit(order, client=client_of(request), streams=True)
        return EventStream(pool, job)

    @app.delete("/api/jobs/{id}", responses=manual.CANCEL)
    async def cancel(id: str) -> dict[str, str]:
        """Cancel a streamed solve; its stream ends with the best tree so far."""
        pool.cancel(pool.find(id))
        return {"status": "cancelling"}

    @app.post("/api/trace", responses=manual.TRACE, openapi_extra=described(TraceBody))
    async def trace(request: Request) -> Response:
        """Solve and explain: the policy's steps, or the exact solver's trees, bounds and cuts."""
        return _respond(await answered(request, pool, await intake.order(request, "trace")))


def _add_files(app: FastAPI, pool: Pool, intake: Intake) -> None:
    @app.post("/api/read", responses=manual.READ, openapi_extra=manual.READ_BODY)
    async def read(request: Request) -> Response:
        """Read points from the text of a file.

        `X-Filename`, percent-encoded, tells the format by its suffix; the content does otherwise.
        """
        given = unquote(request.headers.get("x-filename", "")).replace("\\", "/")
        name = Path(given.replace("\0", "")).name[-100:] or "points.txt"
        return _respond(await answered(request, pool, await intake.file_order(request, name)))

    @app.post("/api/export", responses=manual.EXPORT, openapi_extra=described(ExportBody))
    async def export(request: Request) -> Response:
        """Return a solution as a file."""
        order = await intake.order(request, "export")
        suffix, waiting = order.format, answered(request, pool, order)
        del order  # the job will hold it, until it is sent
        answer = await waiting
        if answer.status != 200:
            return _respond(answer)
        headers = {"content-disposition": f'attachment; filename="steiner-tree.{suffix}"'}
        return Response(answer.body, headers=headers, media_type=MEDIA_TYPES[suffix])


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
