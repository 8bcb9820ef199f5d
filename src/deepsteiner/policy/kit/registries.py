"""The parts that policies are made of, by the names that a configuration uses.

A part of one's own is one file and one line:

    # mine.py
    from deepsteiner.policy.kit.registries import CANDIDATE_SETS

    @CANDIDATE_SETS.register("fermat")
    class FermatPoints(CandidateSet): ...

and a configuration that says `[plugins] modules = ["mine.py"]` can name it at once, as
`[candidates] kind = "fermat"`. What to derive from:

    CANDIDATE_SETS   `policy.candidates.CandidateSet`
    CRITERIA         `policy.kit.criteria.Criterion`
    OBJECTIVES       `policy.training.trainer.Objective`, made from a `Problem`
    NETWORKS         `policy.network.Network`, made from a `NetworkConfig`
    DECODERS         `policy.network.Decoder`, made from a `NetworkConfig`

Our own parts are named here and loaded when they are first used: nothing here needs torch.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ...core.errors import FormatError, OptionError

Part = TypeVar("Part")


class Registry(Mapping[str, Any]):
    """Parts of one sort by name; those given as "module:name" are loaded when asked for.

    Examples
    --------
    >>> list(CANDIDATE_SETS)
    ['mst', 'knn', 'all', 'grid']
    """

    def __init__(self, sort: str, own: Mapping[str, str]) -> None:
        self.sort = sort
        self._parts: dict[str, Any] = dict(own)

    def register(self, name: str) -> Callable[[Part], Part]:
        """Return a decorator that adds a part under a name.

        Raises
        ------
        OptionError
            If another part has that name.

        Examples
        --------
        >>> shapes = Registry("shape", {})
        >>> @shapes.register("square")
        ... class Square:
        ...     corners = 4
        >>> list(shapes), shapes["square"].corners
        (['square'], 4)
        """

        def add(part: Part) -> Part:
            if name in self._parts and not _same(self._parts[name], part):
                raise OptionError(f"there is a {self.sort} {name!r} already: choose another name")
            self._parts[name] = part
            return part

        return add

    def __getitem__(self, name: str) -> Any:
        part = self._parts[name]
        if isinstance(part, str):
            module, _, attribute = part.partition(":")
            part = getattr(importlib.import_module(module), attribute)
            self._parts[name] = part
        return part

    def __contains__(self, name: object) -> bool:
        # Without loading it, as a mapping otherwise would.
        return name in self._parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def find(self, name: str) -> Any:
        """Return a part, or say in one sentence which ones there are.

        Raises
        ------
        OptionError
            If there is no such part.

        Examples
        --------
        >>> Registry("shape", {"path": "os.path:join"}).find("path").__name__
        'join'
        """
        if name not in self._parts:
            known = ", ".join(self)
            raise OptionError(f"{self.sort} must be one of {known}, got {name!r}")
        return self[name]


def _same(one: Any, other: Any) -> bool:
    """Say whether two parts are one, from a file that was read twice."""
    where = ("__qualname__", "__module__")
    return all(getattr(one, word, 0) == getattr(other, word, 1) for word in where)


CANDIDATE_SETS = Registry(
    "candidate set",
    {
        "mst": "deepsteiner.policy.candidates:TreeArcs",
        "knn": "deepsteiner.policy.candidates:NeighbourArcs",
        "all": "deepsteiner.policy.candidates:AllArcs",
        "grid": "deepsteiner.policy.candidates:Grid",
    },
)
CRITERIA = Registry(
    "criterion",
    {
        "first_increment": "deepsteiner.policy.kit.criteria:FirstIncrement",
        "first_selection": "deepsteiner.policy.kit.criteria:FirstSelection",
        "all_selection": "deepsteiner.policy.kit.criteria:AllSelection",
        "inference": "deepsteiner.policy.kit.criteria:Inference",
    },
)
OBJECTIVES = Registry(
    "objective",
    {
        "reinforce": "deepsteiner.policy.training.reinforce:reinforce",
        "distill": "deepsteiner.policy.training.distill:Distill",
    },
)
NETWORKS = Registry(
    "network",
    {
        "attention": "deepsteiner.policy.network:Policy",
        "relative": "deepsteiner.policy.relative.network:RelativePolicy",
    },
)
DECODERS = Registry(
    "decoder",
    {
        "paper": "deepsteiner.policy.network:PaperDecoder",
        "released": "deepsteiner.policy.network:ReleasedDecoder",
    },
)


def load_module(path: Path) -> None:
    """Run a Python file of the user's, which registers parts; a second time does nothing.

    Raises
    ------
    FormatError
        If there is no such file, or it is not Python.
    """
    path = path.resolve()
    if not path.is_file():
        raise FormatError(f"plugins.modules: {path} does not exist")
    name = f"deepsteiner_plugin_{path.stem}_{abs(hash(str(path))):x}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FormatError(f"plugins.modules: {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        del sys.modules[name]
        raise FormatError(f"plugins.modules: {path} is not a Python file: {error}") from error
    except BaseException:
        del sys.modules[name]
        raise
