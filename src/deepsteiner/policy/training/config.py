"""Training configurations: frozen dataclasses, TOML files that extend each other, and overrides.

A configuration is composed of files, later ones over earlier ones, then of `table.key=value`
overrides. A file names what it builds on with `extends = "paper"` or a list; names without
`.toml` are the files shipped in `configs/`. Unknown tables and keys, wrong types and values out
of range are errors of one sentence. Nothing here needs torch.
"""

from __future__ import annotations

import json
import math
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from ...core.errors import FormatError, OptionError
from ...core.options import checked, option
from ..kit.registries import CRITERIA, OBJECTIVES, load_module
from ..settings import CandidateSpec, NetworkConfig

SHIPPED = Path(__file__).parent / "configs"
RUN_CONFIG = "config.json"

T = TypeVar("T")
Tables = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class DataConfig:
    """[data]: the instances to train on."""

    name: str = option("D1", "a dataset of deepsteiner.datasets, as D1, D2, D3 or clustered")
    n: int | None = option(None, "points of an instance, where the dataset needs it", minimum=3)
    path: str | None = option(None, "train on the instances of this file instead")
    instances: int = option(10_240, "instances of one epoch", minimum=1)
    fresh: bool = option(False, "new random instances for every step (D1, D2, D3, uniform, normal)")
    seed: int = option(0, "another seed, other training instances", minimum=0)


@dataclass(frozen=True)
class ValidationConfig:
    """[validation]: the instances whose gap is reported; never trained on."""

    path: str | None = option(None, "a file with points and optimal_length")
    instances: int = option(1000, "how many, from the file or the validation split", minimum=1)
    every: int = option(1, "epochs from one validation to the next", minimum=1)


@dataclass(frozen=True)
class TrainConfig:
    """[train]: the loop that all objectives share."""

    objective: str = option("reinforce", "what is minimised", choices=OBJECTIVES)
    criterion: str = option("first_selection", "when a training rollout stops", choices=CRITERIA)
    batch: int = option(32, "instances of one step, over all processes", minimum=1)
    epochs: int = option(100, "epochs in all", minimum=1)
    minutes: float = option(
        0.0,
        "train this long in all, whatever `epochs` says; schedules then follow the clock",
        minimum=0.0,
    )
    learning_rate: float = option(5e-5, "Adam's learning rate, at its highest", minimum=0.0)
    schedule: Literal["constant", "cosine"] = option("constant", "learning rate over time")
    warmup: int = option(0, "steps over which the learning rate rises from 0", minimum=0)
    clip: float = option(1.0, "largest gradient norm; 0 does not clip", minimum=0.0)
    precision: Literal["float32", "bfloat16", "float64"] = option(
        "float32", "arithmetic of the network"
    )
    compile: bool = option(False, "compile the network (worth it on a GPU, for long runs)")
    graphs: bool = option(
        False, "record a step as a CUDA graph and replay it: faster for small batches (reinforce)"
    )
    save_seconds: float = option(60.0, "seconds from one checkpoint to the next", minimum=0.0)
    seed: int = option(0, "seed of the weights and of every random choice", minimum=0)
    start: str | None = option(None, "a model or pretrained model to start from")


@dataclass(frozen=True)
class ReinforceConfig:
    """[reinforce]: policy gradient with a greedy rollout baseline."""

    warmup_epochs: int = option(1, "epochs with an exponential baseline first", minimum=0)
    beta: float = option(0.8, "decay of the exponential baseline", minimum=0.0, maximum=1.0)
    alpha: float = option(0.05, "level of the one-sided paired t-test", minimum=0.0, maximum=1.0)
    instances: int = option(10_000, "instances of the t-test", minimum=2)
    keep_worsening: bool = option(
        False, "in first_increment, the baseline's trees keep their worsening point too, as printed"
    )
    expectation: bool = option(
        False, "the mean over all candidates instead of one draw (first_selection alone)"
    )


@dataclass(frozen=True)
class DistillConfig:
    """[distill]: imitate the one-step lookahead on the states the policy visits."""

    temperature: float = option(0.1, "of the targets, relative to the best saving", minimum=1e-6)
    depth: int = option(6, "Steiner points of the deepest state; never above n - 3", minimum=0)
    explore: float = option(
        0.5,
        "share of instances that sample their steps; the others take the likeliest",
        minimum=0.0,
        maximum=1.0,
    )
    lookahead: int = option(1, "steps that a candidate's worth looks ahead", minimum=1, maximum=2)
    width: int = option(8, "candidates of a state that are looked at further", minimum=1)
    threshold: float = option(
        1e-5, "savings below this share of the length end an instance", minimum=0.0
    )


@dataclass(frozen=True)
class TourConfig:
    """[tour]: the travelling-salesman instances of pretraining."""

    n: int = option(20, "cities of an instance, uniform in the unit square", minimum=3)
    clip: float = option(10.0, "bound of the decoder's compatibilities (tanh)", minimum=1e-6)


@dataclass(frozen=True)
class PluginConfig:
    """[plugins]: Python files of yours that register parts; they are run before all else."""

    modules: list[str] = field(
        default_factory=list, metadata={**option(None, "paths, as seen from this file").metadata}
    )


@dataclass(frozen=True)
class RunConfig:
    """What every training needs to know."""

    data: DataConfig = field(default_factory=DataConfig)
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    reinforce: ReinforceConfig = field(default_factory=ReinforceConfig)
    plugins: PluginConfig = field(default_factory=PluginConfig)

    def __post_init__(self) -> None:
        if self.train.batch > self.data.instances:
            raise OptionError(
                f"train.batch must be at most data.instances = {self.data.instances}, "
                f"got {self.train.batch}"
            )
        if self.reinforce.expectation and self.train.criterion != "first_selection":
            raise OptionError(
                f"reinforce.expectation needs train.criterion = 'first_selection', "
                f"got {self.train.criterion!r}"
            )


@dataclass(frozen=True)
class Config(RunConfig):
    """Everything `deepsteiner train` needs to know."""

    candidates: CandidateSpec = field(default_factory=CandidateSpec)
    distill: DistillConfig = field(default_factory=DistillConfig)


@dataclass(frozen=True)
class PretrainConfig(RunConfig):
    """Everything `deepsteiner pretrain` needs to know."""

    tour: TourConfig = field(default_factory=TourConfig)


def load(names: Sequence[str], overrides: Sequence[str] = (), root: type[T] = Config) -> T:  # type: ignore[assignment]
    """Compose a configuration.

    Parameters
    ----------
    names : sequence of str
        Shipped names or paths of .toml files, later ones over earlier ones.
    overrides : sequence of str
        Single values, as "table.key=value", over all files.
    root : type
        What to build: `Config` or `PretrainConfig`.

    Raises
    ------
    OptionError
        If a table, a key or a value is not accepted.
    FormatError
        If a file does not exist or is not TOML.

    Examples
    --------
    >>> config = load(["paper", "knn"], ["train.epochs=3"])
    >>> config.train.batch, config.train.epochs, config.candidates.kind
    (32, 3, 'knn')
    """
    tables: Tables = {}
    for name in names:
        _merge(tables, _read(name, Path(), (), root))
    return _built(tables, overrides, root)


def load_run(folder: Path | str, overrides: Sequence[str] = (), root: type[T] = Config) -> T:  # type: ignore[assignment]
    """Return the configuration of the run in a folder, with overrides on top."""
    path = Path(folder) / RUN_CONFIG
    if not path.is_file():
        raise FormatError(f"there is nothing to resume: {path} does not exist")
    tables = json.loads(path.read_text(encoding="utf-8"))
    _load_plugins(tables, path.parent)
    return _built(_checked_tables(tables, root, f"{path}: "), overrides, root)


def shipped_names() -> list[str]:
    """Return the names of the shipped configuration files.

    >>> "paper" in shipped_names()
    True
    """
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def _built(tables: Tables, overrides: Sequence[str], root: type[T]) -> T:
    """Build a configuration from checked tables and from overrides."""
    for text in overrides:
        _merge(tables, _checked_tables(_override(text), root, ""))
    kinds = typing.get_type_hints(root)
    return root(**{name: kinds[name](**values) for name, values in tables.items()})


def _read(name: str, folder: Path, seen: tuple[Path, ...], root: type) -> Tables:
    """Return the tables of a file over those it extends."""
    path = _find(name, folder)
    if path in seen:
        raise FormatError(f"{path} extends itself, by way of {seen[-1].name}")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} is not a TOML file: {error}") from error
    extends = content.pop("extends", [])
    parents = [extends] if isinstance(extends, str) else extends
    if not isinstance(parents, list) or not all(isinstance(parent, str) for parent in parents):
        raise FormatError(f"{path}: extends must be a name or a list of names, got {extends!r}")
    tables: Tables = {}
    for parent in parents:
        _merge(tables, _read(parent, path.parent, (*seen, path), root))
    # Each file is checked by itself, so that an error names the file it is in.
    _load_plugins(content, path.parent)
    _merge(tables, _checked_tables(content, root, f"{path}: "))
    return tables


def _load_plugins(content: dict[str, Any], folder: Path) -> None:
    """Run the files that register parts, and write down where they lie."""
    table = content.get("plugins")
    if not isinstance(table, dict) or not isinstance(table.get("modules"), list):
        return  # absent, or refused when it is checked
    table["modules"] = [str((folder / str(name)).resolve()) for name in table["modules"]]
    for name in table["modules"]:
        load_module(Path(name))


def _find(name: str, folder: Path) -> Path:
    """Return the path of a shipped name, or of a file given relative to a folder."""
    if name.endswith(".toml"):
        path = folder / name
        if not path.is_file():
            raise FormatError(f"configuration {path} does not exist")
        return path.resolve()
    if name not in shipped_names():
        valid = ", ".join(shipped_names())
        raise OptionError(f"unknown configuration {name!r}; the shipped ones are: {valid}")
    return SHIPPED / f"{name}.toml"


def _override(text: str) -> Tables:
    """Read `table.key=value`; a value that is no TOML value is a plain word."""
    path, equals, value = text.partition("=")
    table, dot, key = path.strip().partition(".")
    if not equals or not dot or not key:
        raise OptionError(f"an override has the form table.key=value, got {text!r}")
    try:
        parsed = tomllib.loads(f"value = {value.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    return {table: {key: parsed}}


def _merge(tables: Tables, over: Tables) -> None:
    for name, values in over.items():
        tables.setdefault(name, {}).update(values)


def _checked_tables(tables: Mapping[str, Any], root: type, prefix: str) -> Tables:
    """Return the tables with their values checked; an error begins with the prefix."""
    kinds = typing.get_type_hints(root)
    for name, values in tables.items():
        if name not in kinds:
            valid = ", ".join(kinds)
            raise OptionError(f"{prefix}unknown table [{name}]; the tables are: {valid}")
        if not isinstance(values, Mapping):
            raise OptionError(f"{prefix}{name!r} must be a table, got {values!r}")
    return {
        name: {key: _checked(kinds[name], name, key, values[key], prefix) for key in values}
        for name, values in tables.items()
    }


def _checked(kind: type, table: str, key: str, value: Any, prefix: str) -> Any:
    keys = [field.name for field in fields(kind)]
    if key not in keys:
        valid = ", ".join(keys)
        raise OptionError(f"{prefix}unknown key {table}.{key}; the keys are: {valid}")
    if isinstance(value, float) and not math.isfinite(value):
        raise OptionError(f"{prefix}{table}.{key} must be a finite number, got {value!r}")
    return checked(kind, key, value, f"{prefix}{table}.{key}")
