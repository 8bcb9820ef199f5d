"""What `local`'s efforts spend: budgets of work, not of time."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.options import EffortName
from ..fst.select.search.regions import RegionPass
from ..fst.select.search.windows import Pass

# What the exact solver's list may cost, in slices of about 1 ms: in all, and for each point.
GROWTH_SLICES = 1000
GROWTH_SLICES_A_POINT = 3
# Full trees a terminal in a list up to which a slice of work counts as one.
USUAL = 2.5
# How long the first choice takes, in times of finding close pairs.
CHOOSING = 8.0


@dataclass(frozen=True)
class Effort:
    """What an effort spends.

    Full trees of up to `largest` terminals, `passes` of windows, then the whole list at once where
    there are at most `whole` points, in at most `slices` slices of work (some 20 ms each) and one
    more for every 50 points, and passes of `regions` where there are more points. Then `more`:
    further passes and slices, up to `grown` points over the exact solver's own list of up to
    `grown_largest` terminals.
    """

    largest: int
    passes: tuple[Pass, ...]
    whole: int = 0
    slices: int = 0
    regions: tuple[RegionPass, ...] = ()
    more: tuple[Pass, ...] = ()
    more_slices: int = 0
    grown: int = 0
    grown_largest: int = 0


_NARROW = (Pass(60), Pass(60), Pass(200))
_WIDE = (*_NARROW, Pass(200, 1e6), Pass(1000, 1e6), Pass(1000, 1e6))
_WIDEST = (Pass(3000, 1e7), Pass(3000, 1e7))
_REGIONS = 2 * (RegionPass(120),) + 2 * (RegionPass(300, 1e6, 50_000),)

EFFORTS: dict[EffortName, Effort] = {
    "fast": Effort(4, _NARROW),
    "default": Effort(5, _WIDE, 12_000, 60, _REGIONS),
    "best": Effort(5, _WIDE, 12_000, 60, _REGIONS, _WIDEST, 400, 2000, 10),
}
# Points up to which `more` ends with the whole list at once.
MORE_WHOLE = 50_000
