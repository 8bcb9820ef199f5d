"""Intervals of directions against many sampled directions, and the swap test along them."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

from deepsteiner.fst.enumerate.complete import arc_kernels, swap_kernels

SIXTH = cmath.exp(1j * math.pi / 3)
TRIALS = 400


def unit(angle: float) -> complex:
    return cmath.exp(1j * angle)


def dot(w: complex, u: complex) -> float:
    return (w.conjugate() * u).real


def arc(begin: float, width: float) -> arc_kernels.Arc:
    return arc_kernels.Arc(True, unit(begin), unit(begin + width))


def drawn(rng: np.random.Generator) -> tuple[float, float, list[float]]:
    """Return an interval of at most a sixth of a turn: where it begins, its width, samples."""
    begin = rng.uniform(-math.pi, math.pi)
    width = min(rng.uniform(0.0, 1.4), math.pi / 3)  # often the widest there is
    return begin, width, np.linspace(0.0, width, 400).tolist()


def angles_of(found, begin: float) -> tuple[float, float]:
    """Return both ends of an interval, measured from where the first one began."""
    for end in (found.a, found.b):
        assert abs(end) == pytest.approx(1.0, abs=1e-12)
    return cmath.phase(found.a / unit(begin)), cmath.phase(found.b / unit(begin))


def check(found, begin: float, kept: list[float], step: float) -> None:
    """The interval holds every sample that passes, and ends within one step of them."""
    if not found.exists:
        assert not kept
        return
    low, high = angles_of(found, begin)
    if kept:
        assert kept[0] - step - 1e-9 <= low <= kept[0] + 1e-9
        assert kept[-1] - 1e-9 <= high <= kept[-1] + step + 1e-9
    else:
        assert high - low <= step + 1e-9


@pytest.mark.parametrize("sixths", range(-7, 13))
def test_turns_are_those_of_complex_numbers(sixths):
    vector = complex(0.3, -1.7)
    turned = vector * SIXTH**sixths
    found = arc_kernels.turn(vector, sixths)
    assert found == pytest.approx(turned, abs=1e-14)
    assert arc_kernels.norm(found) == pytest.approx(abs(vector), rel=1e-15)


def test_common_parts_hold_the_directions_of_both():
    rng = np.random.default_rng(0)
    outcomes = []
    for _ in range(3 * TRIALS):
        begin, width, samples = drawn(rng)
        other, other_width = begin + rng.uniform(-1.3, 1.3), min(rng.uniform(0.0, 1.4), math.pi / 3)
        shift = other - begin
        kept = [t for t in samples if shift <= t <= shift + other_width]
        found = arc_kernels.meet(arc(begin, width), arc(other, other_width))
        outcomes.append(found.exists)
        check(found, begin, kept, width / 399)
    assert 0.2 < np.mean(outcomes) < 0.8


@pytest.mark.parametrize("least", [True, False])
def test_cuts_keep_the_directions_that_pass(least):
    """At least: exactly these. At most: the smallest interval around them."""
    rng = np.random.default_rng(1)
    cut = arc_kernels.keep_at_least if least else arc_kernels.keep_at_most
    outcomes = {"empty": 0, "whole": 0, "part": 0}
    for _ in range(3 * TRIALS):
        begin, width, samples = drawn(rng)
        w = rng.uniform(0.0, 2.0) * unit(begin + rng.uniform(-2.5, 2.5))
        c = rng.uniform(0.0, 1.5)
        sides = [dot(w, unit(begin + t)) - c for t in samples]
        kept = [t for t, side in zip(samples, sides, strict=True) if (side >= 0) == least]
        found = cut(w, c, arc(begin, width))
        kind = "whole" if len(kept) == len(samples) else "part" if kept else "empty"
        outcomes[kind] += 1
        check(found, begin, kept, width / 399)
    assert min(outcomes.values()) > TRIALS / 10


def test_no_length_is_at_most_a_negative_number():
    for angle in np.linspace(-0.5, 0.5, 11):
        assert not arc_kernels.keep_at_most(1.0 + 0.0j, -1e-13, arc(angle, 0.5)).exists


def test_of_nothing_nothing_is_kept():
    quartet = swap_kernels.Quartet(*[1.0 + 0.0j] * 5)
    assert not arc_kernels.keep_at_least(1.0 + 0.0j, 0.0, arc_kernels.NOWHERE).exists
    assert not arc_kernels.keep_at_most(1.0 + 0.0j, 2.0, arc_kernels.NOWHERE).exists
    assert not swap_kernels.keep_unswapped(quartet, arc_kernels.NOWHERE).exists


def test_products_and_directions_are_those_of_complex_numbers():
    v, w = complex(0.3, -1.7), complex(-2.0, 0.4)
    assert arc_kernels.dot(v, w) == pytest.approx(dot(v, w))
    assert arc_kernels.cross(v, w) == pytest.approx((v.conjugate() * w).imag)
    assert arc_kernels.unit(v) == pytest.approx(v / abs(v))


def test_swapped_directions_are_cut_off_and_no_others():
    """What is dropped gains clearly; at the bisected end little that gains is left."""
    rng = np.random.default_rng(2)
    outcomes = {"empty": 0, "whole": 0, "part": 0}
    for _ in range(3 * TRIALS):
        begin, width, samples = drawn(rng)
        vectors = [
            rng.uniform(0.0, 2.0) ** 2 * unit(begin + width / 2 + rng.uniform(-1.2, 1.2))
            for _ in range(5)
        ]
        vectors[0] *= 0.15

        def gain(t: float, vectors=vectors, begin=begin) -> float:
            return swap_kernels.swap_gain(*(dot(w, unit(begin + t)) for w in vectors))

        gains = [gain(t) > swap_kernels.CLEAR for t in samples]
        found = swap_kernels.keep_unswapped(swap_kernels.Quartet(*vectors), arc(begin, width))
        if not found.exists:
            outcomes["empty"] += 1
            assert all(gains)
            continue
        low, high = angles_of(found, begin)
        outside = [
            g for t, g in zip(samples, gains, strict=True) if not low - 1e-9 < t < high + 1e-9
        ]
        assert all(outside)
        outcomes["part" if outside else "whole"] += 1
        bisected = width / 2**swap_kernels.BISECTIONS
        if gains[0] != gains[-1]:
            first = next(t for t, g in zip(samples, gains, strict=True) if g != gains[0])
            end = low if gains[0] else high
            assert abs(end - first) <= bisected + width / 399 + 1e-9
    assert min(outcomes.values()) > TRIALS / 20
