"""The `deepsteiner` command: one module per group of subcommands."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

OUTPUT_LOST = 1
BAD_INPUT = 2
INTERNAL = 70  # EX_SOFTWARE in sysexits.h
NOT_PROVEN = 3
INTERRUPTED = 130  # by Ctrl-C; `run` has the code of another signal


def main() -> None:
    """Run the command line and exit; the entry point of the `deepsteiner` script."""
    from ..core.compiled.progress import listen
    from .streams import prepare_streams

    prepare_streams()
    listen(lambda _: None)  # commands show by themselves what is compiled, where they show anything
    sys.exit(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors are one sentence on stderr.

    With DEEPSTEINER_DEBUG set, internal errors come with their trace.
    """
    from ..core.errors import InputError, MissingDependencyError, WorkerError
    from .app import app
    from .signals import exit_code
    from .streams import abandon_output

    words = None if arguments is None else list(arguments)
    try:
        code = app(args=words, prog_name="deepsteiner", standalone_mode=False)
        sys.stdout.flush()
    except (InputError, MissingDependencyError) as error:
        return _fail(str(error))
    except WorkerError as error:
        return _fail(str(error), INTERNAL)
    except BrokenPipeError:
        abandon_output()
        return OUTPUT_LOST  # the reader has gone, and needs no message
    except OSError as error:
        name = f"{error.filename}: " if error.filename is not None else ""
        if abandon_output():
            name = "standard output cannot be written: "
        return _fail(f"{name}{error.strerror or error}")
    except KeyboardInterrupt:
        return exit_code()
    except Exception as error:
        # Usage errors: their class lives in click or inside typer, depending on typer's version.
        if not hasattr(error, "format_message"):
            return _fail_within(error)
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


def _fail_within(error: Exception) -> int:
    """Report an internal error; DEEPSTEINER_DEBUG adds its trace and how to repeat it."""
    from ..core.errors import InternalError

    if isinstance(error, MemoryError):
        return _fail("this machine does not have enough memory; try fewer points")
    if os.environ.get("DEEPSTEINER_DEBUG"):
        traceback.print_exception(error)
    words = str(error) if isinstance(error, InternalError) else f"{type(error).__name__}: {error}"
    hint = "DEEPSTEINER_DEBUG=1 in the environment shows the trace and how to repeat it"
    return _fail(f"internal error: {words} ({hint})", INTERNAL)
