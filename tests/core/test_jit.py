"""What `core/jit.py` relies on in numba: when a new numba comes, look here first.

Each test says which part of `core/jit.py` has to change where it fails.
"""

from __future__ import annotations

import ast
import inspect
import pickle
import sys
from pathlib import Path
from types import FunctionType

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest
from numba.core.registry import cpu_target

from deepsteiner.core import jit
from deepsteiner.core.compiled import files, progress
from deepsteiner.core.compiled.entries import entry_kernels
from deepsteiner.core.compiled.sources import PACKAGE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder for what is compiled during the test."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path / "deepsteiner"


MODULE = "deepsteiner.geometry.vector_kernels"


def doubled(values):
    return 2.0 * values.sum()


def kernel(function=doubled):
    """Return a kernel as if a module of ours had it, compiled for nothing yet."""
    function.__module__ = MODULE
    return jit.njit(cache=True)(function)


def call(made) -> float:
    return made(np.arange(4.0))


def test_a_dispatcher_asks_its_cache_before_it_compiles_and_tells_it_afterwards(folder) -> None:
    """`KernelCache` has the methods that `numba.core.caching._Cache` asks for."""
    from numba.core.caching import _Cache

    asked = {name for name, one in vars(_Cache).items() if getattr(one, "__isabstractmethod__", 0)}
    assert asked == {"cache_path", "load_overload", "save_overload", "enable", "disable", "flush"}
    made = kernel()
    assert isinstance(made._cache, jit.KernelCache)
    assert call(made) == 12.0
    before = len(jit.history)
    again = kernel()
    assert call(again) == 12.0
    assert [one.state for one in jit.history[before:]] == ["cached"]
    assert again.stats.cache_path == str(folder)
    assert sum(again.stats.cache_hits.values()) == 1


def test_a_result_goes_through_pickle_and_back(folder) -> None:
    """`_reduced` and `_rebuilt`: the order and kinds of what `CompileResult._reduce` gives."""
    made = kernel()
    call(made)
    (result,) = made.overloads.values()
    parts = result._reduce()
    assert all(hasattr(one, "consts") for one in parts[-1])  # environments are the last part
    assert [hasattr(one, "return_type") for one in parts].count(True) == 1  # one signature
    name, kind, (code, intermediate) = parts[0]  # the library is the first
    assert (name, kind) == (result.library.name, "object")
    assert code.startswith(b"\x7fELF") or not sys.platform.startswith("linux")
    assert llvm.parse_bitcode(intermediate)
    names = list(inspect.signature(type(result)._rebuild).parameters)
    assert len(names) == 1 + len(parts)  # the context, then the parts
    payload = jit.dumps(jit._reduced(result))
    context = cpu_target.target_context
    sig = tuple(result.signature.args)
    rebuilt = jit._rebuilt(payload, sig, context)
    assert rebuilt.signature.args == result.signature.args
    assert jit._rebuilt(payload, (numba.int64,), context) is None  # a signature of that name
    *_, environments, symbols = pickle.loads(payload)
    assert environments == ()  # it uses no Python objects
    assert result.fndesc.llvm_func_name in symbols
    assert symbols <= context.codegen()._engine._defined_symbols


def test_a_loaded_kernel_can_be_called_by_one_that_is_compiled(folder) -> None:
    """`LoadedLibrary`: its intermediate code is read then, and not before."""
    call(kernel())
    made = kernel()
    call(made)
    (result,) = made.overloads.values()
    assert isinstance(result.library, jit.LoadedLibrary)
    assert result.library.packed
    caller = jit.njit(_ours(lambda values: called(values) + 1.0, called=made))  # noqa: F821
    assert caller(np.arange(4.0)) == 13.0
    assert not result.library.packed


def test_no_environment_that_is_left_out_is_ever_read(folder) -> None:
    """`_reduced` leaves out those without objects; what raises or makes arrays has some."""

    def careful(values):
        if values[0] < 0.0:
            raise ValueError("negative")
        return np.sort(np.append(values, 1.0)).astype(np.float32)

    for _ in range(2):  # compiled, then loaded
        made = kernel(careful)
        assert made(np.array([3.0, 2.0])).tolist() == [1.0, 2.0, 3.0]
        with pytest.raises(ValueError, match="negative"):
            made(np.array([-1.0]))
    assert jit.history[-1].state == "cached"


def test_events_tell_of_compilations_one_within_the_other(folder) -> None:
    """`_Compiles`: numba's event has the dispatcher, and ends also where compiling fails."""
    heard: list[tuple[int, int, bool]] = []

    def hear(one: progress.Compiling) -> None:
        heard.append((one.done, one.functions, one.finished))
        assert one.left >= 0.0

    inner = jit.njit(_ours(lambda x: x + 1.0))
    outer = jit.njit(_ours(lambda x: called(x) * 2.0, called=inner))  # noqa: F821
    progress.listen(hear)
    try:
        assert outer(1.0) == 4.0
        with pytest.raises(numba.TypingError):
            jit.njit(_ours(lambda x: x.nonsense))(1.0)
    finally:
        progress.ignore(hear)
    assert heard[0] == (0, 2, False)
    assert (2, 2, True) in heard
    assert heard[-1][2]
    assert jit._compiles.depth == 0


def _ours(function, **names):
    """Return a function as if a module of ours had it, with these globals."""
    made = FunctionType(function.__code__, {"__name__": MODULE, **names})
    made.__module__ = MODULE
    return made


def test_a_compilation_that_fails_lets_others_try(folder) -> None:
    """`_Compiles`: an exception is under way when the event of a compilation that fails ends."""

    def interrupted(values):
        return values.nonsense

    with pytest.raises(numba.TypingError):
        call(kernel(interrupted))
    assert list(folder.iterdir()) == []


def test_processors_are_told_apart_by_names_that_llvm_knows() -> None:
    """`FEATURES` and `can_run`."""
    known = llvm.get_host_cpu_features()
    for level, features in jit.FEATURES.items():
        if level == jit.build_level():
            assert set(features) <= set(known)
    assert not jit.can_run("nonsense")


def test_a_processor_can_be_chosen_by_the_environment() -> None:
    """`build_environment`: settings that numba reads when it is imported."""
    for name in jit.build_environment():
        assert hasattr(numba.config, name.removeprefix("NUMBA_")), name
    for name in ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "CACHE_DIR"):
        assert hasattr(numba.config, name), name


def test_nothing_of_numba_is_replaced() -> None:
    from numba.core import caching, dispatcher

    assert dispatcher.FunctionCache is caching.FunctionCache
    for part in (caching, dispatcher, numba):
        for name, one in vars(part).items():
            module = getattr(one, "__module__", None) or ""
            assert not module.startswith("deepsteiner"), f"{part.__name__}.{name}"


def test_kernels_use_our_decorator_and_nobody_else_knows_numbas_insides() -> None:
    """A kernel under numba's own decorator would be neither prebuilt nor in our cache."""
    documented = {"uint64", "types", "intrinsic", "TypingError", "cgutils"}
    for path in PACKAGE.rglob("*.py"):
        if path in (PACKAGE / "core" / "jit.py", PACKAGE / "core" / "compiled" / "parts.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numba"):
                assert {alias.name for alias in node.names} <= documented, path
            if isinstance(node, ast.Import):
                assert not any(alias.name.startswith("numba") for alias in node.names), path


def test_entries_are_kernels() -> None:
    import importlib

    found = entry_kernels()
    assert len(found) > 100
    assert "deepsteiner.geometry.spanning_kernels.prim" in found
    assert "deepsteiner.fst.enumerate.nearby.neighbour_kernels.pair_bounds" in found
    for name in found:
        module, _, function = name.rpartition(".")
        made = getattr(importlib.import_module(module), function)
        assert isinstance(made._cache, jit.KernelCache), name


def test_kernels_divide_by_zero_as_numpy_does(folder) -> None:
    """They raise nothing, and one error model lets them share what they call of numba."""
    assert np.isinf(jit.njit(lambda x: 1.0 / x)(0.0))
    careful = jit.njit(error_model="python")(lambda x: 1.0 / x)
    with pytest.raises(ZeroDivisionError):
        careful(0.0)


def test_where_a_numba_keeps_its_cache_elsewhere_its_own_serves(monkeypatch) -> None:
    """The way out in `njit`, for a dispatcher without `_cache`."""

    class Other:
        enabled = False

        def enable_caching(self) -> None:
            self.enabled = True

    other = Other()
    monkeypatch.setattr(numba, "njit", lambda **options: lambda function: other)
    assert jit.njit(cache=True)(doubled) is other
    assert other.enabled
    assert files.SUFFIX == ".kernel"
