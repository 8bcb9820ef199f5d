"""What a training run tells: a progress line, a JSONL file, TensorBoard scalars and pictures."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...core.solution import Solution

# Seconds from one line to the next where the output is not a terminal.
PLAIN_INTERVAL = 10.0


class RunLog:
    """Records go to `log.jsonl`, to TensorBoard where it is installed, and to one line on stderr.

    With `folder` None (the processes that do not lead) nothing is written or shown.
    """

    def __init__(self, folder: Path | None, *, quiet: bool = False, board: bool = True) -> None:
        self._folder = folder
        self._shows = folder is not None and not quiet
        self._board = _board(folder) if board else None
        self._live = self._new_live()
        self._last_plain = 0.0
        self._known: dict[str, float] = {}

    def record(self, step: int, values: dict[str, Any]) -> None:
        """Append a record of one step to the files."""
        if self._folder is None:
            return
        with (self._folder / "log.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"step": step, "time": round(time.time(), 3), **values}) + "\n")
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, (int, float)):
                    self._board.add_scalar(name, value, step)

    def show(self, done: int, total: int, eta: float | None, values: dict[str, float]) -> None:
        """Update the progress line."""
        if not self._shows:
            return
        self._known.update(values)
        line = _line(done, total, eta, self._known)
        if self._live is not None:
            self._live.update(line)
        elif time.monotonic() - self._last_plain > PLAIN_INTERVAL:
            self._last_plain = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    def say(self, sentence: str) -> None:
        """Print a sentence above the progress line."""
        if not self._shows:
            return
        if self._live is not None:
            self._live.console.print(sentence, markup=False, highlight=False)
        else:
            print(sentence, file=sys.stderr, flush=True)

    def picture(self, step: int, solutions: Sequence[Solution]) -> None:
        """Put a picture of solved instances on the board."""
        if self._board is None or not solutions:
            return
        from ...viz.plot import compare

        self._board.add_figure("solutions", compare(solutions), step)

    def close(self) -> None:
        """Finish the line and the files."""
        if self._live is not None:
            self._live.stop()
        if self._board is not None:
            self._board.close()

    def _new_live(self) -> Any:
        if not self._shows or not sys.stderr.isatty():
            return None
        from rich.console import Console
        from rich.live import Live

        live = Live("", console=Console(stderr=True), refresh_per_second=4)
        live.start()
        return live


def _board(folder: Path | None) -> Any:
    if folder is None:
        return None
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder / "events"))


def _line(done: int, total: int, eta: float | None, values: dict[str, float]) -> str:
    """Return the progress line.

    >>> _line(3, 20, 3700.0, {"loss": 0.25, "instances_per_second": 1234.5})
    'step 3/20  loss 0.25  instances/s 1,234  ETA 1:01:40'
    """
    parts = [f"step {done:,}/{total:,}" if total else f"step {done:,}"]
    for name, value in values.items():
        words = name.replace("_per_second", "/s").replace("_", " ")
        parts.append(f"{words} {value:,.0f}" if abs(value) >= 1000 else f"{words} {value:.4g}")
    if eta is not None:
        minutes, seconds = divmod(round(eta), 60)
        hours, minutes = divmod(minutes, 60)
        clock = f"{hours}:{minutes:02}" if hours else f"{minutes}"
        parts.append(f"ETA {clock}:{seconds:02}")
    return "  ".join(parts)
