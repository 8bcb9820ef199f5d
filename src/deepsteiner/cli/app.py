"""The command tree. Command modules import what they need when they run, so help is quick."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from . import signals
from .commands.bench import bench
from .commands.demo import demo
from .commands.files import convert, plot
from .commands.generate import generate
from .commands.kernels import kernels, warmup
from .commands.methods import methods
from .commands.models import models
from .commands.pretrain import pretrain
from .commands.relays import relays
from .commands.serve import serve
from .commands.solve import solve
from .commands.tables import tables
from .commands.train import train
from .commands.verify import verify

app = typer.Typer(
    name="deepsteiner",
    help="Shortest networks between points: Euclidean Steiner trees, solved, drawn and checked.",
    epilog="Example: deepsteiner solve cities.csv -O tree.json && deepsteiner plot tree.json "
    "-O tree.png\n\nExit codes: 0 done, 2 bad input, 3 not proven (--prove), 70 internal error "
    "(DEEPSTEINER_DEBUG=1 shows its trace), 130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"deepsteiner {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
    elif context.invoked_subcommand != "serve":  # the server has its own way to end
        context.with_resource(signals.as_interrupts())


# In the order of the help page.
_WORK = (solve, relays, methods, generate, convert, plot, verify, demo, serve, kernels, warmup)
_RESEARCH = (train, pretrain, bench, tables)
for command in (*_WORK, *_RESEARCH):
    app.command()(command)
app.add_typer(models, name="models")
