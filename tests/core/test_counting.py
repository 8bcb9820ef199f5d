"""Counting references where arrays are made and nowhere else: `core/compiled/counting.py`."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from types import FunctionType

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from deepsteiner.core import jit
from deepsteiner.core.compiled.counting import COUNTING
from deepsteiner.core.compiled.parts import is_part

MODULE = "deepsteiner.geometry.vector_kernels"
_numbers = count()
called = other = None  # what `kernel` puts in their places


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is compiled in an empty folder."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))


def kernel(function, **names):
    """Return a function as a kernel of ours that calls others by these names."""
    made = FunctionType(function.__code__, {"__name__": MODULE, "np": np, **names})
    made.__module__, made.__qualname__ = MODULE, f"{function.__name__}_{next(_numbers)}"
    return jit.njit(cache=True)(made)


def counts(part) -> bool:
    """Return whether the code of a part counts references."""
    (result,) = part.overloads.values()
    assert is_part(result)
    text = str(result.library._final_module)
    return any(f"call void @{name}" in text for name in COUNTING)


def _reads(values):
    """Look at rows and parts of an array, with several ends."""
    for row in values:
        rest = row[1:]
        if row[0] > rest[0] + rest[1]:
            return rest[1]
    return values[0, 0]


def _makes(values):
    return values.copy().sum()


def _hands_on(values):
    return values[0]


def _calls(values):
    return called(values) + 1.0


POINTS = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(("part", "expected"), [(_reads, False), (_makes, True), (_hands_on, True)])
def test_only_what_makes_or_returns_an_array_counts(part, expected: bool) -> None:
    inner = kernel(part)
    outer = kernel(lambda values: np.asarray(called(values)).size, called=inner)
    assert outer(POINTS) == np.asarray(part(POINTS)).size
    assert counts(inner) == expected


@pytest.mark.parametrize(("part", "expected"), [(_reads, False), (_makes, True)])
def test_what_calls_something_that_makes_arrays_counts_too(part, expected: bool) -> None:
    inner = kernel(part)
    middle = kernel(lambda values: called(values[1:]) + values[0, 0], called=inner)
    outer = kernel(_calls, called=middle)
    assert outer(POINTS) == part(POINTS[1:]) + POINTS[0, 0] + 1.0
    assert counts(inner) == counts(middle) == expected


def test_what_calls_loaded_machine_code_counts() -> None:
    """Nobody knows what that does."""
    first = kernel(_reads)
    assert first(POINTS) == _reads(POINTS)
    loaded = jit.njit(cache=True)(first.py_func)
    assert loaded(POINTS) == _reads(POINTS)
    assert jit.history[-1].state == "cached"
    middle = kernel(lambda values: called(values[1:]) + values[0, 0], called=loaded)
    assert kernel(_calls, called=middle)(POINTS) == _reads(POINTS[1:]) + POINTS[0, 0] + 1.0
    assert counts(middle)


def test_a_function_that_calls_itself_is_taken_to_make_arrays() -> None:
    inner = kernel(lambda values: values[0] if values.size < 2 else called(values[1:]))
    inner.py_func.__globals__["called"] = inner
    assert kernel(_calls, called=inner)(np.arange(5.0)) == 5.0


@pytest.fixture
def statistics():
    """Let numba keep count of what it takes and gives back."""
    _nrt_python.memsys_enable_stats()
    yield rtsys.get_allocation_stats
    _nrt_python.memsys_disable_stats()


def test_every_array_lives_as_long_as_it_is_used_and_no_longer(statistics) -> None:
    """Parts that count and parts that do not, one within the other, in a loop."""

    def work(values):
        total, rest = 0.0, values.copy()
        for k in range(50):
            fresh = np.full((3, 3), k + 1.0)
            total += called(fresh) + other(rest[k % 2 :]) + called(rest)
            rest = fresh if k % 3 == 0 else rest
        return total, rest

    names = {"called": kernel(_reads), "other": kernel(_makes)}
    made = kernel(work, **names)
    expected = FunctionType(work.__code__, {"np": np, "called": _reads, "other": _makes})(POINTS)
    made(POINTS)
    held, before = sys.getrefcount(POINTS), statistics()
    for _ in range(20):
        total, rest = made(POINTS)
        assert total == expected[0]
        assert (rest == expected[1]).all()
    del rest
    after = statistics()
    assert sys.getrefcount(POINTS) == held
    assert after.alloc - before.alloc == after.free - before.free
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
    assert not counts(names["called"])
