"""Where a number comes from: commit, machine, versions, and the memory it took."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "scipy", "numba", "highspy", "torch")
ROOT = Path(__file__).resolve().parents[3]


@cache
def commit() -> str | None:
    """Return the commit of a source checkout, with a plus where it was changed, else None.

    A copy of a checkout without its history is told by the variable DEEPSTEINER_COMMIT.
    """
    if told := os.environ.get("DEEPSTEINER_COMMIT"):
        return told
    if not (ROOT / ".git").exists():
        return None
    try:
        head = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", "src")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}+" if changed else head


@cache
def machine() -> str:
    """Return the processor in words and the number of cores.

    >>> machine().endswith(("cores", "core"))
    True
    """
    cores = os.cpu_count() or 1
    known = _said("/proc/cpuinfo", r"model name\s*:\s*(.+)") or platform.processor()
    return f"{known or platform.machine()}, {cores} core{'' if cores == 1 else 's'}"


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that the numbers depend on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def stamp() -> dict[str, Any]:
    """Return the fields that say where and when a row is made."""
    return {
        "machine": machine(),
        "commit": commit(),
        "versions": versions(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
    }


def restart_memory_peak() -> None:
    """Forget the peak memory so far, where the system can (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def memory_peak_mib(process: int | None = None) -> float | None:
    """Return the peak resident memory of this process since the restart, in MiB.

    Where the system cannot restart it, the peak is that of the whole run. That of another process,
    given by its number, is known on Linux only.
    """
    if kib := _said(f"/proc/{process or 'self'}/status", r"VmHWM:\s+(\d+) kB"):
        return round(int(kib) / 1024, 1)
    if process is not None:
        return None
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)


def _said(path: str, pattern: str) -> str:
    """Return what a file of the system says at a pattern, or nothing where there is none."""
    with suppress(OSError):
        found = re.search(pattern, Path(path).read_text())
        return found[1].strip() if found else ""
    return ""


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()
