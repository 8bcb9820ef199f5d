"""Ray as an executor: calls become its tasks, which it restarts where a worker is lost."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from importlib import import_module
from typing import Any

from ..core.errors import MissingDependencyError

# How often Ray itself starts a task again whose worker process or machine is lost.
RETRIES = 3


class RayExecutor(Executor):
    """The workers of the Ray cluster that this process is connected to, as an `Executor`.

    Where `ray.init` was not called, a cluster of this machine's cores is started, and ended by
    `shutdown`; one that was there is left running.

    Parameters
    ----------
    address
        The address of a cluster, as `ray.init` takes it; None is a local one.
    options
        Further arguments of `ray.init`, such as `num_cpus`.

    Raises
    ------
    MissingDependencyError
        If Ray is not installed.

    Examples
    --------
    It needs Ray, and is run by the tests of the page on clusters:

    >>> import deepsteiner as ds
    >>> with RayExecutor(num_cpus=2) as executor:  # doctest: +SKIP
    ...     solved = ds.solve_many(batch, executor=executor)
    """

    def __init__(self, address: str | None = None, **options: Any) -> None:
        try:
            ray: Any = import_module("ray")
        except ImportError:
            raise MissingDependencyError(
                "the engine 'ray' needs ray; install it with: pip install 'deepsteiner[ray]'"
            ) from None
        self._ray = ray
        self.dashboard: str | None = None
        self._started = not ray.is_initialized()
        if self._started:
            quiet = {"log_to_driver": False, "logging_level": "ERROR"}
            url = ray.init(address=address, **{**quiet, **options}).dashboard_url
            # Ray's own page about the cluster, where it runs one.
            self.dashboard = f"http://{url}" if url else None
        self._task = ray.remote(max_retries=RETRIES, num_cpus=1)(_call)

    @property
    def width(self) -> int:
        """How many cores the cluster has now."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(
        self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any
    ) -> Future[Any]:
        """Call a function on one of the workers."""
        reference = self._task.remote(function, arguments, keywords)
        future = _RayFuture(self._ray, reference)
        reference.future().add_done_callback(future.take)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the cluster if it was started here."""
        if self._started:
            self._started = False
            self._ray.shutdown()


class _RayFuture(Future[Any]):
    """A future of a Ray task; cancelling it cancels the task, unless it runs."""

    def __init__(self, ray: Any, reference: Any) -> None:
        super().__init__()
        self._ray, self._reference = ray, reference

    def take(self, inner: Future[Any]) -> None:
        """Take over what the task came to."""
        if self.cancelled() or not self.set_running_or_notify_cancel():
            return
        if inner.exception() is not None:
            self.set_exception(inner.exception())
        else:
            self.set_result(inner.result())

    def cancel(self) -> bool:
        """Cancel the task; one that runs ends unseen."""
        if not super().cancel():
            return False
        self._ray.cancel(self._reference, force=False, recursive=False)
        return True


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: Any) -> Any:
    return function(*arguments, **keywords)
