"""Method options: frozen dataclasses that check themselves and explain themselves.

A method declares its options once, as dataclass fields made by `option`; names, types, ranges,
choices (of words, from a `Literal` type) and help texts for the API, the command line and the
documentation all come from there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, TypeVar, cast

from .errors import OptionError
from .models import Kind
from .scalars import as_real, as_truth, as_whole

T = TypeVar("T")

# How much work a search may spend.
EffortName = Literal["fast", "default", "best"]

_MISFIT = object()
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
# How the text of an option becomes a value of each kind; KeyError and ValueError mean: it does not.
_FROM_TEXT: Mapping[str, Callable[[str], Any]] = types.MappingProxyType(
    {"bool": lambda text: _TRUTH[text.lower()], "int": int, "float": float, "str": str}
)


def option(
    default: Any,
    help: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    models: Kind | None = None,
    choices: Iterable[str] | None = None,
) -> Any:
    """Declare one option: its default, one line of help, and what values it accepts.

    `models` says that the value names a trained model, and of which kind. `choices` are the words
    that a text may be, where its type does not say so; the keys of a table may become more.
    """
    meta: dict[str, Any] = {"help": help, "minimum": minimum, "maximum": maximum, "models": models}
    # A table stays as it is: it may grow.
    meta["choices"] = choices if choices is None or isinstance(choices, Mapping) else tuple(choices)
    return dataclasses.field(default=default, metadata=meta)


@dataclasses.dataclass(frozen=True, slots=True)
class OptionInfo:
    """One option as `methods()` shows it.

    Attributes
    ----------
    name, type, default, help
        What it is called, the type of its values in words, its default, and one line of help.
    choices, minimum, maximum
        The words or the range that it accepts; None where there is no such limit.
    models
        The kind of trained model that it names, if any.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> option = ds.methods()["greedy"].options[0]
    >>> option.name, option.default, tuple(option.choices)
    ('candidates', 'mst', ('mst', 'knn', 'all', 'grid'))
    """

    name: str
    type: str
    default: Any
    help: str
    choices: Collection[str] | None = None
    minimum: float | None = None
    maximum: float | None = None
    models: Kind | None = None


@dataclasses.dataclass(frozen=True)
class NoOptions:
    """For methods that take no options."""


@functools.cache  # resolving annotations costs more than solving ten points
def _declared(options_class: Any) -> tuple[dict[str, OptionInfo], dict[str, Any]]:
    hints = typing.get_type_hints(options_class)
    infos = {}
    for field in dataclasses.fields(options_class):
        hint = hints[field.name]
        facts = {**field.metadata, "choices": field.metadata["choices"] or _choices(hint)}
        infos[field.name] = OptionInfo(field.name, _type_name(hint), field.default, **facts)
    return infos, hints


def describe(options_class: Any) -> tuple[OptionInfo, ...]:
    """Return the options that a dataclass declares, with the words they take now."""
    infos = _declared(options_class)[0].values()
    return tuple(
        dataclasses.replace(one, choices=one.choices and tuple(one.choices)) for one in infos
    )


def parse(options_class: type[T], given: Mapping[str, Any], *, method: str) -> T:
    """Build the checked options object, or say in one sentence which option is wrong."""
    infos, _ = _declared(cast(Any, options_class))
    for name in given:
        _find(infos, name, method)
    values = {
        name: checked(options_class, name, value, f"option {name!r} of method {method!r}")
        for name, value in given.items()
    }
    return options_class(**values)


def options_from_text(
    infos: Iterable[OptionInfo], settings: Iterable[str], *, method: str
) -> dict[str, Any]:
    """Return the options that texts `name=value` give, converted to the types they declare."""
    by_name = {info.name: info for info in infos}
    options: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name or name in options:
            raise OptionError(
                f"method {method!r}: options are written name=value, each once, got {setting!r}"
            )
        options[name] = _from_text(_find(by_name, name, method), text, method)
    return options


def _from_text(info: OptionInfo, text: str, method: str) -> Any:
    kinds = info.type.split(" | ")
    if "None" in kinds and text.lower() == "none":
        return None
    for kind in kinds:
        with contextlib.suppress(ValueError, KeyError):  # not of this kind, or of one without texts
            return _FROM_TEXT[kind](text)
    raise OptionError(
        f"option {info.name!r} of method {method!r} must be {info.type}, got {text!r}"
    )


def _find(infos: Mapping[str, OptionInfo], name: str, method: str) -> OptionInfo:
    if name not in infos:
        valid = ", ".join(sorted(infos)) or "none"
        raise OptionError(f"method {method!r} has no option {name!r}; its options are: {valid}")
    return infos[name]


def checked(options_class: Any, name: str, value: Any, where: str) -> Any:
    """Return the value of an option as its type.

    Parameters
    ----------
    options_class : type
        The dataclass that declares the option.
    name : str
        The name of the option.
    value : object
        What was given; numpy's scalars count as Python's.
    where : str
        What an error begins with.

    Raises
    ------
    OptionError
        If the value has another type, is not among the choices, or is out of range.
    """
    infos, hints = _declared(options_class)
    info, hint = infos[name], hints[name]
    fitted = next(
        (fit for kind in _kinds(hint) if (fit := _fitted(value, kind)) is not _MISFIT), _MISFIT
    )
    if fitted is _MISFIT:
        raise OptionError(f"{where} must be {info.type}, got {value!r}")
    if info.choices is not None and isinstance(fitted, str) and fitted not in info.choices:
        raise OptionError(f"{where} must be one of {', '.join(info.choices)}, got {value!r}")
    if isinstance(fitted, (int, float)) and not isinstance(fitted, bool):
        _check_range(fitted, info, where)
    return fitted


def check_fields(options: Any, where: str) -> None:
    """Check the fields of options that were not made by `parse`: for `__post_init__`.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Size:
    ...     width: int = option(3, "how wide", minimum=1)
    >>> check_fields(Size(0), "size")
    Traceback (most recent call last):
    ...
    deepsteiner.core.errors.OptionError: size width must be at least 1, got 0
    """
    for name in _declared(cast(Any, type(options)))[0]:
        value = checked(type(options), name, getattr(options, name), f"{where} {name}")
        object.__setattr__(options, name, value)


def _check_range(value: float, info: OptionInfo, where: str) -> None:
    if isinstance(value, float) and math.isnan(value):
        raise OptionError(f"{where} must be a number, got nan")
    if info.minimum is not None and value < info.minimum:
        raise OptionError(f"{where} must be at least {info.minimum}, got {value!r}")
    if info.maximum is not None and value > info.maximum:
        raise OptionError(f"{where} must be at most {info.maximum}, got {value!r}")


def _kinds(hint: Any) -> tuple[Any, ...]:
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if union else (hint,)


def _fitted(value: Any, kind: Any) -> Any:
    """Return the value as this kind, numpy's scalars as Python's, or _MISFIT."""
    converter = {bool: as_truth, int: as_whole, float: as_real}.get(kind)
    if converter is not None:
        number = converter(value)
        return _MISFIT if number is None else number
    if kind is Any:
        return value
    origin = typing.get_origin(kind) or kind
    return value if isinstance(value, str if origin is Literal else origin) else _MISFIT


def _choices(hint: Any) -> tuple[str, ...] | None:
    words = [kind for kind in _kinds(hint) if typing.get_origin(kind) is Literal]
    return typing.get_args(words[0]) if words else None


def _type_name(hint: Any) -> str:
    return " | ".join(map(_kind_name, _kinds(hint)))


def _kind_name(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return "str"  # all our literals are words
    return "None" if kind is type(None) else str(getattr(kind, "__name__", kind))
