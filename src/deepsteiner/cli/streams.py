"""Standard streams that are closed, full, or left by their reader."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import NoReturn

from ..core.errors import FormatError


class Complaints(io.TextIOWrapper):
    """Standard error. Where it cannot be written, what it would say is lost, not the result."""

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
    """Standard output that was closed before we began: whoever writes to it is told so."""

    def write(self, text: str, /) -> NoReturn:
        """Refuse."""
        raise FormatError("standard output is closed")

    @property
    def buffer(self) -> NoReturn:
        """Refuse."""
        raise FormatError("standard output is closed")


def prepare_streams() -> None:
    """Put something usable in the place of standard streams that are not."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Else the next file opened would get this number, and with it all that is printed.
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
