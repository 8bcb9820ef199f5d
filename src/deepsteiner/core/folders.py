"""Folders that nobody else can have put anything into, for what is loaded without being read.

Compiled kernels come back through pickle, which runs whatever a file says. So a folder in which
they are looked for must be this user's: an owner cannot be forged, and who does not own a folder
and may not write to it cannot plant a file there.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import stat
import sys
import tempfile
from pathlib import Path

from .errors import DeepSteinerError

SECRET_SIZE = 32


def user_cache() -> Path:
    """Return the folder in which programs keep this user's caches (numba looks there too)."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches"))
    return Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")))


def made_ours(folder: Path, *, private: bool = False) -> bool:
    """Make the folder (0700) where it is missing; return whether it is ours and can be written.

    Ours: this user's, and not open to everyone. `private` also shuts out the user's groups, and
    refuses a link, even one of the user's own.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        entry, target = folder.lstat(), folder.stat()
    except OSError:
        return False
    if private and not stat.S_ISDIR(entry.st_mode):
        return False
    if hasattr(os, "getuid"):
        shut_out = 0o077 if private else stat.S_IWOTH
        owners = {entry.st_uid, target.st_uid}
        if owners != {os.getuid()} or stat.S_IMODE(target.st_mode) & shut_out:
            return False
    return can_write(folder)


def can_write(folder: Path) -> bool:
    """Return whether files can be made in the folder, which is made where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def own_temporary_folder() -> Path:
    """Return a folder of the temporary directory to which only this user has access.

    It is the same one every time, so that its content is found again. Where somebody else was
    there first, it is a fresh one that goes when this process ends.
    """
    try:
        user = os.getuid() if hasattr(os, "getuid") else 0
        known = Path(tempfile.gettempdir()) / f"deepsteiner-{user}"
        if made_ours(known, private=True):
            return known
        fresh = tempfile.mkdtemp(prefix="deepsteiner-")
    except OSError:
        raise DeepSteinerError(
            "there is no folder that compiled kernels could be kept in; set NUMBA_CACHE_DIR to "
            "one that can be written"
        ) from None
    atexit.register(_remove, fresh, os.getpid())
    return Path(fresh)


def own_secret(name: str, *, create: bool) -> bytes | None:
    """Return 32 random bytes that only this user knows and finds again; None where there are none.

    They lie in a folder of their own in the user's cache, which is shut to all others whatever the
    one around it is. `create` makes them where they are missing.
    """
    base, around = user_cache(), user_cache() / "deepsteiner"
    folder = around / "private"
    ours = base.is_absolute() and made_ours(base) and made_ours(around)
    if not (ours and made_ours(folder, private=True)):
        return None
    path = folder / name
    try:
        if create and not path.exists():
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as stream:
                stream.write(secrets.token_bytes(SECRET_SIZE))
            os.replace(stream.name, path)
        found = path.read_bytes()
    except OSError:
        return None
    return found if len(found) == SECRET_SIZE else None


def _remove(folder: str, maker: int) -> None:
    if os.getpid() == maker:  # a forked child that ends must leave it to its parent
        shutil.rmtree(folder, ignore_errors=True)
