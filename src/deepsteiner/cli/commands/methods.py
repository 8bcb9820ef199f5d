"""`deepsteiner methods`: what can solve, and with which options."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from .solve import complete_method

if TYPE_CHECKING:
    from ...core.options import OptionInfo
    from ...run.method import MethodInfo


def methods(
    name: Annotated[
        str | None, typer.Argument(help="Show this one.", autocompletion=complete_method)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the methods, or show one with its options.

    \b
    Examples:
      deepsteiner methods
      deepsteiner methods greedy
    """
    from ... import registry

    if name is not None:
        registry.get_method(name, {})
    found = [info for key, info in registry.methods().items() if name in (None, key)]
    if as_json:
        import json

        print(json.dumps([asdict(info) for info in found]))
    elif name is None:
        _print_table(found)
    else:
        _print_one(found[0])


def _print_table(infos: list[MethodInfo]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("method", no_wrap=True, style="bold")
    table.add_column("what it does", ratio=3)
    table.add_column("guarantee", ratio=2)
    for info in infos:
        table.add_row(info.name, info.summary, info.guarantee)
    Console(highlight=False).print(table)
    print("Options of one: deepsteiner methods NAME")


def _print_one(info: MethodInfo) -> None:
    from rich.console import Console
    from rich.padding import Padding

    console = Console(highlight=False)
    console.print(f"{info.name}: {info.summary}", markup=False)
    console.print(f"guarantee: {info.guarantee}", markup=False)
    if info.needs:
        console.print(f"needs: {', '.join(info.needs)}", markup=False)
    console.print(f"devices: {', '.join(info.devices)}", markup=False)
    console.print("options, as -o name=value:" if info.options else "no options", markup=False)
    for option in info.options:
        console.print(f"  {option.name}={option.default}  ({_accepted(option)})", markup=False)
        console.print(Padding(option.help, (0, 0, 0, 6)))


def _accepted(option: OptionInfo) -> str:
    if option.choices is not None:
        words = " | ".join(option.choices)
        return f"{words} | None" if "None" in option.type else words
    if option.models is not None:
        from ...core.models import fitting_models

        return f"{' | '.join(fitting_models(option.models))} | a folder"
    return option.type + _range(option.minimum, option.maximum)


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if low is not None:
        return f", at least {low:g}"
    return "" if high is None else f", at most {high:g}"
