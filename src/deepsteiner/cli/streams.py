"""Standard streams that are closed, full, or abandoned by their reader."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import NoReturn

from ..core.errors import FormatError


class Complaints(io.TextIOWrapper):
    """Standard error that loses its messages, rather than the result, when it cannot be written."""

    def write(self, text: str, /) -> int:
        """Write if that is possible."""
        with contextlib.suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Flush if that is possible."""
        with contextlib.suppress(OSError):
            super().flush()


class ClosedOutput(io.TextIOBase):
    """Standard output that was closed from the start: writing to it is an error."""

    def write(self, text: str, /) -> NoReturn:
        """Refuse."""
        raise FormatError("standard output is closed")

    @property
    def buffer(self) -> NoReturn:
        """Refuse."""
        raise FormatError("standard output is closed")


def prepare_streams() -> None:
    """Replace standard streams that cannot be used."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Otherwise the next file opened would get this number, and everything printed with it.
            os.open(os.devnull, os.O_RDWR)
    # A file name that the terminal cannot show must not end the run.
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    elif hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    elif hasattr(sys.stderr, "buffer"):
        sys.stderr = Complaints(
            sys.stderr.buffer, sys.stderr.encoding, "backslashreplace", line_buffering=True
        )


def abandon_output() -> bool:
    """Return whether standard output cannot be written; what is left of it is then let go.

    Without that, what is still buffered would complain when the process ends.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False
