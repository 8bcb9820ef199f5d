"""One solved instance: a validated tree with its length, bound and provenance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ..editable import Editable
from .errors import OptionError, TreeError
from .exported import Exported
from .points import FloatArray, IntArray, as_points
from .scalars import as_real
from .surroundings.existing import (
    Existing,
    check_joined,
    check_nearest,
    corners_of,
    geometries,
    needed_parts,
    parts_at,
    parts_of,
)
from .surroundings.obstacles import Polygon, check_free, crossing_edges, weighted_lengths
from .trees import LENGTH_TOLERANCE, check_strict, check_tree, cut_edges, tree_length

if TYPE_CHECKING:
    from .geo import Plane

Status = Literal["optimal", "feasible", "time_limit", "interrupted"]
STATUSES: tuple[Status, ...] = get_args(Status)
SolutionFormat = Literal["json", "geojson", "csv", "svg", "png", "pdf"]

# Shapely weighs edges to so many digits: regions are shrunk by a hair for it.
WEIGHING_TOLERANCE = 1e-7

# More relays than this is a limit given in the wrong unit rather than a network.
MOST_RELAYS = 10_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Editable, Exported):
    """A tree that connects all terminals.

    Attributes
    ----------
    terminals
        The input points, bit for bit, (n, 2).
    steiner_points
        The junctions that were added, (s, 2).
    edges
        Pairs of nodes, (n + s + b - 1, 2): 0 to n - 1 are terminals, Steiner points follow, then
        bends, then joints. With joints on p parts of an existing network there are
        n + s + b + p - 1: edges and parts, each part one node, are a tree together.
    length
        The sum of all edge lengths; in metres where `crs` is set. With soft `regions` it is what
        the tree costs, every length inside a region times its weight, and `info["plain_length"]`
        is the sum without weights.
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
    joints
        Where edges end on existing networks, (j, 2), each with an edge at least; a terminal that
        lies on the network has an edge of no length to its joint.
    existing
        The lines and polygons of existing networks, joined or optional, each with its `rings` and
        whether it is `filled` (a polygon) and `optional`. They do not count in `length`; what
        touches is one part.
    regions, weights
        Soft regions, polygons that do not overlap, and what a unit of length costs in each.

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
    joints: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    existing: tuple[Existing, ...] = ()
    regions: tuple[Polygon, ...] = ()
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("terminals", "steiner_points", "edges", "bends", "joints"):
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
        """Terminals, Steiner points, bends and joints in one array, as `edges` indexes them.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.solve([[0, 0], [3, 4]]).coordinates.tolist()
        [[0.0, 0.0], [3.0, 4.0]]
        """
        return np.concatenate((self.terminals, self.steiner_points, self.bends, self.joints))

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

    def edge_costs(self) -> FloatArray:
        """Return what every edge costs: its length, inside soft regions times their weight.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.solve([[0, 0], [3, 4]]).edge_costs().tolist()
        [5.0]
        """
        if not self.regions:
            return self.edge_lengths()
        plane = self._plane()
        into = np.asarray if plane is None else plane.into
        nodes = self._plane_coordinates()
        return weighted_lengths(nodes, self.edges, self.regions, self.weights, into)

    def validate(self, *, strict: bool = False) -> Solution:
        """Check that this is a tree over all terminals, around obstacles, as long as stated.

        With an existing network, joints must lie on it, and edges and parts be a tree together.

        Parameters
        ----------
        strict
            Also require every Steiner point to have degree 3 and its edges to meet at 120 degrees,
            and every joint to be the nearest place of its part, unless an obstacle is in the way.
            With a `junction_cost` in `info` Steiner points may also have degree 4, where two
            straight lines cross.

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
        nodes = self._plane_coordinates()
        if len(self.joints) or self.existing:
            self._check_joints(nodes, strict)  # needs shapely
        else:
            added = np.concatenate((self.steiner_points, self.bends))
            check_tree(self.terminals, added, self.edges)
        if self.obstacles:
            plane = self._plane()
            check_free(
                nodes, self.edges, self.obstacles, np.asarray if plane is None else plane.into
            )
        length, tolerance = tree_length(nodes, self.edges), LENGTH_TOLERANCE
        if self.regions:
            length, tolerance = float(self.edge_costs().sum()), WEIGHING_TOLERANCE
        if not math.isclose(length, self.length, rel_tol=tolerance, abs_tol=0.0):
            raise TreeError(f"the edges sum to {length!r} but the stated length is {self.length!r}")
        bound = self.lower_bound
        if bound is not None and not bound <= self.length * (1 + LENGTH_TOLERANCE):
            raise TreeError(f"the lower bound {bound!r} exceeds the length {self.length!r}")
        if strict:
            relays = int(self.info.get("relays", 0))
            last = len(self.bends) + len(self.joints)
            crossings = bool(self.info.get("junction_cost"))
            joints = len(self.joints)
            check_strict(nodes, self.edges, len(self.terminals), relays, last, joints, crossings)
        return self

    def joint_parts(self) -> IntArray:
        """Return the part of the existing network that each joint lies on.

        Lines and polygons that touch are one part; parts are counted from 0 in the order of their
        first shapes in `existing`.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> pipes = [[[0, 0], [2, 0]], [[0, 3], [2, 3]]]
        >>> ds.solve([[1, 1]], existing=pipes).joint_parts().tolist()
        [0, 1]
        """
        if not len(self.joints):
            return np.empty(0, np.int64)
        if not self.existing:
            raise TreeError("there are joints, but no existing network that they could lie on")
        plane = self._plane()
        into = np.asarray if plane is None else plane.into
        parts, drawn = parts_of(self.existing, self.terminals), geometries(self.existing, into)
        places, corners = into(self.joints), into(corners_of(self.existing))
        return parts_at(places, drawn, parts, np.concatenate((places, corners)))

    def _check_joints(self, nodes: FloatArray, strict: bool) -> None:
        """Raise TreeError unless edges and parts of the existing network are a tree together."""
        own, parts = self.joint_parts(), parts_of(self.existing, self.terminals)
        added = np.concatenate((self.steiner_points, self.bends))
        needed = needed_parts(self.existing, parts)
        check_joined(self.terminals, added, self.joints, self.edges, own, needed)
        if strict and len(self.joints):
            plane = self._plane()
            into = np.asarray if plane is None else plane.into
            drawn, first = geometries(self.existing, into), len(nodes) - len(self.joints)
            line = np.array([[0, 1]])
            check_nearest(
                nodes, self.edges, first, drawn, parts, own,
                lambda way: not len(crossing_edges(way, line, self.obstacles, into)),
            )  # fmt: skip

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
        relays, edges = cut_edges(nodes, self.edges, pieces)
        if (plane := self._plane()) is not None:
            relays = plane.back(relays)
        # Relays are the last of the Steiner points; bends and joints come after them.
        later = len(self.bends) + len(self.joints)
        first = len(nodes) - later
        moved = np.where(edges >= len(nodes), edges - later, edges + len(relays))
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

        Raises
        ------
        FormatError
            If the suffix or the format is none of these.

        Examples
        --------
        >>> import tempfile, deepsteiner as ds
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ds.solve([[0, 0], [3, 4]]).save(f"{folder}/tree.svg")
        ...     Path(f"{folder}/tree.svg").read_text()[:4]
        '<svg'
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

    def __repr__(self) -> str:
        gap = "" if self.gap is None else f", gap {100 * self.gap:.3g} %"
        unit = " m" if self.crs is not None else ""
        bends = f"{len(self.bends)} bends, " if len(self.bends) else ""
        bends += f"{len(self.joints)} joints, " if len(self.joints) else ""
        return (
            f"<Solution {self.method or 'tree'}: {len(self.terminals)} terminals, "
            f"{len(self.steiner_points)} Steiner points, {bends}"
            f"length {self.length:.6g}{unit}{gap}, {self.status}, {self.runtime:.3g} s>"
        )
