"""What a solution offers to other libraries, and its pictures; `io` and `viz` do the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .solution import Solution


class Exported:
    """The part of `Solution` that becomes something else."""

    def to_networkx(self) -> Any:
        """Return a networkx Graph; nodes carry `pos` and `kind`, edges `length`.

        >>> import deepsteiner as ds
        >>> ds.solve([[0, 0], [1, 0], [0, 1]], "mst").to_networkx().number_of_edges()
        2
        """
        from ..io.export import solution_to_networkx

        return solution_to_networkx(cast("Solution", self))

    def to_geojson(self) -> dict[str, Any]:
        """Return a GeoJSON FeatureCollection of terminals, Steiner points and edges.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> len(ds.solve([[0, 0], [3, 4]]).to_geojson()["features"])
        3
        """
        from ..io.solution_geojson import solution_to_geojson

        return solution_to_geojson(cast("Solution", self), cast("Solution", self).to_dict())

    def to_shapely(self) -> Any:
        """Return the edges as a shapely MultiLineString.

        Returns
        -------
        shapely.MultiLineString
            Line k is edge k, in the solution's own coordinates.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.solve([[0, 0], [3, 4]]).to_shapely().length
        5.0
        """
        from ..io.export import solution_to_shapely

        return solution_to_shapely(cast("Solution", self))

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The edges as a GeoJSON-like MultiLineString, for `shapely.geometry.shape` and others.

        It is a bare geometry, which shapely, geopandas (as a geometry of a GeoSeries), fiona and
        plotting libraries all take; readers of features get theirs from `to_geojson`. Line k is
        edge k, in the solution's own coordinates; between repeated terminals it has length 0,
        which shapely draws and measures but does not call valid.
        """
        from ..io.export import solution_to_geometry

        return solution_to_geometry(cast("Solution", self))

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

        return solution_to_scipy_sparse(cast("Solution", self))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the tree with matplotlib and return the axes.

        Parameters
        ----------
        ax
            Where to draw; by default a figure of its own.

        Returns
        -------
        matplotlib.axes.Axes
            The axes that were drawn on.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> ds.solve([[0, 0], [3, 0], [3, 4]], "mst").plot().get_title(loc="left")
        'mst, length 7'
        """
        from ..viz.plot import plot_solution

        return plot_solution(cast("Solution", self), ax)

    def _repr_svg_(self) -> str:
        from ..viz.svg import solution_svg

        return solution_svg(cast("Solution", self))
