"""`auto`: the best method that is installed for the size and the time given."""

from __future__ import annotations

from .core.method import MethodInfo
from .core.options import NoOptions as Options

INFO = MethodInfo(
    name="auto",
    summary="the best method for the number of points: greedy, or mst above its limit",
    guarantee="that of the method it picks, which the solution names",
)

__all__ = ["INFO", "Options", "choose"]


def choose(n: int) -> str:
    """Return the name of the method that `auto` uses for n distinct points."""
    from .classic.greedy import LARGEST_SIZE

    return "greedy" if n <= LARGEST_SIZE else "mst"
