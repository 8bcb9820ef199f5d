"""Sums as vector instructions: the plain loops' results, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from deepsteiner.scoring.vector_kernels import WIDTH, add_product, add_row  # noqa: E402


@numba.njit
def added(out, out_at, source, source_at):
    add_row(out, out_at, source, source_at)


@numba.njit
def multiplied(out, out_at, source, source_at, count, matrix):
    add_product(out, out_at, source, source_at, count, matrix)


def numbers(shape, seed):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_a_row_is_added_where_it_is_said_and_nowhere_else():
    out, source = numbers(4 * WIDTH, 1), numbers((3, WIDTH), 2)
    expected = out.copy()
    expected[WIDTH + 3 : 2 * WIDTH + 3] += source[2]
    added(out, WIDTH + 3, source, 2 * WIDTH)
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("count", [0, 1, 5, 16, 80])
def test_products_are_added_in_the_order_of_the_rows(count):
    out, source, matrix = numbers(2 * WIDTH, 3), numbers(100, 4), numbers((count, WIDTH), 5)
    expected = out.copy()
    for i in range(count):
        expected[WIDTH:] += source[7 + i] * matrix[i]
    multiplied(out, WIDTH, source, 7, count, matrix)
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("bad", [np.zeros(64), np.zeros((64, 2), np.float32)[:, 0]])
def test_other_numbers_and_gaps_between_them_are_refused(bad):
    with pytest.raises(numba.TypingError, match="contiguous arrays of float32"):
        added(bad, 0, np.zeros(64, np.float32), 0)
