"""Which methods and options a request may name: none that reads or writes files here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from typing import Any

from ..benchmark.models import shipped_policies
from ..core.errors import OptionError
from ..core.options import OptionInfo
from ..registry import get_method, methods
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
            valid = ", ".join(one for one in declared if is_open(method, declared[one])) or "none"
            raise OptionError(
                f"method {method!r} has no option {quoted(name)}; its options are: {valid}"
            )
        if not is_open(method, declared[name]):
            raise OptionError(f"option {name!r} of method {method!r} cannot be set by a request")
        _check_value(method, name, value)
    get_method(method, options)  # which checks kinds and ranges
    return dict(options)


def is_open(method: str, info: OptionInfo) -> bool:
    """Return whether a request may set an option; free text may name a file, so none may."""
    if info.name in CLOSED:
        return False
    if info.name == "model":
        return bool(fitting_models(method))
    return info.choices is not None or "str" not in info.type.split(" | ")


def takes_start(method: str) -> bool:
    """Return whether a method can begin from a tree."""
    return any(info.name == "start" for info in methods()[method].options)


@cache
def fitting_models(method: str) -> tuple[str, ...]:
    """Return the names of the shipped models a method can use (without loading torch)."""
    return tuple(model.name for model in shipped_policies()) if method == "policy" else ()


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
            "options": [
                _describe(info.name, one) for one in info.options if is_open(info.name, one)
            ],
        }
        for info in methods().values()
    ]


def _check_value(method: str, name: str, value: Any) -> None:
    if isinstance(value, (list, dict)) or (isinstance(value, str) and len(value) > LONGEST_TEXT):
        raise OptionError(f"option {name!r} of method {method!r} cannot be {shown(value)}")
    if name == "model" and value not in fitting_models(method):
        names = ", ".join(fitting_models(method))
        raise OptionError(f"model must be one that is shipped ({names}), got {shown(value)}")


def _describe(method: str, info: OptionInfo) -> dict[str, Any]:
    described = {key: value for key, value in asdict(info).items() if value is not None}
    if info.name == "model":
        described["choices"] = fitting_models(method)
    return {"default": None, **described}
