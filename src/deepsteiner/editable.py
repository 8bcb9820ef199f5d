"""What a solution offers to change it; `edits` does the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from .core.solution import Solution


class Editable:
    """The part of `Solution` that changes points and obstacles."""

    def with_points(
        self, *, add: Any = None, move: Mapping[int, Any] | None = None, remove: Any = None
    ) -> Solution:
        """Return a tree for changed points, of which only what the change reaches is solved again.

        Up to 60 points, and where one in 25 or more changes, all are solved again. Where one of few
        points moves again and again among obstacles, what its place does not change is kept from
        tree to tree.

        Parameters
        ----------
        add
            Points to add, (k, 2); they come last.
        move
            From the index of a point to its new place.
        remove
            Indices of points to remove; the others close up.

        Returns
        -------
        Solution
            A tree over the changed points, checked, around the same obstacles. Its status is
            "feasible", without a bound, unless all was solved again; `info["solved_again"]`
            counts the points of the regions that were.

        Raises
        ------
        OptionError
            If an index is no point, if a point is both moved and removed, if none is left, or if
            the tree has relays.
        PointsError, ObstacleError
            If a new place is no finite pair of numbers, or inside an obstacle.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> tree = ds.solve([[0, 0], [1, 0], [1, 1], [0, 1]])
        >>> round(tree.with_points(move={2: [2, 1]}, add=[[2, 0]]).length, 4)
        3.8637
        """
        from .edits import with_points

        return with_points(cast("Solution", self), add, move, remove)

    def with_obstacles(self, obstacles: Any, *, clearance: float = 0.0) -> Solution:
        """Return a tree of the same points around other obstacles.

        Full Steiner trees that touch or cross an obstacle which is gone, moved or new are solved
        again, with what is around them; up to 60 points everything is.

        Parameters
        ----------
        obstacles
            All obstacles from now on, as `solve` takes them; None for none.
        clearance
            A distance to keep from them.

        Examples
        --------
        >>> import deepsteiner as ds
        >>> wall = [[-0.1, -1], [0.1, -1], [0.1, 1], [-0.1, 1]]
        >>> tree = ds.solve([[-1, 0], [1, 0]]).with_obstacles([wall])
        >>> round(tree.length, 4), tree.status
        (2.8907, 'optimal')
        """
        from .edits import with_obstacles

        return with_obstacles(cast("Solution", self), obstacles, clearance)
