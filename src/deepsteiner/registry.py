"""The lazy registry: which module holds which method, imported when first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any

from .core.device import Place, resolve_device
from .core.errors import OptionError, UnknownMethodError
from .core.models import find_model
from .core.options import parse
from .core.scalars import as_whole
from .run.method import MethodInfo

# Adding a method takes one module and one line here (see CONTRIBUTING.md).
MODULES: Mapping[str, str] = MappingProxyType(
    {
        "auto": "deepsteiner.solvers.auto",
        "mst": "deepsteiner.solvers.textbook.mst",
        "rand1": "deepsteiner.solvers.textbook.rand1",
        "rand2": "deepsteiner.solvers.textbook.rand2",
        "smith": "deepsteiner.solvers.textbook.smith",
        "thompson": "deepsteiner.solvers.textbook.thompson",
        "dreyer": "deepsteiner.solvers.textbook.dreyer",
        "bereta": "deepsteiner.solvers.textbook.bereta",
        "greedy": "deepsteiner.solvers.textbook.greedy",
        "local": "deepsteiner.solvers.local",
        "neural": "deepsteiner.solvers.neural",
        "policy": "deepsteiner.solvers.policy",
        "exact": "deepsteiner.solvers.exact",
    }
)


@dataclass(frozen=True, slots=True)
class Method:
    """A method ready to run: its description, its module and its checked options."""

    info: MethodInfo
    module: ModuleType
    options: Any


def methods() -> dict[str, MethodInfo]:
    """Return every method by name, with its summary, guarantee, needs and options.

    Returns
    -------
    dict of str to MethodInfo
        Each has a `summary`, the `guarantee` on the length of its trees, the packages it `needs`
        beyond a plain install, and its `options` with their defaults and ranges.

    Examples
    --------
    >>> import deepsteiner as ds
    >>> ds.methods()["mst"].summary
    'the minimum spanning tree, without Steiner points'
    >>> [option.name for option in ds.methods()["greedy"].options][:1]
    ['candidates']
    """
    return {name: _module(name).INFO for name in MODULES}


def get_method(name: str, options: Mapping[str, Any]) -> Method:
    """Return the method of that name with its options checked."""
    if not isinstance(name, str) or name not in MODULES:
        raise UnknownMethodError(f"unknown method {name!r}; known methods: {', '.join(MODULES)}")
    module = _module(name)
    return Method(module.INFO, module, parse(module.Options, options, method=name))


def check_common(seed: Any, device: str, chosen: Method | None = None) -> tuple[int, Place]:
    """Return the seed as an int and where the method works, or say what is wrong or missing.

    Of the method chosen, this also asks whether the models that its options name are there.
    """
    whole = as_whole(seed)
    if whole is None or not 0 <= whole < 2**63:
        raise OptionError(f"seed must be an integer from 0 to 2**63 - 1, got {seed!r}")
    if chosen is None:
        return whole, resolve_device(device)
    for info in chosen.info.options:
        if info.models is not None:
            find_model(getattr(chosen.options, info.name), info.models)
    return whole, resolve_device(device, chosen.info.devices)


def check_supports(info: MethodInfo, what: str) -> None:
    """Refuse a method that does not take something beyond points; name those that do."""
    if what not in info.supports:
        able = [name for name in MODULES if what in _module(name).INFO.supports]
        words = {"existing": "existing networks"}.get(what, what)
        verb = "does" if len(able) == 1 else "do"
        raise OptionError(f"method {info.name!r} does not take {words}; {', '.join(able)} {verb}")


@cache  # a lookup in the import system takes several times as long
def _module(name: str) -> ModuleType:
    return importlib.import_module(MODULES[name])
