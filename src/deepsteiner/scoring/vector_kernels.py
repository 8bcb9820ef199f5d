"""Sums over rows of WIDTH numbers as vector instructions.

The compiler does not vectorise such short loops by itself: it cannot know that the arrays do not
overlap. Every lane adds in the order of the plain loop, so the results are the same to the last
bit on every processor.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

WIDTH = 16
_FLOAT = ir.FloatType()
_ROW = ir.VectorType(_FLOAT, WIDTH)


def _check(*arrays: Any) -> None:
    for array in arrays:
        if (
            not isinstance(array, types.Array)
            or array.dtype != types.float32
            or array.layout != "C"
        ):
            raise TypingError(f"vector sums need contiguous arrays of float32, not {array}")


def _data(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.make_array(kind)(context, builder, value).data


def _row(builder: Any, data: Any, at: Any) -> Any:
    """Return the address of the row of numbers that begins at an element."""
    return builder.bitcast(builder.gep(data, [at]), _ROW.as_pointer())


def _add_row(typing: Any, out: Any, out_at: Any, source: Any, source_at: Any) -> Any:
    """Add WIDTH numbers of `source` to those of `out`; both begin at the elements given."""
    _check(out, source)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target = _row(builder, _data(context, builder, signature.args[0], args[0]), args[1])
        given = _row(builder, _data(context, builder, signature.args[2], args[2]), args[3])
        total = builder.fadd(builder.load(target, align=4), builder.load(given, align=4))
        builder.store(total, target, align=4)
        return context.get_dummy_value()

    return types.void(out, types.intp, source, types.intp), code


def _add_product(
    typing: Any, out: Any, out_at: Any, source: Any, source_at: Any, count: Any, matrix: Any
) -> Any:
    """Add `count` numbers of `source`, times the rows of a (count, WIDTH) matrix, to `out`."""
    _check(out, source, matrix)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target = _row(builder, _data(context, builder, signature.args[0], args[0]), args[1])
        given = builder.gep(_data(context, builder, signature.args[2], args[2]), [args[3]])
        rows = _data(context, builder, signature.args[5], args[5])
        total = cgutils.alloca_once_value(  # type: ignore[no-untyped-call]
            builder, builder.load(target, align=4)
        )
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        nothing = ir.Constant(_ROW, ir.Undefined)
        width = ir.Constant(args[4].type, WIDTH)
        with cgutils.for_range(builder, args[4]) as loop:
            one = builder.load(builder.gep(given, [loop.index]))
            first = builder.insert_element(nothing, one, ir.Constant(ir.IntType(32), 0))
            all_lanes = builder.shuffle_vector(first, nothing, lanes)
            row = builder.load(_row(builder, rows, builder.mul(loop.index, width)), align=4)
            product = builder.fmul(all_lanes, row)
            builder.store(builder.fadd(builder.load(total), product), total)
        builder.store(builder.load(total), target, align=4)
        return context.get_dummy_value()

    return types.void(out, types.intp, source, types.intp, types.intp, matrix), code


add_row: Any = intrinsic(_add_row)
add_product: Any = intrinsic(_add_product)
