"""Which methods and options a request may name: none that reads or writes files here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

from ..core.errors import OptionError
from ..core.models import fitting_models
from ..core.options import OptionInfo
from ..registry import get_method, methods

# Paths on the server, threads of its cores, and what has a field of its own in the request.
CLOSED = ("save_fsts", "load_fsts", "threads", "start")


def open_options(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's options, or say which of them it may not set."""
    kinds = {info.name: info.models for info in get_method(method, {}).info.options}
    for name, value in options.items():
        if name in CLOSED:
            raise OptionError(f"option {name!r} of method {method!r} cannot be set by a request")
        kind = kinds.get(name)
        if kind is not None and value not in fitting_models(kind):
            names = ", ".join(fitting_models(kind))
            raise OptionError(
                f"{name} must be one that is shipped for method {method!r} ({names}), got {value!r}"
            )
    return dict(options)


def takes_start(method: str) -> bool:
    """Return whether a method can begin from a tree."""
    return any(info.name == "start" for info in get_method(method, {}).info.options)


def describe_methods() -> list[dict[str, Any]]:
    """Return every method with the options that requests may set."""
    return [
        {
            "name": info.name,
            "summary": info.summary,
            "guarantee": info.guarantee,
            "needs": list(info.needs),
            "available": all(find_spec(name) is not None for name in info.needs),
            "strict": info.strict,
            "random": info.random,
            "takes_start": takes_start(info.name),
            "options": [_describe(one) for one in info.options if one.name not in CLOSED],
        }
        for info in methods().values()
    ]


def _describe(info: OptionInfo) -> dict[str, Any]:
    described = {key: value for key, value in asdict(info).items() if value is not None}
    if info.models is not None:
        described["choices"] = fitting_models(described.pop("models"))
    return {"default": None, **described}
