"""Engines by name, as the command line takes them: processes, Dask, Ray."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from ..core.errors import MissingDependencyError, OptionError
from ..run.executor import ProcessExecutor
from ..run.threads import cores

ENGINES = "processes, processes:8, dask, dask:8, dask://host:port, ray, ray:8 or ray://host:port"
CONNECT_SECONDS = 10


class Engine(NamedTuple):
    """An executor, what it is in words, and the address of its page where it has one."""

    executor: Executor
    words: str
    dashboard: str | None = None


@contextmanager
def open_engine(text: str) -> Iterator[Engine]:
    """Start, or connect to, the engine that a text names; end it afterwards if it was started.

    Parameters
    ----------
    text
        "processes:8" are worker processes of this machine, "dask:8" and "ray:8" a cluster of
        them that the engine starts here (without a number: one for each core); "dask://host:port"
        and "ray://host:port" are clusters that are already there.

    Yields
    ------
    Engine
        Its `executor` is what `solve_many` and `solve_stream` take.

    Raises
    ------
    OptionError
        If there is no such engine, or nobody answers at its address.
    MissingDependencyError
        If the engine is not installed.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> with open_engine("processes:1") as engine:
    ...     len(ds.solve_many([[[0, 0], [1, 0], [0, 1]]] * 5, "mst", executor=engine.executor))
    5
    """
    name, address, count = _parse(text)
    with ExitStack() as stack:
        if name == "processes":
            processes = ProcessExecutor(count)
            stack.callback(processes.shutdown, wait=False, cancel_futures=True)
            yield Engine(processes, f"{count} processes")
        elif name == "dask":
            yield _dask(address, count, stack)
        else:
            yield _ray(address, count, stack)


def _parse(text: str) -> tuple[str, str | None, int]:
    """Return the engine's name, the address of its cluster, and how many workers to start."""
    name, colon, rest = text.partition(":")
    if name not in ("processes", "dask", "ray"):
        raise OptionError(f"engine must be {ENGINES}, got {text!r}")
    if not colon:
        return name, None, cores()
    if rest.startswith("//") and len(rest) > 2 and name != "processes":
        return name, rest.removeprefix("//"), 0
    if rest.isdecimal() and int(rest) >= 1:
        return name, None, int(rest)
    raise OptionError(f"engine must be {ENGINES}, got {text!r}")


def _dask(address: str | None, count: int, stack: ExitStack) -> Engine:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise MissingDependencyError(
            "the engine 'dask' needs distributed; install it with: pip install 'deepsteiner[dask]'"
        ) from None
    place: Any = f"tcp://{address}"
    if address is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a port is taken, and another one found
            place = stack.enter_context(_local_cluster(count))
    try:
        client = stack.enter_context(distributed.Client(place, timeout=CONNECT_SECONDS))
    except (OSError, ValueError) as error:
        raise OptionError(f"no Dask scheduler answers at {address} ({error})") from None
    words = f"dask, {len(client.nthreads())} workers"
    return Engine(client.get_executor(), words, client.dashboard_link)


def _local_cluster(count: int) -> Any:
    """Return a Dask cluster of this machine, one thread a worker."""
    dask, distributed = import_module("dask"), import_module("distributed")
    # A worker has its next chunk at hand: it need not ask for one while the others compute.
    with dask.config.set({"distributed.scheduler.worker-saturation": 2.0}):
        # What fails comes back with its task; workers that are told to end log errors, too.
        return distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, silence_logs=logging.CRITICAL
        )


def _ray(address: str | None, count: int, stack: ExitStack) -> Engine:
    from .ray import RayExecutor

    given: dict[str, Any] = {"num_cpus": count} if address is None else {}
    try:
        executor = RayExecutor(f"ray://{address}" if address else None, **given)
    except ConnectionError as error:
        raise OptionError(f"no Ray cluster answers at {address} ({error})") from None
    stack.callback(executor.shutdown)
    return Engine(executor, f"ray, {executor.width} cores", executor.dashboard)
