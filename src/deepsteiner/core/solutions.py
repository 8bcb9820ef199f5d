"""A solved batch: packed arrays inside, `Solution` objects on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .errors import TreeError
from .points import FloatArray
from .solution import STATUSES, Solution, Status
from .trees import LENGTH_TOLERANCE, PackedTrees, check_strict


@dataclass(frozen=True, eq=False, repr=False)
class Solutions(Sequence[Solution]):
    """The solutions of a batch, in the order of the batch: a sequence of `Solution`.

    Attributes
    ----------
    lengths, lower_bounds
        One number for each of the B instances; nan where there is no bound.
    methods
        The method that solved each instance.
    runtime
        Seconds of the whole batch; each member's `runtime` is that divided by B.
    info, infos
        What the methods report about the batch, and about each instance.

    Examples
    --------
    >>> import numpy as np, deepsteiner as ds
    >>> solutions = ds.solve_many(np.random.default_rng(1).random((3, 8, 2)))
    >>> solutions.statuses, solutions[0].gap
    (['optimal', 'optimal', 'optimal'], 0.0)
    """

    trees: PackedTrees
    lengths: FloatArray
    lower_bounds: FloatArray
    status_codes: NDArray[np.int8]
    methods: tuple[str, ...]
    runtime: float
    info: dict[str, Any] = field(default_factory=dict)
    infos: tuple[dict[str, Any], ...] | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def statuses(self) -> list[Status]:
        """The status of every member.

        Examples
        --------
        >>> import numpy as np, deepsteiner as ds
        >>> ds.solve_many(np.random.default_rng(0).random((2, 4, 2)), "mst").statuses
        ['feasible', 'feasible']
        """
        return [STATUSES[code] for code in self.status_codes]

    def validate(self, *, strict: bool = False) -> Solutions:
        """Check every member at once.

        Parameters
        ----------
        strict
            Also require every Steiner point to have degree 3 and its edges to meet at 120 degrees.

        Returns
        -------
        Solutions
            The solutions themselves.

        Raises
        ------
        TreeError
            With one sentence that names the first bad instance and says what is wrong.

        Examples
        --------
        >>> import numpy as np, deepsteiner as ds
        >>> len(ds.solve_many(np.random.default_rng(2).random((3, 5, 2))).validate(strict=True))
        3
        """
        self.trees.check()
        error = np.abs(self.trees.lengths() - self.lengths)
        bad = ~(error <= LENGTH_TOLERANCE * self.lengths)
        if bad.any():
            index = int(np.argmax(bad))
            raise TreeError(f"instance {index}: the edges do not sum to the stated length")
        with np.errstate(invalid="ignore"):
            above = self.lower_bounds > self.lengths * (1 + LENGTH_TOLERANCE)
        if above.any():
            raise TreeError(f"instance {int(np.argmax(above))}: the bound exceeds the length")
        for index in range(len(self) if strict else 0):
            tree = self.trees.member(index)
            try:
                check_strict(tree.coordinates, tree.edges, len(tree.terminals), 0)
            except TreeError as error:
                raise TreeError(f"instance {index}: {error}") from None
        return self

    @overload
    def __getitem__(self, index: int) -> Solution: ...
    @overload
    def __getitem__(self, index: slice) -> list[Solution]: ...
    def __getitem__(self, index: int | slice) -> Solution | list[Solution]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        member = self.trees.member(position)
        bound = float(self.lower_bounds[position])
        return Solution(
            member.terminals,
            member.steiner,
            member.edges,
            float(self.lengths[position]),
            None if np.isnan(bound) else bound,
            STATUSES[self.status_codes[position]],
            self.methods[position],
            self.runtime / len(self),
            {**self.info, **(self.infos[position] if self.infos else {})},
        )

    def __iter__(self) -> Iterator[Solution]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        names = ", ".join(sorted(set(self.methods))) or "no method"
        mean = f"mean length {self.lengths.mean():.6g}, " if len(self) else ""
        return f"<Solutions {names}: {len(self)} instances, {mean}{self.runtime:.3g} s>"
