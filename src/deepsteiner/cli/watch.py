"""Watching a solver: a progress bar on a terminal, phases for --verbose, and Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from ..core.progress import Progress

# Short solves finish before a bar would be worth drawing.
BAR_AFTER_SECONDS = 0.4


class Watch:
    """An `on_progress` callback that shows reports and stops the solver at the first Ctrl-C.

    The second Ctrl-C raises KeyboardInterrupt. Everything shown goes to stderr.
    """

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.stopped = False
        self._verbose = verbose and not quiet
        self._draws = sys.stderr.isatty() and not quiet and not verbose
        self._phase = ""
        self._bar: Bar | None = None
        self._task: Any = None
        self._previous_handler: Any = None

    def __enter__(self) -> Watch:
        if threading.current_thread() is threading.main_thread():
            self._previous_handler = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._previous_handler is not None:
            signal.signal(signal.SIGINT, self._previous_handler)

    def __call__(self, progress: Progress) -> bool:
        """Show a report; answer whether the solver shall go on."""
        if self._verbose and progress.phase != self._phase:
            print(_report_line(progress), file=sys.stderr)
        if self._draws and progress.elapsed > BAR_AFTER_SECONDS:
            self._draw(progress)
        self._phase = progress.phase
        return not self.stopped

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
        print("stopping; press Ctrl-C again to abort without a result", file=sys.stderr)

    def _draw(self, progress: Progress) -> None:
        if self._bar is None:
            self._bar, self._task = _new_bar()
        self._bar.update(
            self._task,
            description=progress.phase,
            completed=progress.done,
            total=progress.total or None,
            length="" if progress.length is None else f"length {progress.length:.6g}",
            seconds=f"{progress.elapsed:.0f} s",
        )
        self._bar.start()


def _new_bar() -> tuple[Bar, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[length]}"),
        TextColumn("{task.fields[seconds]}"),
        console=Console(stderr=True),
        transient=True,
    )
    return bar, bar.add_task("", total=None, length="", seconds="")


def _report_line(progress: Progress) -> str:
    parts = [f"{progress.elapsed:8.2f} s  {progress.phase}"]
    if progress.total:
        parts.append(f"{progress.done:,}/{progress.total:,}")
    if progress.length is not None:
        parts.append(f"length {progress.length:.6g}")
    if progress.lower_bound is not None:
        parts.append(f"bound {progress.lower_bound:.6g}")
    return "  ".join(parts)
