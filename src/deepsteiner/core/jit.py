"""What must happen before kernels are compiled: a word to the user, and a place for the cache."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]


@cache
def prepare_kernels() -> None:
    """Announce the first compilation of this process, and see that its result can be kept.

    numba caches beside the sources or, where that folder is read-only, in the user's cache
    folder. Where neither can be written it would refuse to work at all; a folder of the
    system's temporary directory then serves.
    """
    if "NUMBA_CACHE_DIR" not in os.environ and not (_writable(PACKAGE) or _writable(_user_cache())):
        _cache_in(Path(tempfile.gettempdir()) / f"deepsteiner-{_user_id()}")
    import numba.core.event as events

    class Announcer(events.Listener):
        """Prints one line when a kernel of ours is compiled, not loaded from the cache."""

        announced = False

        def on_start(self, event: Any) -> None:
            module = event.data["dispatcher"].py_func.__module__
            if not self.announced and module.startswith("deepsteiner."):
                Announcer.announced = True
                print("compiling kernels, once", file=sys.stderr, flush=True)

        def on_end(self, event: Any) -> None:
            pass

    events.register("numba:compile", Announcer())  # type: ignore[no-untyped-call]


def _cache_in(folder: Path) -> None:
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:  # it read its settings when it was imported
        sys.modules["numba"].config.CACHE_DIR = str(folder)


def _writable(folder: Path) -> bool:
    """Return whether a kernel cache could be made there."""
    target = folder / "__pycache__" if folder == PACKAGE else folder
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target):
            return True
    except OSError:
        return False


def _user_cache() -> Path:
    base = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME")
    return Path(base) if base else Path(os.path.expanduser("~")) / ".cache"


def _user_id() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0
