"""What to run, as people write it: datasets such as `D1` or `DEG:file.npz`, methods with options.

A dataset is a name of `deepsteiner.datasets`, `uniform-50` for one with its size, or
`name:path` for a file of instances. A method is `name` or `name:option=value,option=value`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .. import datasets
from ..core.errors import OptionError
from ..core.options import options_from_text
from ..core.points import FloatArray
from ..registry import get_method


@dataclass(frozen=True)
class DatasetSpec:
    """A dataset to measure on: one of the paper's, a kind with its size, or a file."""

    name: str
    n: int | None = None
    path: str | None = None

    @property
    def label(self) -> str:
        """The name that rows and tables use; a file that is called as a paper's set says so."""
        if self.path is not None and self.name in datasets.PAPER:
            return f"{self.name} (file)"
        return self.name if self.n is None else f"{self.name}-{self.n}"

    def load(self, count: int | None, seed: int) -> Instances:
        """Return the first `count` instances of the test split, all of one size."""
        data = datasets.load(self.name, count=count, seed=seed, n=self.n, path=self.path)
        if len(data) == 0 or data.n is None:
            raise OptionError(
                f"dataset {self.label!r} must hold at least one instance, all of one size"
            )
        return Instances(self.label, np.asarray(data.points), data.optimal_length)


@dataclass(frozen=True)
class Instances:
    """Loaded instances: (B, n, 2) points and, where the file had them, their optimal lengths."""

    label: str
    points: FloatArray
    optima: FloatArray | None


@dataclass(frozen=True)
class MethodSpec:
    """A method with the options that differ from its defaults."""

    name: str
    options: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The method as it is written on the command line."""
        settings = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}:{settings}" if settings else self.name


def parse_dataset(text: str) -> DatasetSpec:
    """Return the dataset that a text names.

    >>> parse_dataset("uniform-50"), parse_dataset("DEG:deg.npz").path
    (DatasetSpec(name='uniform', n=50, path=None), 'deg.npz')
    """
    name, colon, path = text.partition(":")
    if colon:
        if not name or not path:
            raise OptionError(f"a dataset from a file is written name:path, got {text!r}")
        return DatasetSpec(name, None, path)
    if name == "DEG":
        raise OptionError("DEG is read from a file of yours: write DEG:path (npz with 'points')")
    kind, dash, size = name.rpartition("-")
    if dash and size.isdecimal():
        if kind not in datasets.KINDS:
            kinds = ", ".join(datasets.KINDS)
            raise OptionError(f"dataset {text!r}: the kinds with a size are {kinds}")
        return DatasetSpec(kind, int(size))
    if name not in datasets.PAPER:
        raise OptionError(
            f"unknown dataset {text!r}; write {', '.join(datasets.PAPER)}, name:path for a file, "
            "or a kind with its size as uniform-50"
        )
    return DatasetSpec(name)


@cache
def parse_method(text: str) -> MethodSpec:
    """Return the method that a text names, its options checked and left out at their defaults.

    A policy's model always stays: it says which one was measured.

    >>> parse_method("greedy:relax=false,k_star=9").text
    'greedy:relax=False'
    """
    name, _, settings = text.partition(":")
    infos = get_method(name, {}).info.options
    options = options_from_text(infos, filter(None, settings.split(",")), method=name)
    get_method(name, options)  # refuses values out of range
    defaults = {option.name: option.default for option in infos}
    kept = {key: value for key, value in options.items() if value != defaults[key]}
    if name == "policy":
        kept = {"model": defaults["model"], **kept}
    return MethodSpec(name, dict(sorted(kept.items())))
