"""The `deepsteiner` command: one module per group of subcommands."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

BAD_INPUT = 2
NOT_PROVEN = 3
FAILED = 70
INTERRUPTED = 130  # by Ctrl-C; `run` has the code of another signal


def main() -> None:
    """Run the command line and exit; the entry point of the `deepsteiner` script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A file name that the terminal cannot show must not end the run.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors are one sentence on stderr."""
    from ..core.errors import DeepSteinerError, WorkerError
    from .app import app
    from .signals import exit_code

    words = None if arguments is None else list(arguments)
    try:
        code = app(args=words, prog_name="deepsteiner", standalone_mode=False)
        sys.stdout.flush()
    except DeepSteinerError as error:
        return _fail(str(error))
    except WorkerError as error:
        return _fail(str(error), FAILED)
    except BrokenPipeError:
        # The reader has gone; what is still buffered must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        name = f"{error.filename}: " if error.filename is not None else ""
        return _fail(f"{name}{error.strerror or error}")
    except KeyboardInterrupt:
        return exit_code()
    except Exception as error:
        # Usage errors: their class lives in click or inside typer, depending on typer's version.
        if not hasattr(error, "format_message"):
            raise
        return _fail(_usage_sentence(error.format_message(), getattr(error, "ctx", None)))
    if code == INTERRUPTED:
        return exit_code()
    return code if isinstance(code, int) else 0


def _usage_sentence(message: str, context: object) -> str:
    command = getattr(context, "command_path", "deepsteiner")
    return f"{message.rstrip('.')} (see {command} --help)"


def _fail(sentence: str, code: int = BAD_INPUT) -> int:
    print(f"error: {' '.join(sentence.split())}", file=sys.stderr)
    return code
