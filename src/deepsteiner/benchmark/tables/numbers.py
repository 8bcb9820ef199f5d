"""Numbers as tables print them."""

from __future__ import annotations

import math

# More decimals than this say nothing: optima are known to nine digits, means rarely to six.
MOST_DECIMALS = 6
# What a narrow column has room for.
SHORT_DECIMALS = 4


def decimals_of(error: float) -> int:
    """Return the decimals that show two digits of an error.

    >>> decimals_of(0.016), decimals_of(0.75), decimals_of(12.0)
    (3, 2, 0)
    """
    if not error > 0.0:
        return 2
    return min(max(0, 1 - math.floor(math.log10(error))), MOST_DECIMALS)


def with_error(value: float, error: float | None) -> str:
    """Return a mean and its standard error.

    >>> with_error(3.1976, 0.0161), with_error(0.0, 0.0)
    ('3.198 ± 0.016', '0')
    """
    if not error:
        return significant(value)
    places = decimals_of(error)
    return f"{value:.{places}f} ± {error:.{places}f}"


def concise(value: float, error: float | None) -> str:
    """Return a mean with the error of its last digits in parentheses, at most four decimals.

    >>> concise(3.1976, 0.0161), concise(46.3, 0.75), concise(0.000178, 0.000063)
    ('3.198(16)', '46.30(75)', '0.0002(1)')
    """
    if not error:
        return significant(value)
    places = min(decimals_of(error), SHORT_DECIMALS)
    if value < 0.5 * 10**-places:
        return f"<{10**-places:.{places}f}"
    return f"{value:.{places}f}({max(1, round(error * 10**places))})"


def significant(value: float, digits: int = 3) -> str:
    """Return a number with at least this many significant digits, and no exponent.

    >>> significant(0.0066273), significant(142.13), significant(2217.1)
    ('0.00663', '142', '2,217')
    """
    if value == 0.0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{places}f}"


def printed(value: float, unit: str) -> str:
    """Return a number of the paper as it stands there.

    >>> printed(2.3, "%"), printed(211.2, "ms"), printed(0.0, "%")
    ('2.30', '211.2', '0')
    """
    if value == 0.0:
        return "0"
    return f"{value:.2f}" if unit == "%" else f"{value:.1f}"
