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
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ... import datasets
from ...core.errors import OptionError
from ...core.points import FloatArray
from .config import DataConfig, ValidationConfig
from .group import Place

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

    def __init__(self, data: DataConfig, batch: int, place: Place, dtype: torch.dtype) -> None:
        group = place.group
        if batch % group.world:
            raise OptionError(
                f"train.batch must be a multiple of the {group.world} processes, got {batch}"
            )
        self.data, self.batch, self.group = data, batch, group
        self.device, self.dtype = place.device, dtype
        # All instances where their number is fixed, otherwise where fresh ones come from.
        self._fixed: Padded | None = None
        if data.path is not None or not data.fresh:
            self._fixed = pad(_fixed_set(data, batch)).to(self.device, dtype)
            instances, self.size = self._fixed.points.shape[:2]
        else:
            self._stream = _named(data, ENDLESS)
            instances, self.size = data.instances, self._stream.n or 0
        self.steps_per_epoch = instances // batch

    def steps(self, epoch: int, first: int, last: int) -> Padded:
        """Return the instances of the epoch's steps first .. last - 1, one after the other."""
        rows = torch.arange((last - first) * self.batch).view(-1, self.batch)
        mine = rows[:, self.group.share(self.batch)].reshape(-1)
        if self._fixed is not None:
            order = _shuffled(self.data.seed, epoch, len(self._fixed))
            return self._fixed[order[mine + first * self.batch].to(self.device)]
        start = (epoch * self.steps_per_epoch + first) * self.batch
        return pad(self._stream[start : start + rows.numel()])[mine].to(self.device, self.dtype)

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


@lru_cache(maxsize=16)  # runs side by side have an order each
def _shuffled(seed: int, epoch: int, count: int) -> Tensor:
    """Return the order of a fixed set in an epoch."""
    return torch.randperm(count, generator=_generator((seed, "order", epoch)))


def validation_set(
    data: DataConfig, validation: ValidationConfig
) -> tuple[FloatArray | list[FloatArray], FloatArray | None]:
    """Return the validation instances with their optimal lengths, where a file gives them."""
    if validation.path is None:
        found = _named(data, validation.instances, split="validation")
    else:
        found = datasets.load("validation", split="validation", path=validation.path)
    instances, optima = found[: validation.instances], found.optimal_length
    _check_sizes(instances, f"validation.path: {validation.path}")
    return instances, None if optima is None else optima[: validation.instances]


def _named(
    data: DataConfig, count: int, split: datasets.Split = "train", seed: int | None = None
) -> datasets.Dataset:
    seed = data.seed if seed is None else seed
    return datasets.load(data.name, count=count, split=split, seed=seed, n=data.n)


def _fixed_set(data: DataConfig, batch: int) -> FloatArray | list[FloatArray]:
    if data.path is None:
        return _named(data, data.instances).points
    found = datasets.load("training", split="train", path=data.path)
    if len(found) < batch:
        raise OptionError(
            f"data.path: {data.path} holds {len(found)} instances, "
            f"fewer than one batch (train.batch = {batch})"
        )
    instances = found[: data.instances]
    _check_sizes(instances, f"data.path: {data.path}")
    return instances


def _check_sizes(instances: FloatArray | list[FloatArray], where: str) -> None:
    for index, points in enumerate(instances):
        if len(points) < SMALLEST:
            raise OptionError(
                f"{where}: instance {index} has {len(points)} points, "
                f"at least {SMALLEST} are needed"
            )
