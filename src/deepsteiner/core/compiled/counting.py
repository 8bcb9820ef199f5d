"""Counting references to arrays: only functions that make arrays do it.

numba lets every function count a reference for each array that it is given, and for each view that
it takes, and undoes that at its end. Much of it is taken out again when the code is optimised, but
not where a function has many ends and is called in a loop: a quarter of a search was spent on it.

A function that neither makes nor returns an array has no need to count. All it works with are
arrays of its callers, which hold them until it is done, so that no count can fall to zero on the
way; and whatever it adds to a count it takes off again. Without both, nothing changes but the time.
The same must hold of all that it calls.
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir

# numba's names of what counts, and the beginning of those of all that deals with arrays' memory.
COUNTING = frozenset({"NRT_incref", "NRT_decref"})
MEMORY = "NRT_"


def deals_with_memory(names: Any) -> bool:
    """Return whether any of a module's names is of a function that makes or frees arrays."""
    return any(name.startswith(MEMORY) and name not in COUNTING for name in names)


def returns_arrays(context: Any, returned: Any) -> bool:
    """Return whether a value of a type holds references that are counted."""
    return bool(context.data_model_manager[returned].contains_nrt_meminfo())


def without_counting(module: Any) -> None:
    """Take the counting out of a module's functions; nothing depends on what it returns."""
    for function in module.functions:
        for block in function.blocks:
            block.instructions[:] = [one for one in block.instructions if not _counts(one)]


def _counts(instruction: Any) -> bool:
    called = isinstance(instruction, ir.CallInstr) and instruction.callee
    return getattr(called, "name", None) in COUNTING
