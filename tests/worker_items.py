"""What worker processes do in the tests: functions that they import by name."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from deepsteiner.batch import _solve_row as really_solve_row

PATIENCE = 60.0
# Runs python with the arguments that follow, whatever `nohup` or a shell's background job made of
# signals; a terminal on its standard input becomes its own, so that its end is a hangup.
AS_USUAL = """
import fcntl, os, signal, sys, termios
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
if os.isatty(0):
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
PYTHON = [sys.executable, "-c", AS_USUAL]


def wait_for(condition: Any) -> None:
    """Return when the condition holds; it fails after a time that no free machine needs."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Return whether a process is there and not just waiting to be buried."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:  # no such file system: it was there
        return True
    except OSError:
        return False


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
    time.sleep(10 * PATIENCE)


def dies_at(item: int, victim: int, go_on: Any) -> int:
    if item == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def dies_afterwards(item: int, folder: Path, go_on: Any) -> int:
    """Answer; the process that had item 0 dies when it has nothing to do, the other one goes on."""
    meet(folder, 2)
    if item == 0:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return 0
    other = next(int(file.name) for file in folder.iterdir() if int(file.name) != os.getpid())
    wait_for(lambda: not is_alive(other))
    time.sleep(0.3)
    return 1


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


def solve_or_die_once(item: Any, given: tuple[str, dict[str, Any]], go_on: Any) -> Any:
    """Solve; the first process at the row that VICTIM names is killed."""
    mark = Path(os.environ["MEETING"]) / "died"
    if item[0] == int(os.environ["VICTIM"]) and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return really_solve_row(item, given, go_on)
