"""Reading back the GeoJSON that `solution_to_geojson` writes."""

from __future__ import annotations

from typing import Any

from ..core.errors import FormatError
from .json_points import MEMBER
from .sources import shown

NODE_KINDS = ("terminal", "steiner", "relay")


def dict_from_geojson(value: Any, name: str) -> dict[str, Any]:
    """Return the dictionary of a solution from its GeoJSON; the caller checks its fields."""
    summary = value.get(MEMBER) if isinstance(value, dict) else None
    if not isinstance(summary, dict) or "format" not in summary:
        raise FormatError(
            f"{name}: expected GeoJSON with a member {MEMBER!r}, as a saved solution has"
        )
    data = {field: content for field, content in summary.items() if field != "coordinates"}
    terminals: list[Any] = []
    others: list[Any] = []
    edges: list[Any] = []
    try:
        for feature in value["features"]:
            properties = feature["properties"]
            kind = properties["kind"]
            if kind == "edge":
                edges.append([properties["from"], properties["to"]])
                continue
            _check_node(properties, len(terminals) + len(others), bool(others), name)
            position = properties.get("position", feature["geometry"]["coordinates"])
            (terminals if kind == "terminal" else others).append(position)
    except (KeyError, TypeError, AttributeError):
        raise FormatError(
            f"{name}: expected features with kind, id, from and to, as a saved solution has"
        ) from None
    return {**data, "terminals": terminals, "steiner_points": others, "edges": edges}


def _check_node(properties: dict[str, Any], expected: int, others: bool, name: str) -> None:
    kind = properties["kind"]
    if kind not in NODE_KINDS:
        raise FormatError(
            f"{name}: kind must be one of {', '.join(NODE_KINDS)}, edge; got {shown(kind)}"
        )
    if properties["id"] != expected or (kind == "terminal" and others):
        raise FormatError(
            f"{name}: nodes must be numbered from 0 with terminals first; "
            f"got {kind} {shown(properties['id'])} in place {expected}"
        )
