"""`deepsteiner methods`: what can solve, and with which options."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ..reports import print_table
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

        print(json.dumps([asdict(info) | {"supports": sorted(info.supports)} for info in found]))
    elif name is None:
        rows = [(info.name, info.summary, info.guarantee) for info in found]
        print_table(("method", "what it does", "guarantee"), rows)
        print("Options of one: deepsteiner methods NAME")
    else:
        _print_one(found[0])


def _print_one(info: MethodInfo) -> None:
    from rich.console import Console
    from rich.padding import Padding

    console = Console(highlight=False, markup=False)
    console.print(f"{info.name}: {info.summary}")
    console.print(f"guarantee: {info.guarantee}")
    if info.needs:
        console.print(f"needs: {', '.join(info.needs)}")
    console.print(f"devices: {', '.join(info.devices)}")
    if info.supports:
        console.print(f"supports: {', '.join(sorted(info.supports))}")
    console.print("options, as -o name=value:" if info.options else "no options")
    for option in info.options:
        console.print(f"  {option.name}={option.default}  ({_accepted(option)})")
        console.print(Padding(option.help, (0, 0, 0, 6)))


def _accepted(option: OptionInfo) -> str:
    if option.choices is not None:
        words = " | ".join(option.choices)
        return f"{words} | None" if "None" in option.type else words
    if option.models is not None:
        from ...core.models import fitting_models

        return f"{' | '.join(fitting_models(option.models))} | a folder"
    match option.minimum, option.maximum:
        case None, None:
            return option.type
        case low, None:
            return f"{option.type}, at least {low:g}"
        case None, high:
            return f"{option.type}, at most {high:g}"
        case low, high:
            return f"{option.type} from {low:g} to {high:g}"
