"""When a game stops: the paper's three criteria, and Algorithm 1 itself.

    first_selection   stop after one added point
    all_selection     stop after |S| - 2 added points, whatever they do to the length
    first_increment   stop once an added point made the tree longer; that point stays (Algorithm 2
                      counts it in the cost and the likelihood of a sampled tree)
    inference         Algorithm 1: a point that would make the tree longer is not added and ends
                      the instance, so the tree before the first increase comes back

Whatever the criterion, no instance gets more than |S| - 2 points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor


class Criterion(ABC):
    """A rule that ends games; derive from it and register the class in `CRITERIA`.

    Attributes
    ----------
    keeps_longer : bool
        Whether a point that makes the tree longer is added all the same.
    together : bool
        Whether all instances of one size stop at the same step. Nothing need be masked then.
    baseline : str or None
        The criterion of a baseline's rollouts in training, where it is another one.

    Examples
    --------
    >>> shorter, no = torch.tensor([0.9, 1.1]), torch.tensor([False, True])
    >>> FirstIncrement().goes_on(torch.ones(2), shorter, no).tolist()
    [True, False]
    """

    keeps_longer: ClassVar[bool] = True
    together: ClassVar[bool] = False
    baseline: ClassVar[str | None] = None

    def most_steps(self, size: int) -> int:
        """Return after how many steps all instances of at most `size` points have stopped.

        Examples
        --------
        >>> FirstIncrement().most_steps(10)
        8
        """
        return size - 2

    @abstractmethod
    def goes_on(self, before: Tensor, after: Tensor, longer: Tensor) -> Tensor:
        """Return (B,): which instances may take another step.

        `before` and `after` (B,) are the lengths of the trees without and with the new point;
        `longer` (B,) marks where the second is longer by more than rounding.

        Examples
        --------
        >>> before, after = torch.tensor([2.0, 2.0]), torch.tensor([1.9, 2.1])
        >>> FirstIncrement().goes_on(before, after, after > before).tolist()
        [True, False]
        """


class FirstSelection(Criterion):
    """One point."""

    together = True

    def most_steps(self, size: int) -> int:
        """Return 1, where there is a step at all."""
        return min(size - 2, 1)

    def goes_on(self, before: Tensor, after: Tensor, longer: Tensor) -> Tensor:
        """Return False everywhere."""
        return torch.zeros_like(longer)


class AllSelection(Criterion):
    """As many points as there may be."""

    together = True

    def goes_on(self, before: Tensor, after: Tensor, longer: Tensor) -> Tensor:
        """Return True everywhere."""
        return torch.ones_like(longer)


class FirstIncrement(Criterion):
    """Up to and with the first point that makes the tree longer.

    A baseline's rollouts leave that point out, as in Algorithm 2.
    """

    baseline = "inference"

    def goes_on(self, before: Tensor, after: Tensor, longer: Tensor) -> Tensor:
        """Return where the tree did not get longer."""
        return ~longer


class Inference(Criterion):
    """Algorithm 1: up to and without the first point that would make the tree longer."""

    keeps_longer = False

    def goes_on(self, before: Tensor, after: Tensor, longer: Tensor) -> Tensor:
        """Return where the tree did not get longer."""
        return ~longer
