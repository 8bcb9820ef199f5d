"""`RelayNetwork`: terminals and relays connected by hops that are all within the radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..core.errors import TreeError
from ..core.points import FloatArray, IntArray
from ..core.solution import Solution, SolutionFormat, Status

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HOP_TOLERANCE = 1e-9
"""A hop may be longer than the radius by this share, for rounding,"""
GEOGRAPHIC_TOLERANCE = 1e-6
"""or by this one, where coordinates went through a projection and back."""
MOST_CIRCLES = 400
"""More range circles than this only make a picture dark."""
TITLE_PAD = 21.0
PICTURES = ("svg", "png", "pdf")


@dataclass(frozen=True, eq=False, repr=False)
class RelayNetwork:
    """A network of few relays in which no hop is longer than the radius.

    Attributes
    ----------
    solution
        The network as a `Solution`: the relays are its Steiner points, its length is that of all
        hops.
    radius
        The longest hop allowed, in the units of the points (metres with a CRS).
    lower_bound
        A proven bound: no network of these points has fewer relays.
    status
        "optimal" when there are as few relays as the bound; otherwise "feasible", or "time_limit"
        or "interrupted" where the search was cut short.
    runtime
        Seconds it took.
    info
        The relays that cutting up the shortest tree ("from_shortest_tree") and the spanning tree
        ("from_spanning_tree") takes, and the number of terminal groups that are further apart
        than the radius ("groups").

    Examples
    --------
    >>> import deepsteiner as ds
    >>> network = ds.place_relays([[0, 0], [10, 0]], radius=3)
    >>> network.count, network.lower_bound, network.status
    (3, 3, 'optimal')
    """

    solution: Solution
    radius: float
    lower_bound: int
    status: Status
    runtime: float
    info: dict[str, Any]

    @property
    def terminals(self) -> FloatArray:
        """The points, bit for bit, (n, 2).

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.place_relays([[0, 0], [10, 0]], radius=3).terminals.tolist()
        [[0.0, 0.0], [10.0, 0.0]]
        """
        return self.solution.terminals

    @property
    def relays(self) -> FloatArray:
        """Where the relays stand, (m, 2).

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.place_relays([[0, 0], [10, 0]], radius=5).relays.tolist()
        [[5.0, 0.0]]
        """
        return self.solution.steiner_points

    @property
    def edges(self) -> IntArray:
        """The hops as pairs of nodes, (n + m - 1, 2): terminals first, then relays.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> sorted(map(sorted, ds.place_relays([[0, 0], [10, 0]], radius=5).edges.tolist()))
        [[0, 2], [1, 2]]
        """
        return self.solution.edges

    @property
    def count(self) -> int:
        """The number of relays.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.place_relays([[0, 0], [10, 0]], radius=3).count
        3
        """
        return len(self.relays)

    @property
    def gap(self) -> float:
        """(count - lower_bound) / lower_bound; 0 where none are needed and none are there.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.place_relays([[0, 0], [10, 0]], radius=3).gap
        0.0
        """
        if self.lower_bound == 0:
            return math.inf if self.count else 0.0
        return (self.count - self.lower_bound) / self.lower_bound

    @cached_property
    def hops(self) -> FloatArray:
        """The length of every hop.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.place_relays([[0, 0], [10, 0]], radius=3).hops.tolist()
        [2.5, 2.5, 2.5, 2.5]
        """
        return self.solution.edge_lengths()

    def validate(self) -> RelayNetwork:
        """Check that the hops are a tree over all nodes, around obstacles, and none is too long.

        Returns
        -------
        RelayNetwork
            The network itself.

        Raises
        ------
        TreeError
            With one sentence that says what is wrong.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> network = ds.place_relays([[0, 0], [10, 0]], radius=3)
        >>> network.validate() is network
        True
        """
        self.solution.validate()
        share = HOP_TOLERANCE if self.solution.crs is None else GEOGRAPHIC_TOLERANCE
        rounding = 8.0 * float(np.spacing(np.abs(self.solution.coordinates).max()))
        longest = float(self.hops.max(initial=0.0))
        if longest > self.radius * (1.0 + share) + rounding:
            edge = self.edges[int(np.argmax(self.hops))].tolist()
            raise TreeError(f"hop {edge} is {longest!r} long; the radius is {self.radius!r}")
        if self.count < self.lower_bound:
            raise TreeError(
                f"{self.count} relays are fewer than the lower bound, {self.lower_bound}"
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values that `json` can write.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> said = ds.place_relays([[0, 0], [10, 0]], radius=3).to_dict()
        >>> said["relays"], said["relay_bound"], said["relay_status"]
        (3, 3, 'optimal')
        """
        return {
            **self.solution.to_dict(),
            "radius": self.radius,
            "relays": self.count,
            "relay_bound": self.lower_bound,
            "relay_status": self.status,
        }

    def to_geojson(self) -> dict[str, Any]:
        """Return a GeoJSON FeatureCollection of terminals, relays, hops and obstacles.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> network = ds.place_relays([[0, 0], [10, 0]], radius=3)
        >>> len(network.to_geojson()["features"])  # two terminals, three relays, four hops
        9
        """
        return self.solution.to_geojson()

    def plot(self, ax: Axes | None = None, *, circles: bool = True) -> Axes:
        """Draw the network with matplotlib, with the range of every relay, and return the axes.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> network = ds.place_relays([[0, 0], [10, 0]], radius=3)
        >>> network.plot().get_title(loc="left")
        '3 fewest relays, radius 3'
        """
        from ..viz.plot import plot_solution
        from ..viz.scene import EDGE_COLOUR, INK

        ax = plot_solution(self.solution, ax)
        for ring in self._ranges() if circles and self.count <= MOST_CIRCLES else ():
            ax.fill(*ring.T, facecolor=EDGE_COLOUR, alpha=0.06, edgecolor="none", zorder=0)
            ax.plot(*ring.T, color=EDGE_COLOUR, alpha=0.35, linewidth=0.5, zorder=0)
        bound = "" if self.status == "optimal" else f", at least {self.lower_bound}"
        words = "fewest relays" if self.status == "optimal" else "relays"
        ax.set_title(
            f"{self.count} {words}{bound}, radius {self.radius:g}",
            loc="left", fontsize=11.0, color=INK, pad=TITLE_PAD,
        )  # fmt: skip
        return ax

    def _ranges(self) -> list[FloatArray]:
        """Return a ring around every relay."""
        from ..core.geo import plane_of

        turn = np.linspace(0.0, 2.0 * np.pi, 65)
        circle = self.radius * np.stack((np.cos(turn), np.sin(turn)), axis=1)
        if self.solution.crs is None:
            return [relay + circle for relay in self.relays]
        plane = plane_of(self.solution.crs, self.solution.plane_crs)
        return [plane.back(relay + circle) for relay in plane.into(self.relays)]

    def save(self, path: str | Path | IO[Any], *, format: SolutionFormat | None = None) -> None:
        """Write the network to a file; a reader never sees half of it.

        Parameters
        ----------
        path
            A path, "-" for standard output, or an open stream.
        format
            "json", "geojson" and "csv" can be read back by `Solution.load`; "svg", "png" and "pdf"
            are pictures. Without it the suffix of the path decides.

        Examples
        --------
        >>> import tempfile
        >>> import deepsteiner as ds
        >>> network = ds.place_relays([[0, 0], [10, 0]], radius=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     network.save(f"{folder}/network.svg")
        ...     network.save(f"{folder}/network.json")
        ...     ds.Solution.load(f"{folder}/network.json").length
        10.0
        """
        from ..io.solution_files import write_picture
        from ..viz.plot import figure_of

        suffix = Path(path).suffix[1:].lower() if isinstance(path, (str, Path)) else ""
        if (kind := format or suffix) in PICTURES:
            write_picture(figure_of(self.plot()), path, kind)
        else:
            self.solution.save(path, format=format)

    def _repr_svg_(self) -> str:
        return self.solution._repr_svg_()

    def __repr__(self) -> str:
        unit = " m" if self.solution.crs is not None else ""
        return (
            f"<RelayNetwork: {len(self.terminals)} terminals, {self.count} relays "
            f"(at least {self.lower_bound}), radius {self.radius:g}{unit}, {self.status}, "
            f"{self.runtime:.3g} s>"
        )
