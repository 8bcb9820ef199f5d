"""Watching a solver: a progress bar on a terminal, phases for --verbose, and being stopped."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..core.compiled import progress as compilation

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from ..run.monitor import Progress

# Short solves finish before a bar would be worth drawing.
BAR_AFTER_SECONDS = 0.4
# A long phase is reported again after this time.
LINE_SECONDS = 1.0


class Watch:
    """An `on_progress` callback that shows reports and stops the solver at the first Ctrl-C.

    The second one raises KeyboardInterrupt, except while results are written. SIGTERM and SIGHUP
    count as Ctrl-C (see `signals`). Everything shown goes to stderr; kernels that have to be
    compiled first are shown too.
    """

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.stopped = False
        self.hung_up = False  # nobody is there to read a report
        self._calm = False
        self._verbose = verbose and not quiet
        self._draws = sys.stderr.isatty() and not quiet and not verbose
        self.quiet = quiet
        self._compiling: compilation.Compiling | None = None
        self._phase, self._told = "", 0.0
        self._bar: Bar | None = None
        self._task: Any = None
        self._previous_handler: Any = None

    def __enter__(self) -> Watch:
        if threading.current_thread() is threading.main_thread():
            self._previous_handler = signal.signal(signal.SIGINT, self._on_interrupt)
        compilation.listen(self._on_compiling)
        return self

    def __exit__(self, *_: object) -> None:
        compilation.ignore(self._on_compiling)
        self._hide()
        if self._previous_handler is not None:
            signal.signal(signal.SIGINT, self._previous_handler)

    def __call__(self, progress: Progress) -> bool:
        """Show a report and return whether the solver should go on."""
        late = progress.elapsed > self._told + LINE_SECONDS
        if self._verbose and (progress.phase != self._phase or late):
            say(_report_line(progress))
            self._told = progress.elapsed
        if self._draws and progress.elapsed > BAR_AFTER_SECONDS:
            with contextlib.suppress(OSError):  # the terminal has gone
                self._draw(progress)
        self._phase = progress.phase
        return not self.stopped

    def _on_compiling(self, compiling: compilation.Compiling) -> None:
        """Show what is compiled: by the bar on a terminal, else by a line when it begins."""
        self._compiling = None if compiling.finished else compiling
        if self.quiet:
            return
        if self._draws:
            with contextlib.suppress(OSError):
                self._draw_compiling(compiling)
        elif compiling.done == 0 and compiling.left >= compilation.LONG_SECONDS:
            size = f"{compiling.functions} functions, about {compiling.left:.0f} s"
            say(f"compiling {compiling.name}, once: {size}")

    def begin_writing(self) -> None:
        """Ignore interrupts from here on, so that the results are written whole."""
        self._calm = True
        self._hide()

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        self.hung_up = number == getattr(signal, "SIGHUP", None)
        if self._calm:
            self.stopped = True
        elif not self.stopped:
            self.stopped = True
            say("stopping; press Ctrl-C again to abort")
        else:
            self._calm = True  # a third one must not disturb the clean-up after the second
            raise KeyboardInterrupt

    def _hide(self) -> None:
        if self._bar is not None:
            with contextlib.suppress(OSError):
                self._bar.stop()

    def _draw(self, progress: Progress) -> None:
        if self._compiling is not None:
            self._draw_compiling(self._compiling)
            return
        self._show(
            progress.phase,
            progress.done,
            progress.total,
            "" if progress.length is None else f"length {progress.length:.6g}",
            f"{progress.elapsed:.0f} s",
        )

    def _draw_compiling(self, compiling: compilation.Compiling) -> None:
        left = f"about {compiling.left:.0f} s left" if compiling.left >= 1 else ""
        words = f"compiling {compiling.name}, once"
        self._show(words, compiling.done, compiling.functions, "functions", left)

    def _show(self, phase: str, done: int, total: int, length: str, seconds: str) -> None:
        if self._bar is None:
            self._bar = new_bar("length", "seconds")
            self._task = self._bar.add_task("", total=None, length="", seconds="")
        self._bar.update(
            self._task,
            description=phase,
            completed=done,
            total=total or None,
            length=length,
            seconds=seconds,
        )
        self._bar.start()


def say(line: str) -> None:
    """Print a line to stderr, if anybody is there to read it.

    After a hangup nobody is; and in a signal handler, stderr may be in use.
    """
    with contextlib.suppress(OSError, RuntimeError):
        print(line, file=sys.stderr, flush=True)


def new_bar(*fields: str, disable: bool = False) -> Bar:
    """Return a progress bar on stderr that shows these fields of its tasks as well."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        *(TextColumn(f"{{task.fields[{name}]}}") for name in fields),
        console=Console(stderr=True),
        transient=True,
        disable=disable,
    )


def _report_line(progress: Progress) -> str:
    parts = [f"{progress.elapsed:8.2f} s  {progress.phase}"]
    if progress.total:
        parts.append(f"{progress.done:,}/{progress.total:,}")
    if progress.length is not None:
        parts.append(f"length {progress.length:.6g}")
    if progress.lower_bound is not None:
        parts.append(f"bound {progress.lower_bound:.6g}")
    return "  ".join(parts)
