"""What `core/compiled/parts.py` relies on in numba: kernels that call kernels.

Each test says which part of that module has to change where it fails.
"""

from __future__ import annotations

import gc
from itertools import count
from pathlib import Path
from types import FunctionType

import llvmlite.binding as llvm
import numba
import numba.core.event as events
import numpy as np
import pytest
from numba.core.registry import cpu_target

from deepsteiner.core import jit
from deepsteiner.core.compiled import files
from deepsteiner.core.compiled.parts import OBJECTS_A_SWEEP, Kernel, PartLibrary, is_part

MODULE = "deepsteiner.geometry.vector_kernels"
_numbers = count()
called = other = None  # what `kernel` puts in their places


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder for what is compiled during the test."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path / "deepsteiner"


def kernel(function, **names):
    """Return a function as a kernel of ours that calls others by these names."""
    made = FunctionType(function.__code__, {"__name__": MODULE, "np": np, **names})
    # The cache tells kernels apart by their names.
    made.__module__, made.__qualname__ = MODULE, f"{function.__name__}_{next(_numbers)}"
    return jit.njit(cache=True)(made)


def addresses(result) -> list[int]:
    """Return where the machine code of a result's functions lies, as far as there is any."""
    engine = cpu_target.target_context.codegen()._engine
    names = (result.fndesc.llvm_func_name, result.fndesc.llvm_cpython_wrapper_name)
    return [engine.get_function_address(name) for name in names if engine.is_symbol_defined(name)]


def only(made):
    """Return what a kernel was compiled to for its only signature."""
    (result,) = made.overloads.values()
    return result


def test_what_a_kernel_calls_gets_no_machine_code_of_its_own(folder: Path) -> None:
    """`PartCompiler`: with `no_compile` a function is lowered, and its library not finalized."""
    inner = kernel(lambda x: x + 1.0)
    middle = kernel(lambda x: 2.0 * called(x), called=inner)
    outer = kernel(lambda x: called(x) + other(x), called=middle, other=inner)
    before = len(jit.history)
    assert outer(3.0) == 12.0
    for made in (inner, middle):
        assert is_part(only(made))
        assert isinstance(only(made).library, PartLibrary)
        assert not only(made).library._finalized
        assert not addresses(only(made))
    assert not is_part(only(outer))
    assert len(addresses(only(outer))) == 2
    assert [name for name, _ in files.kept(folder)] == [f"{MODULE}.{outer.py_func.__qualname__}"]
    told = [(one.state, one.inner) for one in jit.history[before:]]
    assert told == [("compiled", True), ("compiled", True), ("compiled", False)]


def test_a_part_that_python_calls_is_compiled_for_it(folder: Path) -> None:
    """`Kernel.compile` and `add_overload`: Python is not told of parts."""
    inner = kernel(lambda x: x + 1.0)
    outer = kernel(lambda x: 2.0 * called(x), called=inner)
    assert outer(3.0) == 8.0
    assert is_part(only(inner))
    assert inner(3.0) == 4.0
    assert not is_part(only(inner))
    assert outer(4.0) == 10.0
    another = kernel(lambda x: 3.0 * called(x), called=inner)
    assert another(3.0) == 12.0
    assert len(list(files.kept(folder))) == 3


def test_constants_count_as_numbers() -> None:
    """`Kernel.get_call_template`: one function for 0, 1 and any other integer."""
    inner = kernel(lambda x, k: x + k)
    outer = kernel(lambda x: called(x, 0) + called(x, k=1) + called(x, x), called=inner)
    assert outer(5) == 5 + 6 + 10
    assert len(inner.overloads) == 1


def test_numbas_functions_are_compiled_once_for_all_kernels(made_of_numba) -> None:
    """`PartCompiler.define_pipelines`: what a caller's own flags are makes no difference."""
    dtype = np.dtype([("a", np.int64), ("b", np.int32), ("c", np.float32)])
    inner = kernel(lambda n: np.empty(n, called).size, called=dtype)
    outer = kernel(lambda n: called(n) + np.empty(n + 1, other).size, called=inner, other=dtype)
    released = jit.njit(nogil=True)(
        FunctionType(outer.py_func.__code__, {**outer.py_func.__globals__, "__name__": MODULE})
    )
    assert outer(3) == released(3) == 7
    assert made_of_numba.count("ol_np_empty") == 1


@pytest.fixture
def made_of_numba():
    """Return a list that fills with the names of numba's own functions as they are compiled."""
    names = []

    class Listener(events.Listener):
        def on_start(self, event) -> None:
            names.append(event.data["dispatcher"].py_func.__qualname__.split(".")[0])

        def on_end(self, event) -> None:
            pass

    listener = Listener()
    events.register("numba:compile", listener)
    yield names
    events.unregister("numba:compile", listener)


def test_garbage_is_looked_for_seldom_while_a_kernel_is_compiled() -> None:
    """The thresholds are the user's again afterwards, also where compiling failed."""
    before, seen = gc.get_threshold(), []

    def looked(phase, info) -> None:
        seen.append(gc.get_threshold())

    gc.callbacks.append(looked)
    try:
        inner = kernel(lambda x: x + 1.0)
        # Its types are found while it is compiled, by a function that looks for garbage.
        swept = numba.extending.overload(_sweeping)(lambda x: gc.collect() * 0 or (lambda x: x))
        assert swept is not None
        outer = kernel(lambda x: called(x) + other(x), called=inner, other=_sweeping)
        assert outer(3.0) == 7.0
        with pytest.raises(numba.TypingError):
            outer("text")
    finally:
        gc.callbacks.remove(looked)
    assert (OBJECTS_A_SWEEP, *before[1:]) in seen
    assert gc.get_threshold() == before


def _sweeping(x):
    return x


def test_functions_are_taken_in_after_those_that_call_them() -> None:
    """`PartLibrary._reached`: LLVM drops what nothing calls yet.

    The outer kernel is known to call the innermost one, and its call is optimised away; the call
    that counts comes from a part that is taken in later.
    """
    innermost = kernel(lambda x: np.sqrt(x) + 1.0)
    middle = kernel(lambda x: called(x) * 2.0, called=innermost)
    # Whichever of the two is met first.
    first = kernel(lambda x: called(x) if x < x else other(x), called=innermost, other=middle)
    second = kernel(lambda x: called(x) if x >= x else other(x), called=middle, other=innermost)
    assert first(4.0) == 6.0
    assert second(4.0) == 6.0


def test_only_what_python_calls_is_known_outside_a_kernel() -> None:
    """`PartLibrary._optimize_final_module`: LLVM need not keep the arguments of the others."""
    inner = kernel(lambda k, unused: 1 if k < 2 else k * called(k - 1, unused))
    inner.py_func.__globals__["called"] = inner
    outer = kernel(lambda k: called(k, 3) + called(k + 1, 4), called=inner)
    assert outer(5) == 120 + 720
    result = only(outer)
    entries = {result.fndesc.llvm_func_name, result.fndesc.llvm_cpython_wrapper_name}
    entries.add(result.fndesc.llvm_cfunc_wrapper_name)
    functions = [one for one in result.library._final_module.functions if not one.is_declaration]
    known = {one.name for one in functions if one.linkage != llvm.Linkage.internal}
    assert result.fndesc.llvm_func_name in known <= entries
    assert any("lambda" in one.name for one in functions if one.linkage == llvm.Linkage.internal)


def test_a_function_that_calls_itself() -> None:
    """Recursion, which numba links by name."""

    made = kernel(lambda k: 1 if k < 2 else k * called(k - 1))
    made.py_func.__globals__["called"] = made
    outer = kernel(lambda k: called(k) + 1, called=made)
    assert outer(5) == 121
    assert made(4) == 24


def test_errors_and_arrays_come_out_of_parts() -> None:
    """What a part raises or makes: its environment is never read."""

    def careful(values):
        if values[0] < 0.0:
            raise ValueError("negative")
        return np.sort(np.append(values, 1.0)).astype(np.float32)

    outer = kernel(lambda values: called(values)[1:], called=kernel(careful))
    loaded = jit.njit(cache=True)(outer.py_func)
    for made in (outer, loaded):
        assert made(np.array([3.0, 2.0])).tolist() == [2.0, 3.0]
        with pytest.raises(ValueError, match="negative"):
            made(np.array([-1.0]))
    assert jit.history[-1].state == "cached"


def test_a_users_function_can_call_a_kernel_and_its_parts() -> None:
    """`PartLibrary.finalize`: for one that knows nothing of parts it has everything."""
    inner = kernel(lambda x: x + 1.0)
    outer = kernel(lambda x: 2.0 * called(x), called=inner)
    assert outer(3.0) == 8.0

    @numba.njit
    def user(x):
        return outer(x) + inner(x)

    assert user(3.0) == 12.0
    assert llvm.parse_bitcode(only(outer).library._get_module_for_linking().as_bitcode())


@pytest.fixture
def prebuilt(monkeypatch: pytest.MonkeyPatch):
    """Return a function that gives a compiled kernel as a wheel would bring it."""
    kept = {}

    class Kept:
        @staticmethod
        def read(name, signature):
            return kept.get((name, signature))

    def from_wheel(made):
        name = f"{MODULE}.{made.py_func.__qualname__}"
        for args in made.overloads:
            place = made._cache._place(args, jit.host_codegen())
            stamp = jit.stamp_of(MODULE, jit.host_codegen())
            code = files.read(*place, stamp)
            kept[name, jit.spelled(args)] = jit.bare(code)
            assert len(jit.bare(code)) < len(code)
            (place[0] / place[1]).unlink()
        return jit.njit(cache=True)(made.py_func)

    monkeypatch.setattr(jit, "fitting_kernels", lambda: Kept)
    return from_wheel


@pytest.mark.parametrize("called_before", [False, True])
def test_what_came_as_machine_code_alone_is_compiled_for_those_that_call_it(
    called_before: bool, prebuilt
) -> None:
    """`Kernel._serves` and `KernelCache.load_overload`: the wheel has no intermediate code."""
    first = kernel(lambda x: np.sqrt(x) + 1.0)
    assert first(4.0) == 3.0
    inner = prebuilt(first)
    if called_before:
        assert inner(4.0) == 3.0
        assert jit.history[-1].state == "prebuilt"
    outer = kernel(lambda x: 2.0 * called(x), called=inner)
    assert outer(4.0) == 6.0
    assert is_part(only(inner))

    @numba.njit
    def user(x):
        return inner(x) + outer(x)

    assert user(9.0) == 12.0
    before = len(jit.history)
    assert inner(16.0) == 5.0
    assert all(one.state != "compiled" for one in jit.history[before:])


def test_threads_that_call_different_kernels_do_not_disturb_each_other() -> None:
    """`Kernel.nested` counts under numba's lock: none of them becomes another's part."""
    from concurrent.futures import ThreadPoolExecutor

    inner = kernel(lambda x: x + 1.0)
    outers = [kernel(lambda x: 2.0 * called(x), called=inner) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda one: one(3.0), outers)) == [8.0] * 4
    assert not any(is_part(only(one)) for one in outers)
    assert Kernel.nested == 0


def test_numbas_own_and_users_functions_are_none_of_ours() -> None:
    @numba.njit
    def user(x):
        return x + 1.0

    @numba.njit
    def caller(x):
        return user(x)

    assert caller(1.0) == 2.0
    assert not isinstance(user, Kernel)
    assert not isinstance(only(user).library, PartLibrary)
    assert cpu_target.target_context.codegen()._library_class is not PartLibrary
