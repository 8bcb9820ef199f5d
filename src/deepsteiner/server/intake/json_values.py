"""JSON values, and arrays of number pairs out of them; the first error ends the reading."""

from __future__ import annotations

import contextlib
import gc
import json
import math
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ...core.points import FloatArray, IntArray
from ..refusals import Refusal, shown

# Python's own parser stops at about a thousand levels; nothing sensible needs more than this.
MOST_LEVELS = 16
LARGEST_INTEGER = 2**63 - 1
# NUL ends text for many libraries, and lone surrogates cannot be encoded.
UNUSABLE = re.compile("[\0\ud800-\udfff]")


def parse_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object of a body whose values have been counted."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Refusal(422, f"the body is not UTF-8 text (byte {error.start})") from None
    try:
        with collector_paused():
            value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        what = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise Refusal(
            422, f"the body is not valid JSON ({what} at character {error.pos})"
        ) from None
    except RecursionError:
        raise Refusal(422, "the body is nested too deeply") from None
    except ValueError:
        raise Refusal(422, "the body holds a number of too many digits") from None
    if not isinstance(value, dict):
        raise Refusal(422, f"the body must be a JSON object, got {shown(value)}")
    return value


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector, which would scan again and again what is being built."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def number_pairs(value: Any, name: str) -> FloatArray:
    """Return a list of [number, number] as an (n, 2) array, or name the first that is not one."""
    return _pairs(value, name, np.float64, {int, float}, "number")


def node_pairs(value: Any, name: str) -> IntArray:
    """Return a list of [node, node] as an (n, 2) array, or name the first that is not one."""
    return _pairs(value, name, np.int64, {int}, "node number")


def check_plain(value: Any, name: str, level: int = 1) -> None:
    """Refuse text, numbers and nesting that no method, format or library could use."""
    if isinstance(value, str):
        if UNUSABLE.search(value):
            raise Refusal(422, f"{name}: text must not hold NUL or lone surrogates")
    elif isinstance(value, int):
        if abs(value) > LARGEST_INTEGER:
            raise Refusal(422, f"{name}: integers must fit into 64 bits, got {shown(value)}")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise Refusal(422, f"{name}: numbers must be finite")
    elif isinstance(value, (list, dict)):
        if level > MOST_LEVELS:
            raise Refusal(422, f"{name} is nested too deeply: at most {MOST_LEVELS} levels")
        for one in chain(value, value.values()) if isinstance(value, dict) else value:
            check_plain(one, name, level + 1)


def _refuse_constant(name: str) -> NoReturn:
    raise Refusal(422, f"the body holds {name}, which is not JSON; numbers must be finite")


def _pairs(value: Any, name: str, dtype: type, kinds: set[type], word: str) -> NDArray[Any]:
    """Return pairs of numbers of these kinds as an array; all at once, since there may be many."""
    if not isinstance(value, list):
        raise Refusal(422, f"{name}: input should be a valid list, got {shown(value)}")
    if set(map(type, value)) <= {list} and set(map(len, value)) <= {2}:
        flat = list(chain.from_iterable(value))
        with contextlib.suppress(OverflowError):
            if set(map(type, flat)) <= kinds:
                array: NDArray[Any] = np.array(flat, dtype=dtype).reshape(-1, 2)
                if np.isfinite(array).all():
                    return array
    for row, pair in enumerate(value):
        if not isinstance(pair, list) or len(pair) != 2:
            raise Refusal(422, f"{name}[{row}]: input should be a pair, got {shown(pair)}")
        for column, one in enumerate(pair):
            if type(one) not in kinds or not _fits(one, dtype):
                where = f"{name}[{row}][{column}]"
                raise Refusal(422, f"{where}: input should be a valid {word}, got {shown(one)}")
    raise AssertionError(f"{name} is sound after all")


def _fits(number: float, dtype: type) -> bool:
    try:
        return bool(np.isfinite(dtype(number)))
    except OverflowError:  # an integer too large for it
        return False
