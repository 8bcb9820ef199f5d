"""Kernels and numba: what touches its insides is here, in `compiled/parts.py` and `counting.py`.

Kernels are decorated with the `njit` of this module. It is numba's, except that with `cache=True` a
kernel looks for its code among the prebuilt kernels of the installation, then in our own cache
(`core/compiled/`), and is compiled where neither has it. Only kernels of this package are
concerned: nothing of numba is replaced, and a user's own functions never see any of this.

What is relied upon, besides numba's documented events and settings (`tests/core/test_jit.py` has a
test for each, to be looked at when a new numba comes):

- a dispatcher asks `_cache.load_overload(sig, context)` before it compiles and calls
  `_cache.save_overload(sig, result)` afterwards;
- `CompileResult._reduce` and `_rebuild` turn a result into something that pickle takes, and back;
- a library gives its intermediate code by `_get_module_for_linking`, and an engine has the names of
  its symbols in `_defined_symbols`;
- `rtsys.initialize` must have run before code that was compiled elsewhere may be called, and is all
  that it needs: refreshing the registries, as numba does before every look into its cache, takes a
  quarter of a second and serves compiling alone.

Whatever goes wrong while a kernel is loaded, it is compiled. Where parts of numba are missing that
are named here, kernels are left to numba and its own cache.
"""

from __future__ import annotations

import contextlib
import logging
import lzma
import pickle
import platform
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import llvmlite
import llvmlite.binding as llvm
import numba
import numba.core.event as events
import numpy as np

from .compiled import files, prebuilt, progress, sources
from .compiled.progress import Event, State

_log = logging.getLogger(__name__)

config: Any = numba.config
try:
    from numba.core import codegen as codegens
    from numba.core import runtime, serialize
    from numba.core.compiler import CompileResult
    from numba.core.registry import cpu_target

    from .compiled.parts import Kernel, is_part, with_parts

    KNOWN = True
    Library: Any = codegens.JITCodeLibrary
    rtsys: Any = getattr(runtime, "rtsys")  # noqa: B009 (mypy does not see it)
    dumps: Any = serialize.dumps
except (ImportError, AttributeError):  # a numba to come: its own cache serves
    KNOWN = False
    Library = object

# Of what `_reduced` gives, and of how kernels are put together; a change makes all kept useless.
FORM = "4"
# The processors that prebuilt kernels are for, and the features that LLVM then uses: nearly every
# machine since 2015 has the third level of x86-64. Elsewhere LLVM's baseline of the kind serves.
LEVELS = {"x86_64": "x86-64-v3", "AMD64": "x86-64-v3"}
_V3 = "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave"
FEATURES = {"x86-64-v3": tuple(_V3.split(" "))}


class KernelCache:
    """Where a dispatcher finds the code of one kernel, in the form that numba asks of a cache."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._kernel = f"{function.__module__}.{function.__qualname__}"
        self._module = function.__module__

    @property
    def cache_path(self) -> str:
        """The folder, which numba shows in a dispatcher's statistics."""
        return str(kernel_folder() or "")

    def load_overload(self, sig: Any, context: Any) -> CompileResult | None:
        """Return the compiled kernel for a signature; None where it must be compiled."""
        # Prebuilt kernels are bare: what is compiled cannot take them in.
        states: tuple[State, ...] = ("cached",) if Kernel.looked_up else ("prebuilt", "cached")
        for state in states:
            result = self._loaded(state, sig, context)
            if result is not None:
                return result
        if _compiles.depth:
            return None
        try:
            waited = _turn.take(*self._place(sig, context.codegen()))
        except Exception as error:
            _log.debug("%s is compiled without waiting for others: %r", self._kernel, error)
            return None
        result = self._loaded("cached", sig, context) if waited else None
        if result is not None:
            _turn.end()  # others wait for the same kernel, and nothing is compiled here
        return result

    def save_overload(self, sig: Any, result: Any) -> None:
        """Keep a compiled kernel, if that can be done."""
        signature = spelled(sig)
        _record(Event("compiled", self._kernel, signature, _compiles.took, bool(_compiles.depth)))
        try:
            # Parts are kept within kernels; dynamic globals are addresses.
            if not (is_part(result) or result.lifted or result.library.has_dynamic_globals):
                place = self._place(sig, result.codegen)
                stamp = stamp_of(self._module, result.codegen)
                files.write(*place, stamp, self._kernel, dumps(_reduced(result)))
        except Exception as error:
            _log.debug("%s cannot be kept: %r", self._kernel, error)
        if not _compiles.depth:
            _turn.end()

    def enable(self) -> None:
        """Part of numba's interface."""

    def disable(self) -> None:
        """Part of numba's interface."""

    def flush(self) -> None:
        """Part of numba's interface."""

    def _loaded(self, state: State, sig: Any, context: Any) -> CompileResult | None:
        began = time.perf_counter()
        try:
            rtsys.initialize(context)
            payload = self._payload(state, sig, context.codegen())
            result = None if payload is None else _rebuilt(payload, sig, context)
        except Exception as error:  # a numba that differs, or a damaged pickle, may raise anything
            _log.debug("%s cannot be loaded and is compiled: %r", self._kernel, error)
            return None
        if result is not None:
            taken = time.perf_counter() - began
            _record(Event(state, self._kernel, spelled(sig), taken, bool(_compiles.depth)))
        return result

    def _payload(self, state: State, sig: Any, codegen: Any) -> bytes | None:
        if state == "prebuilt":
            kernels = fitting_kernels()
            return None if kernels is None else kernels.read(self._kernel, spelled(sig))
        return files.read(*self._place(sig, codegen), stamp_of(self._module, codegen))

    def _place(self, sig: Any, codegen: Any) -> tuple[Path | None, str]:
        return kernel_folder(), files.file_name(self._kernel, spelled(sig), host(codegen))


if TYPE_CHECKING:
    from numba import njit as njit
else:

    def njit(function=None, *, cache=False, **options):
        """Compile a kernel as numba's `njit` does; `cache` keeps its code in our own cache.

        Kernels raise nothing, so a division by zero gives what it gives in numpy. One such model
        for all also lets them share what they call of numba. References are counted unless a
        kernel says otherwise: by itself it would do as the kernel that happens to call it first.
        """
        options.setdefault("error_model", "numpy")
        options.setdefault("_nrt", True)
        if function is None:
            return partial(njit, cache=cache, **options)
        if KNOWN:
            kernel = with_parts(numba.njit, function, options)
        else:
            kernel = numba.njit(**options)(function)
        if not cache:
            return kernel
        if KNOWN and hasattr(kernel, "_cache"):
            kernel._cache = KernelCache(function)
        elif kernel is not function:  # which NUMBA_DISABLE_JIT gives back
            with contextlib.suppress(RuntimeError):  # there is no place for numba's own cache
                kernel.enable_caching()
        return kernel


def spelled(sig: Any) -> str:
    """Return the types of the arguments in words."""
    return ", ".join(str(one) for one in getattr(sig, "args", sig))


def _reduced(result: Any) -> tuple[Any, ...]:
    """Return a compiled kernel in parts for pickle, so that loading it takes as little as can be.

    The environment of a function holds the Python objects that it makes use of. Most have none; to
    restore them all the same, numba would import the modules that the functions are from, and with
    some of its own half of scipy. The names of the kernel's symbols go along, for which numba would
    read its intermediate code; that is packed, and left so until it is needed.
    """
    (name, kind, (code, intermediate)), *parts, environments = result._reduce()
    packed = code, lzma.compress(intermediate)
    described = result.fndesc
    symbols = {
        described.llvm_func_name,
        described.llvm_cpython_wrapper_name,
        described.llvm_cfunc_wrapper_name,
    }
    # Of the parts, text is the kernel's source with the types of everything in it, for people.
    shorter = ("" if isinstance(part, str) else part for part in parts)
    some = tuple(one for one in environments if one.consts)
    return (name, kind, packed), *shorter, some, symbols


def _rebuilt(payload: bytes, sig: Any, context: Any) -> CompileResult | None:
    (name, kind, (code, packed)), *parts, symbols = pickle.loads(payload)
    signature = next(part for part in parts if hasattr(part, "return_type"))
    if tuple(signature.args) != tuple(getattr(sig, "args", sig)):  # types of the same name
        return None
    known = context.codegen()._engine._defined_symbols
    new = symbols - known
    known.update(new)
    whole: Any = CompileResult
    try:
        result: Any = whole._rebuild(context, (name, kind, (code, _nothing())), *parts)
    except BaseException:
        known.difference_update(new)
        raise
    result.library.__class__ = LoadedLibrary
    result.library.packed, result.library.is_bare = packed, not packed
    return cast(CompileResult, result)


def bare(payload: bytes) -> bytes:
    """Return a kept kernel without its intermediate code, which is half of it."""
    (name, kind, (code, _)), *parts = pickle.loads(payload)
    kept: bytes = dumps(((name, kind, (code, b"")), *parts))
    return kept


class LoadedLibrary(Library):  # type: ignore[misc]
    """Machine code whose intermediate code is read when another kernel is compiled that calls it.

    Reading it takes three quarters of the time of loading a kernel, and nearly always for nothing.
    """

    packed, is_bare = b"", False

    def _get_module_for_linking(self) -> Any:
        if self.packed:
            self._shared_module = llvm.parse_bitcode(lzma.decompress(self.packed))
            self.packed = b""
        plain: Any = super()
        return plain._get_module_for_linking()


@cache
def _nothing() -> bytes:
    """Return an empty module in LLVM's intermediate code."""
    code: bytes = llvm.parse_assembly("").as_bitcode()
    return code


# --- which code fits ------------------------------------------------------------------------------


def _settings() -> str:
    """Return those of numba's settings that change the code it makes."""
    names = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")
    return " ".join(f"{name}={getattr(config, name, None)}" for name in names)


def target() -> dict[str, Any]:
    """Return what prebuilt kernels must have been made for, besides the processor."""
    return {
        "form": FORM,
        "python": str(sys.implementation.cache_tag),
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": np.__version__.split(".")[0],
        "platform": llvm.get_process_triple(),
        "settings": _settings(),
    }


def host(codegen: Any) -> str:
    """Return what code compiled here is for."""
    return repr((target(), codegen.magic_tuple()))


def stamp_of(module: str, codegen: Any) -> str:
    """Return what the kernels of a module are compiled for and from, as one digest."""
    made = {"form": FORM, "target": host(codegen), "sources": sources.stamp_of(module)}
    return sources.total(made)


def host_codegen() -> Any:
    """Return numba's code generator for this processor."""
    context: Any = cpu_target.target_context
    return context.codegen()


def can_run(feature: str) -> bool:
    """Return whether this processor and its system have a feature that LLVM knows by this name."""
    return bool(_host_features().get(feature))


@cache
def _host_features() -> dict[str, bool]:
    return dict(llvm.get_host_cpu_features())


def kernel_folder() -> Path | None:
    """Return where this process keeps what it compiles."""
    chosen = config.CACHE_DIR
    return Path(chosen) / "deepsteiner" if chosen else files.default_folder()


@cache
def fitting_kernels() -> prebuilt.Prebuilt | None:
    """Return the prebuilt kernels that this process can use, if there are any."""
    for path in prebuilt.found_files():
        kernels = prebuilt.open_file(path)
        reason = "it is damaged" if kernels is None else why_not(kernels)
        if not reason:
            return kernels
        _log.debug("%s is not used: %s", path.name, reason)
    return None


def why_not(kernels: prebuilt.Prebuilt) -> str:
    """Return why prebuilt kernels are not used, in a few words; nothing where they are."""
    if config.CPU_NAME or config.CPU_FEATURES:
        return "NUMBA_CPU_NAME or NUMBA_CPU_FEATURES asks for other code"
    return prebuilt.misfit(kernels, target(), can_run)


def build_level() -> str:
    """Return the processor that prebuilt kernels are made for here, by LLVM's name of it."""
    return LEVELS.get(platform.machine(), "generic")


def build_environment() -> dict[str, str]:
    """Return the environment in which a process compiles kernels for every machine of this kind.

    Intel's vector mathematics is a library that other machines need not have.
    """
    return {
        "NUMBA_CPU_NAME": build_level(),
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_DISABLE_INTEL_SVML": "1",
    }


# --- what this process got ready ------------------------------------------------------------------

history: list[Event] = []


def _record(event: Event) -> None:
    history.append(event)


class _Compiles(events.Listener):
    """The kernels of ours that are being compiled, one as part of the other, and since when."""

    def __init__(self) -> None:
        self._began: list[float] = []
        self._outer: progress.Compiling | None = None
        self.took = 0.0

    @property
    def depth(self) -> int:
        """How many there are; compiling holds a lock, so they are all of one thread."""
        return len(self._began)

    def on_start(self, event: Any) -> None:
        kernel = event.data["dispatcher"]
        if not _is_ours(kernel):
            return
        self._began.append(time.perf_counter())
        if self.depth == 1:
            name = f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}"
            self._outer = progress.Compiling(name, len(_called(kernel)))
            progress.tell(self._outer)

    def on_end(self, event: Any) -> None:
        if not (_is_ours(event.data["dispatcher"]) and self._began):
            return
        self.took = time.perf_counter() - self._began.pop()
        if self._outer is not None:
            self._outer.done += 1
            self._outer.finished = self.depth == 0
            # Where it was interrupted or has failed, nothing will be kept: others need not wait.
            if self._outer.finished and sys.exc_info()[0] is not None:
                _turn.end()
            progress.tell(self._outer)


def _is_ours(kernel: Any) -> bool:
    return bool(kernel.py_func.__module__.startswith("deepsteiner."))


def _called(kernel: Any) -> set[Any]:
    """Return a kernel and the kernels that it calls, those that are ready for some types aside."""
    found, left = {kernel}, [kernel]
    while left:
        function = left.pop().py_func
        for name in function.__code__.co_names:
            one = function.__globals__.get(name)
            if hasattr(one, "py_func") and one not in found and not one.overloads:
                found.add(one)
                left.append(one)
    return found


_compiles = _Compiles()
_turn = files.Turn()  # one will do: who compiles a kernel that Python called holds numba's lock
_register: Any = events.register
_register("numba:compile", _compiles)
