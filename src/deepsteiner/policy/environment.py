"""The game that the policy plays: add candidate points to a spanning tree, for many trees at once.

Every instance of a batch starts and stops on its own; one that has stopped never changes again.
When it stops is up to a criterion of `kit.criteria`. All of them add at most |S| - 2 points, so
one or two terminals are finished from the start.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor
from torch.nn import functional

from .candidates import Candidates, candidates
from .kit.criteria import Criterion
from .kit.registries import CANDIDATE_SETS, CRITERIA
from .settings import CandidateSpec
from .spanning import insert, lookahead, spanning_tree

# Sums of the same lengths in another order may differ by this many units of rounding.
_ROUNDING = 16


@dataclass(frozen=True)
class State:
    """Where every instance of a batch stands; never changed in place.

    `points` (B, M, 2) holds `count` points a row, of which the first `terminals` are terminals.
    `edges`, `weights` are the spanning trees (see `spanning`) and `length` their lengths. `active`
    marks the instances that go on. `width` bounds `count`;
    `full` says that all active instances have exactly `width` points, and `dense` that, besides,
    all are active: these three are known without asking the device. Where `image` (B,) is given,
    the policy sees each instance in that image, 0..7, of the unit square's symmetries.
    """

    points: Tensor
    count: Tensor
    terminals: Tensor
    edges: Tensor
    weights: Tensor
    length: Tensor
    active: Tensor
    width: int
    full: bool
    dense: bool
    image: Tensor | None = None

    @property
    def steps(self) -> Tensor:
        """Return (B,): how many points were added."""
        return self.count - self.terminals

    @property
    def visible(self) -> Tensor:
        """Return (B,): how many points the policy sees, 0 where an instance has stopped."""
        return self.count * self.active

    def take(self, rows: Tensor) -> State:
        """Return the given rows (indices or a mask), repeated or reordered as they stand."""
        taken = {name: getattr(self, name)[rows] for name in TENSORS}
        return replace(self, **taken, image=None if self.image is None else self.image[rows])

    def put(self, rows: Tensor, other: State) -> State:
        """Return this state with the given rows (indices) replaced by the rows of `other`."""
        changed = {}
        for name in TENSORS:
            own = getattr(self, name).clone()
            own[rows] = getattr(other, name)
            changed[name] = own
        width = max(self.width, other.width)
        return replace(self, **changed, width=width, full=False, dense=False)

    def going(self) -> tuple[State, Tensor]:
        """Return the active instances alone, and their rows; this asks the device."""
        rows = self.active.nonzero()[:, 0]
        return replace(self.take(rows), dense=self.full), rows


# The fields that have a row for every instance and change from step to step.
TENSORS = tuple(field.name for field in fields(State) if field.type == "Tensor")


@dataclass(frozen=True)
class Environment:
    """The rules: which candidates there are, and when an instance stops.

    Parameters
    ----------
    spec : CandidateSpec
        The candidates of every step.
    criterion : str
        When an instance stops: "first_selection", "all_selection", "first_increment", "inference"
        or one of your own.

    Raises
    ------
    OptionError
        If there is no such criterion.

    Examples
    --------
    >>> corners = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]]], dtype=torch.float64)
    >>> rules = Environment(CandidateSpec(k_star=1))
    >>> state = rules.reset(corners)
    >>> found = rules.candidates(state)
    >>> best = rules.lookahead(state, found).argmax(dim=1)
    >>> [round(float(one.length), 3) for one in (state, rules.step(state, best, found))]
    [2.0, 1.732]
    """

    spec: CandidateSpec = CandidateSpec()  # noqa: RUF009 - frozen
    criterion: str = "inference"

    def __post_init__(self) -> None:
        CRITERIA.find(self.criterion)

    @property
    def rule(self) -> Criterion:
        """The criterion."""
        rule: Criterion = CRITERIA[self.criterion]()
        return rule

    def most_steps(self, size: int) -> int:
        """Return after how many steps all instances of at most `size` points have stopped."""
        return min(size - 2, self.rule.most_steps(size))

    def reset(self, points: Tensor, count: Tensor | None = None) -> State:
        """Begin with terminals (B, n, 2), of which the first `count` (B,) of each row are real."""
        batch, size = points.shape[:2]
        everywhere = count is None
        if count is None:
            count = torch.full((batch,), size, device=points.device)
        room = max(2 * size - 2, size)
        real = torch.arange(size, device=points.device) < count[:, None]
        points = points * real[:, :, None]
        edges, weights = spanning_tree(points, count)
        return State(
            points=_padded(points, room),
            count=count,
            terminals=count,
            edges=_padded(edges, room - 1),
            weights=_padded(weights, room - 1),
            length=weights.sum(dim=1),
            active=count > 2,
            width=size,
            full=everywhere,
            dense=everywhere and size > 2,
        )

    def candidates(self, state: State) -> Candidates:
        """Return the candidates of the current points: of the first `width` slots of every row.

        Instances that have stopped have none.
        """
        points, edges = state.points[:, : state.width], state.edges[:, : state.width - 1]
        found = candidates(points, state.visible, edges, self.spec)
        mask = found.mask & state.active[:, None]
        regular = CANDIDATE_SETS[self.spec.kind].regular
        full, dense = state.full and regular, state.dense and regular
        return replace(found, mask=mask, full=full, dense=dense)

    def lookahead(self, state: State, found: Candidates) -> Tensor:
        """Return (B, C): how much shorter each candidate would make the tree, -inf where none is.

        This is the reward of every possible step at once.
        """
        points, last = state.points[:, : state.width], state.width - 1
        edges, weights = state.edges[:, :last], state.weights[:, :last]
        return lookahead(points, state.count, edges, weights, found.points, found.mask)

    def step(self, state: State, choice: Tensor, found: Candidates) -> State:
        """Add the chosen one (B,) of the state's candidates to every active instance.

        The criterion says which instances then go on.
        """
        room = state.points.shape[1]
        width = min(state.width + 1, room)
        new = found.points.gather(1, choice[:, None, None].expand(-1, 1, 2))[:, 0]
        points, edges, weights = insert(state.points[:, :width], state.count, new)
        length = weights.sum(dim=1)
        longer = length > state.length * (1.0 + _ROUNDING * torch.finfo(length.dtype).eps)
        rule = self.rule
        moved = state.active if rule.keeps_longer else state.active & ~longer
        going = state.active & (state.steps + moved < state.terminals - 2)
        going = going & rule.goes_on(state.length, length, longer)
        choose = moved[:, None, None]
        return replace(
            state,
            points=torch.where(choose, _padded(points, room), state.points),
            count=state.count + moved,
            edges=torch.where(choose, _padded(edges, room - 1), state.edges),
            weights=torch.where(moved[:, None], _padded(weights, room - 1), state.weights),
            length=torch.where(moved, length, state.length),
            active=going,
            width=width,
            dense=state.dense and rule.together,
        )


def _padded(tensor: Tensor, size: int) -> Tensor:
    """Return the tensor with zeros added to its second dimension, up to a size."""
    others = (0, 0) * (tensor.dim() - 2)
    return functional.pad(tensor, (*others, 0, size - tensor.shape[1]))
