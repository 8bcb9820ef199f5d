"""`deepsteiner models`: the trained models that come with the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import OptionError

MODELS = Path(__file__).resolve().parents[1] / "models"

models = typer.Typer(
    help="List the trained models, or show one.",
    invoke_without_command=True,
    no_args_is_help=False,
)


@models.callback()
def list_models(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the trained models that come with the package.

    \b
    Examples:
      deepsteiner models
      deepsteiner models show mst-d1
    """
    if context.invoked_subcommand is not None:
        return
    found = {name: _description(name) for name in _names()}
    if as_json:
        print(json.dumps(found))
    elif not found:
        print("no models are installed")
    else:
        _print_table(found)


@models.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A shipped name, or the folder of a model.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print its config.json.")] = False,
) -> None:
    """Print the card of a model."""
    folder = MODELS / name if name in _names() else Path(name)
    card = folder / "card.md"
    if not (folder / "config.json").is_file():
        known = ", ".join(_names()) or "none"
        raise OptionError(f"no model {name!r}: give a model's folder or one of: {known}")
    if as_json:
        print((folder / "config.json").read_text(encoding="utf-8").strip())
    elif card.is_file():
        print(card.read_text(encoding="utf-8").strip())
    else:
        raise OptionError(f"model {name!r} has no card.md; --json prints its config.json")


def _names() -> list[str]:
    return sorted(path.parent.name for path in MODELS.glob("*/config.json"))


def _description(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((MODELS / name / "config.json").read_text("utf-8"))
    return content


def _print_table(found: dict[str, dict[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("model", no_wrap=True, style="bold")
    for heading in ("candidates", "network", "trained on", "gap"):
        table.add_column(heading)
    for name, facts in found.items():
        table.add_row(name, *_cells(facts))
    Console(highlight=False).print(table)
    print("The card of one: deepsteiner models show NAME")


def _cells(facts: dict[str, Any]) -> tuple[str, str, str, str]:
    network = facts.get("network", {})
    data = facts.get("config", {}).get("data", {})
    gap = facts.get("results", {}).get("gap")
    return (
        str(facts.get("candidates", {}).get("kind", "-")),
        f"{network.get('layers', '?')} x {network.get('dim', '?')}, "
        f"{network.get('norm', '?')} norm, {network.get('inputs', '?')} inputs",
        str(data.get("path") or data.get("name") or "-"),
        "-" if gap is None else f"{gap:.3f} %",
    )
