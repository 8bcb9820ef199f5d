"""What worker processes do in the tests: functions that they import by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from deepsteiner.batch import _solve_row as really_solve_row

PATIENCE = 120.0


def wait_for(condition: Any) -> None:
    """Return when the condition holds; it fails after a time that no free machine needs."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def meet(folder: Path, others: int) -> None:
    """Return when so many processes have come to the folder."""
    (folder / str(os.getpid())).touch()
    wait_for(lambda: len(list(folder.iterdir())) >= others)


def double(item: int, given: Any, go_on: Any) -> int:
    return 2 * item


def process_id_in_company(item: int, given: tuple[Path, int], go_on: Any) -> int:
    meet(*given)
    return os.getpid()


def until_told(item: int, folder: Path, go_on: Any) -> str:
    """Answer even items at once, and odd ones when told to stop."""
    if item % 2:
        (folder / str(os.getpid())).touch()
        wait_for(lambda: not go_on())
        return "stopped"
    return "done"


def never_listens(item: int, folder: Path, go_on: Any) -> None:
    (folder / str(os.getpid())).touch()
    time.sleep(PATIENCE)


def dies_at(item: int, victim: int, go_on: Any) -> int:
    if item == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def no_memory_at(item: int, victim: int, go_on: Any) -> int:
    if item == victim:
        raise MemoryError
    return item


class UnsendableError(Exception):
    """Cannot be made from its message alone, which unpickling would try."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


def fails(item: int, given: Any, go_on: Any) -> None:
    raise KeyError("a plain one") if item == 0 else UnsendableError("an odd ", "one")


def is_hit_by_signals(item: int, given: Any, go_on: Any) -> str:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(os.getpid(), number)
    return "unmoved"


def solve_in_company(item: Any, given: tuple[str, dict[str, Any]], go_on: Any) -> Any:
    """Solve once as many processes as SOLVERS are at work."""
    meet(Path(os.environ["MEETING"]), int(os.environ["SOLVERS"]))
    return really_solve_row(item, given, go_on)


def solve_until_victim(item: Any, given: tuple[str, dict[str, Any]], go_on: Any) -> Any:
    """Solve, or be killed at the row that VICTIM names."""
    if item[0] == int(os.environ["VICTIM"]):
        os.kill(os.getpid(), signal.SIGKILL)
    return really_solve_row(item, given, go_on)
