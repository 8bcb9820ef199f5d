"""Training and validation instances: which points belong to which step, the same on every run.

Fresh instances are read from the endless "train" stream of a dataset; a fixed set is its first
`data.instances`, shuffled anew in every epoch. Validation uses the "validation" stream or a file
of its own. The order depends on the seed, the epoch and the step alone, so a run that is
continued sees what an uninterrupted one would have seen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ... import datasets
from ...core.errors import OptionError
from ...core.points import FloatArray
from .config import DataConfig, ValidationConfig
from .group import Group

# More instances than any run draws from one stream.
ENDLESS = 1 << 40
SMALLEST = 3


def random_draws(shape: tuple[int, ...], *key: Any) -> Tensor:
    """Return uniform numbers in [0, 1) that depend on the key alone, not on the device."""
    return torch.rand(shape, generator=_generator(key), dtype=torch.float64)


def seed_of(*key: Any) -> int:
    """Return a seed made of any values: numbers and words."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def _generator(key: tuple[Any, ...]) -> torch.Generator:
    return torch.Generator().manual_seed(seed_of(*key))


@dataclass(frozen=True)
class Padded:
    """Instances in one tensor: (B, n, 2) points, zeros beyond each `count` (None: all have n)."""

    points: Tensor
    count: Tensor | None

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, rows: slice | Tensor) -> Padded:
        return Padded(self.points[rows], None if self.count is None else self.count[rows])

    def chunks(self, size: int) -> Iterator[Padded]:
        """Yield the instances in order, `size` at a time."""
        for start in range(0, len(self), size):
            yield self[start : start + size]

    def to(self, device: torch.device, dtype: torch.dtype) -> Padded:
        """Return the instances on a device."""
        count = None if self.count is None else self.count.to(device)
        return Padded(self.points.to(device, dtype), count)


def pad(instances: FloatArray | list[FloatArray]) -> Padded:
    """Stack instances, filling up with zeros where sizes differ."""
    if isinstance(instances, np.ndarray):
        return Padded(torch.from_numpy(np.ascontiguousarray(instances)), None)
    sizes = [len(points) for points in instances]
    padded = np.zeros((len(instances), max(sizes), 2))
    for row, points in zip(padded, instances, strict=True):
        row[: len(points)] = points
    return Padded(torch.from_numpy(padded), torch.tensor(sizes))


class TrainingStream:
    """The instances of every step of a training run, this process's share of them."""

    def __init__(
        self,
        data: DataConfig,
        batch: int,
        group: Group,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        if batch % group.world:
            raise OptionError(
                f"train.batch must be a multiple of the {group.world} processes, got {batch}"
            )
        self.data, self.batch, self.group = data, batch, group
        self.device, self.dtype = device, dtype
        self._fixed: Padded | None = None
        if data.path is not None or not data.fresh:
            self._fixed = pad(_fixed_set(data, batch)).to(device, dtype)
        else:
            self._stream = _named(data, ENDLESS)
        instances = len(self._fixed) if self._fixed is not None else data.instances
        self.steps_per_epoch = instances // batch
        self._order: tuple[int, Tensor] | None = None

    @property
    def size(self) -> int:
        """Return the number of points of the largest instance."""
        if self._fixed is not None:
            return self._fixed.points.shape[1]
        return self._stream.n or 0

    def steps(self, epoch: int, first: int, last: int) -> Padded:
        """Return the instances of the epoch's steps first .. last - 1, one after the other."""
        share = self.group.share(self.batch)
        rows = torch.arange(first * self.batch, last * self.batch).view(-1, self.batch)
        mine = rows[:, share].reshape(-1)
        if self._fixed is not None:
            return self._fixed[self._shuffled(epoch)[mine.to(self.device)]]
        start = (epoch * self.steps_per_epoch + first) * self.batch
        drawn = pad(self._stream[start : start + rows.numel()])
        return drawn[mine - first * self.batch].to(self.device, self.dtype)

    def trial(self, count: int, version: int) -> Padded:
        """Return the instances on which a challenger meets the baseline of this version.

        They come from the validation stream; a file of the user's is drawn from at random.
        """
        seed = seed_of(self.data.seed, "trial", version)
        if self.data.path is None:
            drawn = pad(_named(self.data, count, split="validation", seed=seed)[:count])
        else:
            assert self._fixed is not None
            chosen = torch.randperm(len(self._fixed), generator=_generator((seed,)))
            drawn = self._fixed[chosen[:count].to(self.device)]
        return drawn.to(self.device, self.dtype)

    def _shuffled(self, epoch: int) -> Tensor:
        if self._order is None or self._order[0] != epoch:
            assert self._fixed is not None
            generator = _generator((self.data.seed, "order", epoch))
            order = torch.randperm(len(self._fixed), generator=generator)
            self._order = epoch, order.to(self.device)
        return self._order[1]


def validation_set(
    data: DataConfig, validation: ValidationConfig
) -> tuple[FloatArray | list[FloatArray], FloatArray | None]:
    """Return the validation instances with their optimal lengths, where a file gives them."""
    if validation.path is None:
        found = _named(data, validation.instances, split="validation")
    else:
        found = datasets.load("validation", split="validation", path=validation.path)
    count = min(validation.instances, len(found))
    instances = found[:count]
    _check_sizes(instances, f"validation.path: {validation.path}")
    optima = None if found.optimal_length is None else found.optimal_length[:count]
    return instances, optima


def _named(
    data: DataConfig, count: int, split: datasets.Split = "train", seed: int | None = None
) -> datasets.Dataset:
    chosen = data.seed if seed is None else seed
    return datasets.load(data.name, count=count, split=split, seed=chosen, n=data.n)


def _fixed_set(data: DataConfig, batch: int) -> FloatArray | list[FloatArray]:
    if data.path is None:
        return _named(data, data.instances).points
    found = datasets.load("training", split="train", path=data.path)
    if len(found) < batch:
        raise OptionError(
            f"data.path: {data.path} holds {len(found)} instances, "
            f"fewer than one batch (train.batch = {batch})"
        )
    instances = found[: min(data.instances, len(found))]
    _check_sizes(instances, f"data.path: {data.path}")
    return instances


def _check_sizes(instances: FloatArray | list[FloatArray], where: str) -> None:
    for index, points in enumerate(instances):
        if len(points) < SMALLEST:
            raise OptionError(
                f"{where}: instance {index} has {len(points)} points, "
                f"at least {SMALLEST} are needed"
            )
