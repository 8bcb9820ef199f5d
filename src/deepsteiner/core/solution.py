"""One solved instance: a validated tree with its length, bound and provenance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from .errors import OptionError, TreeError
from .obstacles import Polygon, check_free
from .points import FloatArray, IntArray, as_points
from .scalars import as_real
from .trees import LENGTH_TOLERANCE, check_strict, check_tree, tree_length

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .geo import Plane

Status = Literal["optimal", "feasible", "time_limit", "interrupted"]
STATUSES: tuple[Status, ...] = get_args(Status)
SolutionFormat = Literal["json", "geojson", "csv", "svg", "png", "pdf"]

# More relays than this is a limit given in the wrong unit rather than a network.
MOST_RELAYS = 10_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """A tree that connects all terminals.

    Attributes
    ----------
    terminals
        The input points, bit for bit, (n, 2).
    steiner_points
        The junctions that were added, (s, 2).
    edges
        Pairs of nodes, (n + s + b - 1, 2): 0 to n - 1 are terminals, Steiner points follow, then
        bends.
    length
        The sum of all edge lengths; in metres where `crs` is set.
    lower_bound
        A proven bound: no tree of these points is shorter. None where nothing is proven.
    status
        "optimal" when `length` is within 1e-9 of `lower_bound`, relatively: proofs are made in
        floating point and hold to no more digits than that. Otherwise "feasible", or "time_limit"
        or "interrupted" where the search was cut short.
    method
        The method that found the tree.
    runtime
        Seconds of the solve.
    info
        What the method tells about its work; "trace" holds its steps where they were asked for.
    crs, plane_crs
        Set where the coordinates are geographic: their reference system, and the plane in which
        the tree was solved and measured.
    bends
        Corners of obstacles where the tree bends or branches, (b, 2).
    obstacles
        What the tree avoids: polygons that do not overlap, widened by the clearance, each a tuple
        of closed rings (the outer one, then holes).

    Examples
    --------
    >>> import deepsteiner as ds
    >>> solution = ds.solve([[0, 0], [2, 0], [0, 1], [2, 1]])
    >>> solution.status, len(solution.steiner_points), round(solution.length, 4)
    ('optimal', 2, 3.7321)
    """

    terminals: FloatArray
    steiner_points: FloatArray
    edges: IntArray
    length: float
    lower_bound: float | None = None
    status: Status = "feasible"
    method: str = ""
    runtime: float = 0.0
    info: dict[str, Any] = field(default_factory=dict)
    crs: str | None = None
    plane_crs: str | None = None
    bends: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    obstacles: tuple[Polygon, ...] = ()

    def __post_init__(self) -> None:
        for name in ("terminals", "steiner_points", "edges", "bends"):
            dtype = np.int64 if name == "edges" else np.float64
            array = np.array(getattr(self, name), dtype=dtype, order="C").reshape(-1, 2)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def gap(self) -> float | None:
        """(length - lower_bound) / lower_bound, or None if there is no bound.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.solve([[0, 0], [1, 0], [0, 1]], "exact").gap
        0.0
        """
        if self.lower_bound is None:
            return None
        if self.lower_bound == 0.0:
            return 0.0 if self.length == 0.0 else math.inf
        return (self.length - self.lower_bound) / self.lower_bound

    @property
    def coordinates(self) -> FloatArray:
        """Terminals, Steiner points and bends in one array, as `edges` indexes them."""
        return np.concatenate((self.terminals, self.steiner_points, self.bends))

    def edge_lengths(self) -> FloatArray:
        """Return the length of every edge, in metres if `crs` is set.

        Returns
        -------
        ndarray
            One length for each row of `edges`.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.solve([[0, 0], [3, 4]]).edge_lengths()
        array([5.])
        """
        nodes = self._plane_coordinates()
        difference = nodes[self.edges[:, 0]] - nodes[self.edges[:, 1]]
        return np.hypot(difference[:, 0], difference[:, 1])

    def validate(self, *, strict: bool = False) -> Solution:
        """Check that this is a tree over all terminals, around obstacles, as long as stated.

        Parameters
        ----------
        strict
            Also require every Steiner point to have degree 3 and its edges to meet at 120 degrees.

        Returns
        -------
        Solution
            The solution itself.

        Raises
        ------
        TreeError
            With one sentence that says what is wrong.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.solve([[0, 0], [1, 0], [0, 1]], "exact").validate(strict=True).status
        'optimal'
        """
        if self.status not in STATUSES:
            raise TreeError(f"status must be one of {', '.join(STATUSES)}, got {self.status!r}")
        as_points(self.terminals, what="terminals")
        check_tree(self.terminals, np.concatenate((self.steiner_points, self.bends)), self.edges)
        nodes = self._plane_coordinates()
        if self.obstacles:
            plane = self._plane()
            check_free(
                nodes, self.edges, self.obstacles, np.asarray if plane is None else plane.into
            )
        length = tree_length(nodes, self.edges)
        if not math.isclose(length, self.length, rel_tol=LENGTH_TOLERANCE, abs_tol=0.0):
            raise TreeError(f"the edges sum to {length!r} but the stated length is {self.length!r}")
        bound = self.lower_bound
        if bound is not None and not bound <= self.length * (1 + LENGTH_TOLERANCE):
            raise TreeError(f"the lower bound {bound!r} exceeds the length {self.length!r}")
        if strict:
            relays = int(self.info.get("relays", 0))
            check_strict(nodes, self.edges, len(self.terminals), relays, len(self.bends))
        return self

    def with_max_edge(self, limit: float) -> Solution:
        """Return the same network with relays on its edges, so that none is longer than `limit`.

        Relays stand evenly spaced on straight edges, as few as possible; they are the last
        `info["relays"]` rows of `steiner_points`.

        Parameters
        ----------
        limit
            The longest edge allowed, in the units of `length`.

        Returns
        -------
        Solution
            The tree with its relays; the length does not change.

        Raises
        ------
        OptionError
            If the limit is not a positive length, if more than ten million relays would be needed,
            or if the tree has relays already.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.solve([[0, 0], [10, 0]]).with_max_edge(3).info["relays"]
        3
        """
        longest = as_real(limit)
        if longest is None or not longest > 0:
            raise OptionError(f"limit must be a length greater than 0, got {limit!r}")
        if self.info.get("relays"):
            raise OptionError("relays were already inserted; call with_max_edge on the bare tree")
        lengths = self.edge_lengths()
        # An edge of exactly k limits needs k - 1 relays; rounding must not add one.
        pieces = np.maximum(np.ceil(lengths / longest * (1 - 1e-12)), 1.0)
        if pieces.sum() - len(pieces) > MOST_RELAYS:
            raise OptionError(
                f"limit {longest:g} needs {pieces.sum() - len(pieces):.3g} relays on edges of up "
                f"to {lengths.max():g}; at most {MOST_RELAYS} are inserted"
            )
        steiner, edges = self._insert_relays(pieces.astype(np.int64))
        count = len(steiner) - len(self.steiner_points)
        info = {**self.info, "relays": count, "max_edge": longest}
        return replace(self, steiner_points=steiner, edges=edges, info=info)

    def _insert_relays(self, pieces: IntArray) -> tuple[FloatArray, IntArray]:
        nodes = self._plane_coordinates()
        owner = np.repeat(np.arange(len(pieces)), pieces)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        # Piece `step` of an edge runs from its relay `step` to its relay `step + 1`.
        first_relay = len(nodes) + np.cumsum(pieces - 1) - (pieces - 1)
        tail = np.where(step == 0, self.edges[owner, 0], first_relay[owner] + step - 1)
        head = np.where(step == pieces[owner] - 1, self.edges[owner, 1], first_relay[owner] + step)
        inner = step > 0
        share = (step / pieces[owner])[inner, None]
        ends = nodes[self.edges[owner[inner]]]
        relays = ends[:, 0] * (1 - share) + ends[:, 1] * share
        if (plane := self._plane()) is not None:
            relays = plane.back(relays)
        edges = np.stack((tail, head), axis=1)
        # Relays are the last of the Steiner points; bends come after them.
        bends, first = len(self.bends), len(nodes) - len(self.bends)
        moved = np.where(edges >= len(nodes), edges - bends, edges + len(relays))
        edges = np.where(edges < first, edges, moved)
        return np.concatenate((self.steiner_points, relays)), edges

    def _plane(self) -> Plane | None:
        """Return the plane in which lengths are measured where the coordinates are geographic."""
        from .geo import plane_of

        return None if self.crs is None else plane_of(self.crs, self.plane_crs)

    def _plane_coordinates(self) -> FloatArray:
        plane = self._plane()
        return self.coordinates if plane is None else plane.into(self.coordinates)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values that `json` can write.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.solve([[0, 0], [3, 4]]).to_dict()["length"]
        5.0
        """
        from ..io.solution_files import solution_to_dict

        return solution_to_dict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Solution:
        """Rebuild and validate a solution written by `to_dict`.

        Raises
        ------
        FormatError, TreeError
            If a field is missing or malformed, or if the edges are not the tree they claim to be.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.Solution.from_dict(ds.solve([[0, 0], [3, 4]]).to_dict()).length
        5.0
        """
        from ..io.solution_files import solution_from_dict

        return solution_from_dict(data)

    def to_networkx(self) -> Any:
        """Return a networkx Graph; nodes carry `pos` and `kind`, edges `length`.

        >>> import deepsteiner as ds
        >>> ds.solve([[0, 0], [1, 0], [0, 1]], "mst").to_networkx().number_of_edges()
        2
        """
        from ..io.export import solution_to_networkx

        return solution_to_networkx(self)

    def to_geojson(self) -> dict[str, Any]:
        """Return a GeoJSON FeatureCollection of terminals, Steiner points and edges.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> len(ds.solve([[0, 0], [3, 4]]).to_geojson()["features"])
        3
        """
        from ..io.solution_geojson import solution_to_geojson

        return solution_to_geojson(self, self.to_dict())

    def to_shapely(self) -> Any:
        """Return the edges as a shapely MultiLineString."""
        from ..io.export import solution_to_shapely

        return solution_to_shapely(self)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The edges as a GeoJSON-like MultiLineString, for `shapely.geometry.shape` and others.

        It is a bare geometry, which shapely, geopandas (as a geometry of a GeoSeries), fiona and
        plotting libraries all take; readers of features get theirs from `to_geojson`. Line k is
        edge k, in the solution's own coordinates; between repeated terminals it has length 0,
        which shapely draws and measures but does not call valid.
        """
        from ..io.export import solution_to_geometry

        return solution_to_geometry(self)

    def to_scipy_sparse(self) -> Any:
        """Return the edge lengths as a symmetric scipy `csr_array` over all nodes.

        Nodes are numbered as in `edges`. Each edge is stored twice, also where its length is 0,
        between repeated terminals: such entries are explicit zeros, which `scipy.sparse.csgraph`
        takes for edges, but which vanish when the array is made dense or `eliminate_zeros` is
        called.

        >>> import deepsteiner as ds
        >>> ds.solve([[0, 0], [3, 4], [3, 4]], "mst").to_scipy_sparse().nnz
        4
        """
        from ..io.export import solution_to_scipy_sparse

        return solution_to_scipy_sparse(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the tree with matplotlib and return the axes."""
        from ..viz.plot import plot_solution

        return plot_solution(self, ax)

    def save(
        self,
        path: str | Path | IO[Any],
        *,
        format: SolutionFormat | None = None,
        terminals: bool = True,
    ) -> None:
        """Write the solution to a file; a reader never sees half of it.

        Parameters
        ----------
        path
            A path, "-" for standard output, or an open stream.
        format
            "json", "geojson" and "csv" can be read back by `load`; "svg", "png" and "pdf" are
            pictures. Without it the suffix of the path decides.
        terminals
            False leaves the points out of a json file, for points that may not be passed on: a
            hash stands in their place, and whoever has the points can `load` the tree with them.
        """
        from ..io.solution_files import save_solution

        save_solution(self, path, format=format, terminals=terminals)

    @staticmethod
    def load(path: str | Path, *, points: Any = None) -> Solution:
        """Read and validate a solution written by `save` as json, geojson or csv.

        Parameters
        ----------
        path
            The file.
        points
            The terminals, for a file that was saved without them; in any order.

        Raises
        ------
        FormatError, TreeError
            If the file cannot be read as a solution, if its edges are not a tree, or if the
            points are not its terminals.

        Examples
        --------
        >>> import tempfile, deepsteiner as ds
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ds.solve([[0, 0], [3, 4]]).save(f"{folder}/tree.json")
        ...     ds.Solution.load(f"{folder}/tree.json").length
        5.0
        """
        from ..io.solution_files import load_solution

        return load_solution(path, points=points)

    def _repr_svg_(self) -> str:
        from ..viz.svg import solution_svg

        return solution_svg(self)

    def __repr__(self) -> str:
        gap = "" if self.gap is None else f", gap {100 * self.gap:.3g} %"
        unit = " m" if self.crs is not None else ""
        bends = f"{len(self.bends)} bends, " if len(self.bends) else ""
        return (
            f"<Solution {self.method or 'tree'}: {len(self.terminals)} terminals, "
            f"{len(self.steiner_points)} Steiner points, {bends}"
            f"length {self.length:.6g}{unit}{gap}, {self.status}, {self.runtime:.3g} s>"
        )
