"""Method options: frozen dataclasses that check themselves and explain themselves.

A method declares its options once, as dataclass fields made by `option`; names, types, ranges,
choices and help texts for the API, the command line and the documentation all come from there.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from .errors import OptionError

T = TypeVar("T")


def option(
    default: Any,
    help: str,
    *,
    choices: Iterable[str] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Any:
    """Declare one option: its default, one line of help, and what values it accepts."""
    meta = {
        "help": help,
        "choices": tuple(choices) if choices is not None else None,
        "minimum": minimum,
        "maximum": maximum,
    }
    return dataclasses.field(default=default, metadata=meta)


@dataclasses.dataclass(frozen=True, slots=True)
class OptionInfo:
    """One option as `methods()` shows it."""

    name: str
    type: str
    default: Any
    help: str
    choices: tuple[str, ...] | None = None
    minimum: float | None = None
    maximum: float | None = None


@dataclasses.dataclass(frozen=True)
class NoOptions:
    """For methods that take no options."""


@functools.cache  # resolving annotations costs more than solving ten points
def _declared(options_class: Any) -> tuple[dict[str, OptionInfo], dict[str, Any]]:
    hints = typing.get_type_hints(options_class)
    infos = {
        field.name: OptionInfo(
            field.name, _type_name(hints[field.name]), field.default, **field.metadata
        )
        for field in dataclasses.fields(options_class)
    }
    return infos, hints


def describe(options_class: Any) -> tuple[OptionInfo, ...]:
    """Return the options that a dataclass declares."""
    return tuple(_declared(options_class)[0].values())


def parse(options_class: type[T], given: Mapping[str, Any], *, method: str) -> T:
    """Build the checked options object, or say in one sentence which option is wrong."""
    infos, hints = _declared(cast(Any, options_class))
    for name in given:
        if name not in infos:
            valid = ", ".join(sorted(infos)) or "none"
            raise OptionError(f"method {method!r} has no option {name!r}; its options are: {valid}")
    values = {
        name: _checked(value, infos[name], hints[name], method) for name, value in given.items()
    }
    return options_class(**values)


def from_text(infos: Iterable[OptionInfo], name: str, text: str, *, method: str) -> Any:
    """Convert the text of a command-line option to the type that the option declares."""
    by_name = {info.name: info for info in infos}
    if name not in by_name:
        valid = ", ".join(sorted(by_name)) or "none"
        raise OptionError(f"method {method!r} has no option {name!r}; its options are: {valid}")
    kinds = by_name[name].type.split(" | ")
    if "None" in kinds and text.lower() == "none":
        return None
    for kind in kinds:
        try:
            if kind == "bool":
                return _bool_from_text(text)
            if kind in ("int", "float"):
                return int(text) if kind == "int" else float(text)
        except ValueError:
            continue
        if kind == "str":
            return text
    raise OptionError(
        f"option {name!r} of method {method!r} must be {by_name[name].type}, got {text!r}"
    )


def _bool_from_text(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


def _checked(value: Any, info: OptionInfo, hint: Any, method: str) -> Any:
    where = f"option {info.name!r} of method {method!r}"
    kinds = typing.get_args(hint) if _is_union(hint) else (hint,)
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and int not in kinds
        and float in kinds
    ):
        value = float(value)
    if not any(_matches(value, kind) for kind in kinds):
        raise OptionError(f"{where} must be {info.type}, got {value!r}")
    if info.choices is not None and isinstance(value, str) and value not in info.choices:
        raise OptionError(f"{where} must be one of {', '.join(info.choices)}, got {value!r}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        _check_range(value, info, where)
    return value


def _check_range(value: float, info: OptionInfo, where: str) -> None:
    if isinstance(value, float) and math.isnan(value):
        raise OptionError(f"{where} must be a number, got nan")
    if info.minimum is not None and value < info.minimum:
        raise OptionError(f"{where} must be at least {info.minimum}, got {value!r}")
    if info.maximum is not None and value > info.maximum:
        raise OptionError(f"{where} must be at most {info.maximum}, got {value!r}")


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _matches(value: Any, kind: Any) -> bool:
    if kind is Any:
        return True
    origin = typing.get_origin(kind) or kind
    if origin is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin)


def _type_name(hint: Any) -> str:
    if _is_union(hint):
        return " | ".join(_type_name(kind) for kind in typing.get_args(hint))
    return "None" if hint is type(None) else getattr(hint, "__name__", str(hint))
