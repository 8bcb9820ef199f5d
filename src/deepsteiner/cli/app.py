"""The command tree. Command modules import what they need when they run, so help is quick."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from . import signals
from .commands import (
    bench,
    demo,
    files,
    generate,
    methods,
    models,
    pretrain,
    serve,
    solve,
    tables,
    train,
    verify,
)

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


app.command("solve")(solve.solve)
app.command("methods")(methods.methods)
app.command("generate")(generate.generate)
app.command("convert")(files.convert)
app.command("plot")(files.plot)
app.command("verify")(verify.verify)
app.command("demo")(demo.demo)
app.command("serve")(serve.serve)
app.command("train")(train.train)
app.command("pretrain")(pretrain.pretrain)
app.command("bench")(bench.bench)
app.command("tables")(tables.tables)
app.add_typer(models.models, name="models")
