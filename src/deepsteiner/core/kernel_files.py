"""Cache files of compiled kernels: one that is damaged counts as absent.

numba reads its cache files on trust. A truncated one ends the program with a traceback, and one
with a wrong byte in the machine code does whatever that code then does. Files of our kernels
therefore end with a digest. numba alone reads them too, since pickle stops before it; what it
wrote alone has none, and is taken as it is unless reading it fails.

Only functions of this package are concerned: a user's own cached functions are left to numba.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
from collections.abc import Iterator
from typing import IO, Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

_log = logging.getLogger(__name__)

MARK = b"deepsteiner sha256 "
_DIGEST_SIZE = hashlib.sha256().digest_size


class CheckedFile(IndexDataCacheFile):
    """The index and data files of one function, with digests."""

    def _load_index(self) -> Any:
        plain: Any = super()
        try:
            _check(self._index_path)
            return plain._load_index()
        except Exception:  # the errors of a damaged pickle are of every kind
            return {}

    def _load_data(self, name: str) -> Any:
        plain: Any = super()
        try:
            _check(plain._data_path(name))
            return plain._load_data(name)
        except Exception as error:
            raise OSError(f"{name} is damaged") from error  # which `load` takes for an absent file

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[IO[bytes]]:
        content = io.BytesIO()
        yield content
        whole = content.getvalue()
        with super()._open_for_write(filepath) as file:
            file.write(whole + MARK + hashlib.sha256(whole).digest())


def _check(path: str) -> None:
    """Raise OSError where a file does not fit its digest."""
    with open(path, "rb") as file:
        content = file.read()
    end = len(content) - _DIGEST_SIZE
    whole = content[: max(end - len(MARK), 0)]
    if content[len(whole) : max(end, 0)] != MARK:
        return
    if hashlib.sha256(whole).digest() != content[end:]:
        raise OSError(f"{path} is damaged")


def guard_kernel_files() -> None:
    """From now on, compile kernels of this package anew where their cache cannot be used."""
    load: Any = FunctionCache.load_overload
    save: Any = FunctionCache.save_overload

    def load_overload(self: Any, sig: Any, target_context: Any) -> Any:
        ours = _is_ours(self)
        try:
            return load(self, sig, target_context)
        except Exception as error:  # a damaged pickle may raise anything
            if not ours:
                raise
            _log.debug("a cached kernel cannot be used and is compiled anew: %r", error)
            return None

    def save_overload(self: Any, sig: Any, data: Any) -> None:
        # On a full disk this process has its kernel all the same.
        tolerated = (OSError,) if _is_ours(self) else ()
        with contextlib.suppress(*tolerated):
            save(self, sig, data)

    kind: Any = FunctionCache
    kind.load_overload, kind.save_overload = load_overload, save_overload


def _is_ours(cache: Any) -> bool:
    """Tell whether a function's cache is for a kernel of this package, and give it digests."""
    if not cache._py_func.__module__.startswith("deepsteiner."):
        return False
    cache._cache_file.__class__ = CheckedFile
    return True
