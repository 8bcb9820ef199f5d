"""`deepsteiner kernels` and `deepsteiner warmup`: what is compiled, and compiling ahead."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Annotated, Any

import typer

from ...core.errors import OptionError, WorkerError
from ..reports import counted, print_table, seconds
from ..watch import new_bar
from .solve import complete_method

PREBUILT, CACHED, MISSING = "prebuilt", "cached", "to be compiled"


def kernels(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the compiled parts: which came with the package, which are cached, which are not there.

    A kernel is compiled when it is first needed, and kept. `deepsteiner warmup` does it ahead.

    \b
    Examples:
      deepsteiner kernels
      deepsteiner kernels --json
    """
    from ...core import jit
    from ...core.compiled import files, prebuilt
    from ...core.compiled.entries import entry_kernels

    fitting = jit.fitting_kernels()
    shipped = Counter(entry.kernel for entry in fitting.entries) if fitting else Counter[str]()
    codegen, folder = jit.host_codegen(), jit.kernel_folder()
    kept = Counter(
        kernel
        for kernel, stamp in files.kept(folder)
        if stamp == jit.stamp_of(kernel.rpartition(".")[0], codegen)
    )
    rows = [_row(kernel, shipped[kernel], kept[kernel]) for kernel in entry_kernels()]
    reasons = {} if fitting else {path.name: _reason(path) for path in prebuilt.found_files()}
    if as_json:
        place = None if folder is None else str(folder)
        print(json.dumps({"kernels": rows, "cache": place, "not used": reasons}))
        return
    print_table(("kernel", "module", "state"), [_cells(row) for row in rows])
    states = Counter(row["state"] for row in rows)
    print(f"{counted(len(rows), 'kernel')}: " + ", ".join(f"{n} {s}" for s, n in states.items()))
    for name, reason in reasons.items():
        print(f"{name} is not used: {reason}")


def warmup(
    method: Annotated[
        list[str] | None,
        typer.Argument(help="For these methods; all.", autocompletion=complete_method),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; all cores.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No report.")] = False,
) -> None:
    """Compile what methods need, in several processes, so that later solves begin at once.

    \b
    Examples:
      deepsteiner warmup
      deepsteiner warmup exact neural
    """
    from ... import warmup as calls
    from ...run.processes import LostError
    from ...run.threads import cores

    if workers is not None and workers < 1:
        raise OptionError(f"--workers must be at least 1, got {workers}")
    chosen = calls.known_methods(method or [])
    if _all_prebuilt():
        if not quiet:
            print("all kernels came with the package; nothing is to be compiled")
        return
    began = time.perf_counter()
    with new_bar("call", disable=quiet) as bar:
        task = bar.add_task("warming up", total=None, call="")

        def told(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, call=name)

        try:
            events = calls.run(chosen, workers or cores(), told)
        except LostError as error:
            raise WorkerError(f"a worker process died: it {error.how}") from None
    if not quiet:
        outer = [event for event in events if not event.inner]
        compiled = {event.kernel for event in outer if event.state == "compiled"}
        ready = {event.kernel for event in outer} - compiled
        took = seconds(time.perf_counter() - began)
        print(f"{counted(len(compiled), 'kernel')} compiled, {len(ready)} were ready, {took}")


def _all_prebuilt() -> bool:
    from ...core.compiled.entries import entry_kernels
    from ...core.jit import fitting_kernels

    found = fitting_kernels()
    return found is not None and {*entry_kernels()} <= {entry.kernel for entry in found.entries}


def _row(kernel: str, shipped: int, kept: int) -> dict[str, Any]:
    module, _, name = kernel.rpartition(".")
    state = PREBUILT if shipped else CACHED if kept else MISSING
    short = module.removeprefix("deepsteiner.").removesuffix("_kernels")
    return {"kernel": name, "module": short, "state": state, "signatures": shipped or kept}


def _cells(row: dict[str, Any]) -> tuple[str, str, str]:
    several = f" ({row['signatures']} types)" if row["signatures"] > 1 else ""
    return row["kernel"], row["module"], row["state"] + several


def _reason(path: Any) -> str:
    from ...core import jit
    from ...core.compiled.prebuilt import open_file

    found = open_file(path)
    return "it is damaged" if found is None else jit.why_not(found)
