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
from ..run.method import MethodInfo
from .refusals import quoted, shown

# Threads of the server's cores, and what has a field of its own in the request.
CLOSED = ("threads", "start")
LONGEST_TEXT = 100


def open_options(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's options, or say which of them it may not set.

    Only options of the method itself pass, so none is taken for an argument of `solve`.
    """
    declared = {info.name: info for info in methods()[method].options}
    for name, value in options.items():
        if name not in declared:
            valid = ", ".join(one for one in declared if is_open(declared[one])) or "none"
            raise OptionError(
                f"method {method!r} has no option {quoted(name)}; its options are: {valid}"
            )
        if not is_open(declared[name]):
            raise OptionError(f"option {name!r} of method {method!r} cannot be set by a request")
        _check_value(method, declared[name], value)
    get_method(method, options)  # which checks kinds and ranges
    return dict(options)


def is_open(info: OptionInfo) -> bool:
    """Return whether a request may set an option; free text may name a file, so none may."""
    free = "str" in info.type.split(" | ") and info.choices is None and info.models is None
    return info.name not in CLOSED and not free


def is_installed(info: MethodInfo) -> bool:
    """Return whether everything is there that a method needs."""
    return all(find_spec(name) is not None for name in info.needs)


def takes_start(method: str) -> bool:
    """Return whether a method can begin from a tree."""
    return any(info.name == "start" for info in methods()[method].options)


def describe_methods() -> list[dict[str, Any]]:
    """Return every method with the options that requests may set."""
    return [
        {
            "name": info.name,
            "summary": info.summary,
            "guarantee": info.guarantee,
            "needs": list(info.needs),
            "available": is_installed(info),
            "strict": info.strict,
            "random": info.random,
            "takes_start": takes_start(info.name),
            "options": [_describe(one) for one in info.options if is_open(one)],
        }
        for info in methods().values()
    ]


def _check_value(method: str, info: OptionInfo, value: Any) -> None:
    if isinstance(value, (list, dict)) or (isinstance(value, str) and len(value) > LONGEST_TEXT):
        raise OptionError(f"option {info.name!r} of method {method!r} cannot be {shown(value)}")
    if info.models is not None and value not in fitting_models(info.models):
        names = ", ".join(fitting_models(info.models))
        raise OptionError(
            f"{info.name} must be one that is shipped for method {method!r} ({names}), "
            f"got {shown(value)}"
        )


def _describe(info: OptionInfo) -> dict[str, Any]:
    described = {key: value for key, value in asdict(info).items() if value is not None}
    if info.models is not None:
        described["choices"] = fitting_models(described.pop("models"))
    return {"default": None, **described}
