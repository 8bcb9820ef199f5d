"""What must happen before kernels are compiled: a word to the user, and a place for the cache."""

from __future__ import annotations

import contextlib
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from .folders import can_write, made_ours, own_temporary_folder, user_cache

PACKAGE = Path(__file__).resolve().parents[1]


@cache
def prepare_kernels() -> None:
    """Announce the first compilation of this process, and see that its result can be kept.

    numba caches beside the sources or, where that folder is read-only, in the user's cache
    folder. Where neither can be written it would refuse to work at all; a folder of the
    system's temporary directory then serves. NUMBA_CACHE_DIR overrides all of it.

    Cached kernels are programs, so it matters who can write them. What lies beside the sources is
    trusted like the sources. The other two must belong to this user.
    """
    if not (_chosen_by_user() or can_write(PACKAGE / "__pycache__") or _user_cache_serves()):
        _cache_in(own_temporary_folder())
    import numba.core.event as events

    from .kernel_files import guard_kernel_files

    guard_kernel_files()

    class Announcer(events.Listener):
        """Prints one line when a kernel of ours is compiled, not loaded from the cache."""

        announced = False

        def on_start(self, event: Any) -> None:
            module = event.data["dispatcher"].py_func.__module__
            if not self.announced and module.startswith("deepsteiner."):
                Announcer.announced = True
                with contextlib.suppress(OSError, ValueError):  # nobody may be there to read it
                    print("compiling kernels, once", file=sys.stderr, flush=True)

        def on_end(self, event: Any) -> None:
            pass

    events.register("numba:compile", Announcer())  # type: ignore[no-untyped-call]


def _chosen_by_user() -> bool:
    if "numba" in sys.modules:
        return bool(sys.modules["numba"].config.CACHE_DIR)
    return bool(os.environ.get("NUMBA_CACHE_DIR"))


def _user_cache_serves() -> bool:
    """Return whether numba's folder there can be used; both levels must be this user's."""
    base = user_cache()  # relative where this user has no home: no place to keep things
    return base.is_absolute() and made_ours(base) and made_ours(base / "numba")


def _cache_in(folder: Path) -> None:
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:  # it read its settings when it was imported
        sys.modules["numba"].config.CACHE_DIR = str(folder)
