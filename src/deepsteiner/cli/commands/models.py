"""`deepsteiner models`: the trained models that come with the package."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from ...core.errors import FormatError, MissingDependencyError, OptionError
from ...core.models import CARD, DESCRIPTIONS, Kind, kind_of, shipped_folder, shipped_models
from ..reports import print_table

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
    """List the trained models that come with the package, and the method that each is for.

    \b
    Examples:
      deepsteiner models
      deepsteiner models show mst-d1
      deepsteiner solve cities.csv -m policy -o model=knn-d2
    """
    if context.invoked_subcommand is not None:
        return
    kinds = shipped_models()
    found = {name: _description(shipped_folder(name), kind) for name, kind in kinds.items()}
    if as_json:
        print(json.dumps({name: {"method": _method(kinds[name]), **found[name]} for name in found}))
    else:
        headings = ("model", "method", "candidates", "network", "trained on", "gap")
        rows = [
            (name, _method(kinds[name]) or "-", *_cells(kinds[name], facts))
            for name, facts in found.items()
        ]
        print_table(headings, rows)
        print(
            "A method takes its models with -o model=NAME; trainings can start from the one "
            "without."
        )
        print("The card of one: deepsteiner models show NAME")


@models.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A shipped name, or the folder of a model.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print its description.")] = False,
) -> None:
    """Print the card of a model."""
    folder = shipped_folder(name) if name in shipped_models() else Path(name)
    kind = kind_of(folder)
    if kind is None:
        known = ", ".join(shipped_models())
        raise OptionError(f"no model {name!r}: give a model's folder or one of: {known}")
    if as_json:
        print((folder / DESCRIPTIONS[kind]).read_text(encoding="utf-8").strip())
    elif (folder / CARD).is_file():
        print((folder / CARD).read_text(encoding="utf-8").strip())
    else:
        raise OptionError(f"model {name!r} has no {CARD}; --json prints its {DESCRIPTIONS[kind]}")


@models.command("export")
def export(
    name: Annotated[str, typer.Argument(help="A shipped policy, or the folder of one.")],
    target: Annotated[Path, typer.Argument(help="A new folder, or a file that ends in .onnx.")],
) -> None:
    """Write a policy for use elsewhere: a folder for the Hugging Face hub, or an ONNX file.

    \b
    Examples:
      deepsteiner models export mst-d1 mst-d1.onnx
      deepsteiner models export runs/mine/model hub/mine
    """
    if find_spec("torch") is None:
        raise MissingDependencyError("policies need torch: pip install 'deepsteiner[learn]'")
    if target.suffix == ".onnx":
        from ...policy.kit.onnx_export import export_onnx

        print(export_onnx(name, target))
        return
    from ...policy.checkpoint import write_for_hub

    print(write_for_hub(name, target))


def _method(kind: Kind) -> str | None:
    """Return the method that takes models of a kind; a tour model is for trainings alone."""
    return None if kind == "tour" else kind


def _description(folder: Path, kind: Kind) -> dict[str, Any]:
    path = folder / DESCRIPTIONS[kind]
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FormatError(f"{path} is not readable JSON") from None
    return content


def _cells(kind: Kind, facts: dict[str, Any]) -> tuple[str, ...]:
    """Return the candidates, the network, the training data and the gap of a model, in words."""
    sizes = facts.get("network", {})
    parts = (str(sizes.get(part, "?")) for part in ("layers", "dim", "norm", "inputs"))
    network = "{}x{} {} {}".format(*parts)
    if kind == "neural":
        network = f"{facts.get('rounds', '?')} rounds x {facts.get('width', '?')}"
        return "-", network, f"{facts.get('instances', '?')} trees", "-"
    if kind == "tour":
        tour = facts.get("training", {}).get("config", {}).get("tour", {})
        return "-", network, f"tours of {tour.get('n', '?')}", "-"
    data = facts.get("config", {}).get("data", {})
    gap = facts.get("results", {}).get("gap")
    return (
        str(facts.get("candidates", {}).get("kind", "-")),
        network,
        str(data.get("path") or data.get("name") or "-"),
        "-" if gap is None else f"{gap:.3f} %",
    )
