"""`deepsteiner demo`: every method on the same points, side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ...core.errors import FormatError, MissingDependencyError, OptionError
from ...core.solution import Solution
from .. import INTERRUPTED
from ..reports import print_table, seconds
from ..watch import Watch, say

if TYPE_CHECKING:
    from ...core.points import FloatArray

# So many points are solved first, without a limit: that compiles or loads most of what is needed.
WARM_UP_POINTS = 40
# Points are solved again while more than this share of a solve's time went into kernels.
KERNELS_SHARE = 0.02
ATTEMPTS = 3
# These take longest to compile, and begin first; `exact` needs much of what `local` does.
LONGEST = ("local", "neural", "exact")


def demo(
    n: Annotated[int, typer.Option("--n", help="How many points.")] = 30,
    seed: Annotated[int, typer.Option(help="Another seed, other points.")] = 0,
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="Per method.")] = 10.0,
    output: Annotated[
        Path, typer.Option("--output", "-O", metavar="FOLDER", help="Made if it does not exist.")
    ] = Path("demo"),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table.")] = False,
) -> None:
    """Solve random points with every method; print a table and draw demo.png and demo.svg.

    \b
    Examples:
      deepsteiner demo
      deepsteiner demo --n 100 --seed 3 --output pictures
    """
    if n < 3:
        raise OptionError(f"--n must be at least 3, got {n}")
    if output.exists() and not output.is_dir():
        raise FormatError(f"{output} is a file; expected a folder for the pictures")
    output.mkdir(parents=True, exist_ok=True)
    with Watch(quiet=quiet) as watch:
        solutions = _solve_all(n, seed, time_limit, watch)
    if solutions:
        paths = _draw(solutions, output)
        if not quiet:
            _print_table(solutions, n, seed)
            print(f"Pictures: {', '.join(str(path) for path in paths)}")
    if watch.stopped:
        raise typer.Exit(INTERRUPTED)


def _solve_all(n: int, seed: int, time_limit: float, watch: Watch) -> list[Solution]:
    """Return one solution per usable method, from the longest tree to the shortest."""
    from ... import datasets
    from ...api import solve
    from ...core.jit import history
    from ...registry import MODULES

    points = datasets.load("uniform", count=1, n=n, seed=seed)[0]
    warm_up = datasets.load("uniform", count=2, n=min(n, WARM_UP_POINTS), seed=seed)[1]
    names = [name for name in MODULES if name != "auto"]
    spanning = solve(points, "mst")
    if any(event.state == "compiled" for event in history):  # so will be most of the others
        task = _Task(warm_up, points, seed, time_limit)
        _compile_all([name for name in names if name != "mst"], task, spanning.length, watch)
    limited = partial(solve, points, seed=seed, time_limit=time_limit, on_progress=watch)
    solutions: list[Solution] = []
    for name in names:
        if watch.stopped:
            break
        try:
            solve(warm_up, name, seed=seed)
            solutions.append(_timed(partial(limited, method=name)))
        except MissingDependencyError as error:
            print(f"{name} left out: {error}", file=sys.stderr)
    return sorted(solutions, key=lambda solution: -solution.length)


def _timed(solve: Callable[[], Solution]) -> Solution:
    """Solve until next to nothing of the time went into compiling or loading kernels."""
    from ...core.jit import history

    for _ in range(ATTEMPTS):
        before = len(history)
        found = solve()
        spent = sum(event.seconds for event in history[before:] if not event.inner)
        if spent <= KERNELS_SHARE * found.runtime:
            break
    return found


class _Task(NamedTuple):
    """What the worker processes solve: a few points without a limit, then those of the demo."""

    warm_up: FloatArray
    points: FloatArray
    seed: int
    time_limit: float


def _compile_all(names: list[str], task: _Task, spanning: float, watch: Watch) -> None:
    """Compile what methods need, in several processes; show what each finds once it is ready."""
    from ...run.processes import LostError, Processes
    from ...run.threads import cores

    ordered = [name for name in LONGEST if name in names]
    ordered += [name for name in names if name not in LONGEST]

    def tell(line: str) -> None:
        if not watch.quiet:
            say(line)

    def keep(index: int, length: float | None) -> None:
        if length is not None:
            saved = 100 * (1 - length / spanning)
            tell(f"  {ordered[index]:<9} {length:.6f} {saved:8.2f} % saved")

    tell(f"mst has length {spanning:.6f}; the others are compiled first, which happens once:")
    try:
        with Processes(min(cores(), len(ordered)), _first_solve, task) as processes:
            processes.run(ordered, keep, lambda: not watch.stopped)
    except LostError as error:
        tell(f"a worker process died (it {error.how}); what is missing is compiled here")


def _first_solve(name: str, task: _Task, go_on: Callable[[], bool]) -> float | None:
    """Solve in a worker process, which leaves what it compiles in the cache."""
    from ...api import solve

    try:
        solve(task.warm_up, name, seed=task.seed, on_progress=lambda _: go_on())
        found = solve(
            task.points,
            name,
            seed=task.seed,
            time_limit=task.time_limit,
            on_progress=lambda _: go_on(),
        )
    except MissingDependencyError:
        return None
    return found.length


def _draw(solutions: list[Solution], folder: Path) -> list[Path]:
    from ...io.solution_files import write_picture
    from ...viz.plot import compare

    figure = compare(solutions, titles=[_title(solution, solutions) for solution in solutions])
    paths = [folder / "demo.png", folder / "demo.svg"]
    for path in paths:
        write_picture(figure, path, path.suffix[1:])
    return paths


def _title(solution: Solution, solutions: list[Solution]) -> str:
    first = f"{solution.method}\nlength {solution.length:.5g}, "
    if solution.method == "mst":
        return f"{first}the spanning tree"
    saving = _saving(solution, solutions)
    return f"{first}{abs(saving):.2f} % {'over' if saving < 0 else 'under'} the spanning tree"


def _saving(solution: Solution, solutions: list[Solution]) -> float:
    """Return by how many percent a solution is shorter than the spanning tree."""
    spanning = next(other for other in solutions if other.method == "mst")
    return 100 * (1 - solution.length / spanning.length)


def _print_table(solutions: list[Solution], n: int, seed: int) -> None:
    proven = any(solution.status == "optimal" for solution in solutions)
    best = min(solution.length for solution in solutions)
    excess = "over optimum" if proven else "over best"
    rows = [
        (
            solution.method,
            f"{solution.length:.6f}",
            str(len(solution.steiner_points)),
            f"{_saving(solution, solutions):.2f} %",
            f"{100 * (solution.length / best - 1):.3f} %",
            seconds(solution.runtime),
        )
        for solution in solutions
    ]
    headings = ("method", "length", "Steiner points", "saved on mst", excess, "time")
    print_table(headings, rows, title=f"{n} uniform points, seed {seed}")
