"""Kernels that call kernels: everything is optimised once, with the kernel that Python calls.

numba makes machine code of every function that it meets, together with all that the function calls;
what lies five calls deep is then optimised six times, and five times for nothing, since Python
never calls it. Here such a function is a *part*: it is typed and lowered, and left so. The kernel
that Python calls takes in all its parts, and the whole is optimised at once. That more than halves
the time of a first solve. A part that Python calls later on is compiled for it then. Parts that
make no arrays count no references to them (`counting.py`).

Constants in a call count as what they are numbers of. numba would compile a function once for an
integer and again for 0, for 1, and so on, and with it all that it passes them on to.

This is, besides `core/jit.py`, the only module that touches numba's insides, and what it relies on
is tested in the same place (`tests/core/test_parts.py`):

- `pipeline_class` (a documented setting) makes the compiler of a function, whose `state.library`
  receives its code; with the flag `no_compile` that is all that happens to it. The flags on top of
  `ConfigStack` while it runs are a copy, by which numba tells its own functions apart;
- a library collects those that it calls by `add_linking_library`, and takes in what they give in
  `_get_module_for_linking` when it is finalized;
- `add_ir_module` is given the code of a function as text to be, before that of its wrappers, and
  `_optimize_final_module` works on all that was linked;
- one kernel finds another by `get_call_template`, and then by the `entry_point` of the result that
  `compile` has put among its `overloads`.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm
from numba.core import runtime
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.targetconfig import ConfigStack
from numba.core.types import unliteral

from .counting import deals_with_memory, returns_arrays, without_counting

# Of numba's functions mypy knows no types.
_Library: Any = JITCodeLibrary
_Compiler: Any = Compiler
_Dispatcher: Any = CPUDispatcher
_argument_types: Any = normalize_signature
_without_value: Any = unliteral
_flags_stack: Any = ConfigStack
_rtsys: Any = getattr(runtime, "rtsys")  # noqa: B009 (mypy does not see it)


# New objects between two sweeps for garbage while a kernel is compiled; Python's own number is 700.
OBJECTS_A_SWEEP = 200_000


@contextlib.contextmanager
def _little_swept() -> Iterator[None]:
    """Let Python look for garbage seldom.

    Compiling makes millions of objects that all live until it is done. To look through them again
    and again took a sixth of the time.
    """
    before = gc.get_threshold()
    if before[0]:  # 0: it looks for none
        gc.set_threshold(max(before[0], OBJECTS_A_SWEEP), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Part:
    """What stands for a function that other kernels can call and Python cannot."""


def is_part(result: Any) -> bool:
    """Return whether the result of a compilation is a part."""
    return isinstance(result.entry_point, Part)


class PartLibrary(_Library):  # type: ignore[misc]
    """The code of one function, which takes in what the function calls only when it must."""

    _alone: Any = None
    _entries: frozenset[str] = frozenset()
    # What is known of the function, until its code comes.
    state: Any = None
    makes_arrays = True

    def add_ir_module(self, module: Any) -> None:
        """Take the code of the function, later that of its wrappers.

        A part that makes no array, nor calls what does, comes without counting.
        """
        if self.state is not None:
            state, self.state = self.state, None
            self.makes_arrays = (
                returns_arrays(state.targetctx, state.return_type)
                or deals_with_memory(module.globals)
                or any(makes_arrays(library) for library in self._linking_libraries)
            )
            if state.flags.no_compile and not self.makes_arrays:
                without_counting(module)
        super().add_ir_module(module)

    def add_linking_library(self, library: Any) -> None:
        """Remember a library that this one calls; a part is left as it is."""
        if not isinstance(library, PartLibrary):
            library._ensure_finalized()
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        """Take in everything that is called from here, optimise it, and make machine code."""
        self._entries = frozenset(self.defined())
        self._linking_libraries = self._reached()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        super().finalize()

    def _reached(self) -> list[Any]:
        """Return all libraries that are called from here, callers before those that they call.

        A function is taken in only if something that is there already calls it.
        """
        seen, order = {self}, []
        left: list[tuple[Any, bool]] = [(one, False) for one in self._linking_libraries]
        while left:
            library, is_done = left.pop()
            if is_done:
                order.append(library)
            elif library not in seen:
                seen.add(library)
                left.append((library, True))
                if isinstance(library, PartLibrary) and not library._finalized:
                    left.extend((one, False) for one in library._linking_libraries)
        return order[::-1]

    def _optimize_final_module(self) -> None:
        """Optimise all that is taken in; only what Python calls is known outside.

        LLVM may then leave arguments out that a function has no use for, and put a function where
        its only call is. Named tuples of arrays are a hundred arguments, written anew at each call.
        """
        for function in self._final_module.functions:
            if not function.is_declaration and function.name not in self._entries:
                function.linkage = llvm.Linkage.internal
        super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        """Make machine code; a call to nothing would only be noticed when it is made."""
        missing = {one.name for one in self._final_module.functions if one.is_declaration}
        for library in self._linking_libraries:
            if isinstance(library, PartLibrary) and not library._finalized:
                lost = missing.intersection(library.defined())
                if lost:
                    raise RuntimeError(f"{', '.join(lost)} cannot be found by {self.name}")
        super()._finalize_final_module()

    def defined(self) -> list[str]:
        """Return the names of the functions that this library has the code of."""
        return [one.name for one in self._final_module.functions if not one.is_declaration]

    def _get_module_for_linking(self) -> Any:
        if self._finalized:
            plain: Any = super()
            return plain._get_module_for_linking()
        if self._alone is None:
            module = self._final_module.clone()
            for function in module.functions:
                if not function.is_declaration and function.linkage == llvm.Linkage.external:
                    function.linkage = "linkonce_odr"  # may be met more than once
            self._alone = module
        return self._alone


def makes_arrays(library: Any) -> bool:
    """Return whether anything in a library makes arrays, or must be taken to.

    Of machine code that was loaded nothing is known. What counts is itself a library.
    """
    if isinstance(library, PartLibrary):
        return library.makes_arrays
    names = [one.name for one in library._final_module.functions]
    return library is not _rtsys.library and (not names or deals_with_memory(names))


class PartCompiler(_Compiler):  # type: ignore[misc]
    """Makes a kernel of what Python calls, and parts of what kernels call."""

    def define_pipelines(self) -> Any:
        """Return what to do with a function; first say how what it calls of numba is compiled.

        numba keeps its functions for each set of flags that a caller has, and would compile them
        again for kernels that differ in nothing that is handed down.
        """
        handed_down = _flags_stack().top()
        handed_down.no_compile = handed_down.no_cpython_wrapper = True
        handed_down.no_cfunc_wrapper, handed_down.release_gil = True, False
        return super().define_pipelines()

    def compile_extra(self, function: Any) -> Any:
        """Compile a function for the types that this compiler was made for."""
        state: Any = self.state
        state.library = PartLibrary(state.targetctx.codegen(), function.__qualname__)
        state.library.enable_object_caching()
        state.library.state = state
        if Kernel.nested < 2:
            return super().compile_extra(function)
        state.flags.no_compile = True
        state.flags.no_cpython_wrapper = True
        state.flags.no_cfunc_wrapper = True
        result: Any = super().compile_extra(function)
        result = result._replace(entry_point=Part())
        state.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result


class Kernel(_Dispatcher):  # type: ignore[misc]
    """A kernel for every signature that it is called with, by Python or by other kernels."""

    # Numba's lock guards both: kernels that are being compiled, one as part of the other, and calls
    # that are being looked up for functions that are compiled, be they kernels or a user's.
    nested = 0
    looked_up = 0

    def _serves(self, result: Any) -> bool:
        """Return whether who wants a result can call it.

        Python cannot call a part, and compiled functions cannot call what came as machine code
        alone: they take in what they call.
        """
        if Kernel.looked_up and getattr(result.library, "is_bare", False):
            return False
        return bool(Kernel.nested) or not is_part(result)

    def compile(self, sig: Any) -> Any:
        """Return what stands for the kernel of some types, which is compiled unless it is there."""
        with global_compiler_lock:
            types_of = tuple(_argument_types(sig)[0])
            known = self.overloads.get(types_of)
            if known is not None and not self._serves(known):
                del self.overloads[types_of]
            with contextlib.nullcontext() if Kernel.nested else _little_swept():
                Kernel.nested += 1
                try:
                    return super().compile(sig)
                finally:
                    Kernel.nested -= 1

    def add_overload(self, result: Any) -> None:
        """Keep a result; Python learns only of those that it can call."""
        if is_part(result):
            self.overloads[tuple(result.signature.args)] = result
        else:
            super().add_overload(result)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how another kernel calls this one with arguments of some types."""
        plain = [_without_value(one) for one in args]
        named = {name: _without_value(one) for name, one in kws.items()}
        with global_compiler_lock:
            Kernel.looked_up += 1
            try:
                return super().get_call_template(plain, named)
            finally:
                Kernel.looked_up -= 1


def with_parts(make: Any, function: Any, options: dict[str, Any]) -> Any:
    """Return the kernel that numba's decorator makes of a function, as one of ours."""
    kernel = make(pipeline_class=PartCompiler, **options)(function)
    if isinstance(kernel, CPUDispatcher):  # NUMBA_DISABLE_JIT gives the function back
        kernel.__class__ = Kernel
    return kernel
