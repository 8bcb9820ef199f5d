"""Training configurations: frozen dataclasses, TOML files that extend each other, and overrides.

A configuration is composed of files, later ones over earlier ones, then of `table.key=value`
overrides. A file names what it builds on with `extends = "paper"` or a list; names without
`.toml` are the files shipped in `configs/`. Unknown tables and keys, wrong types and values out
of range are errors of one sentence. Nothing here needs torch.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from ...core.errors import FormatError, OptionError
from ...core.options import OptionInfo, describe, option
from ...geometry.candidates import CandidateKind, Extent

SHIPPED = Path(__file__).parent / "configs"
# The paper's three, and Algorithm 1 itself: the length that counts in the end.
Criterion = Literal["first_increment", "first_selection", "all_selection", "inference"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
Norm = Literal["batch", "layer"]
Inputs = Literal["raw", "edge"]
Decoder = Literal["paper", "released"]

T = TypeVar("T")


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
class CandidatesConfig:
    """[candidates]: where Steiner points may lie."""

    kind: CandidateKind = option("mst", "the arcs of which pairs")
    k_star: int = option(9, "interior points of an arc", minimum=1)
    k_neighbors: int = option(3, "neighbours of a point, for knn", minimum=1)
    grid: int = option(10, "points of one side of the grid", minimum=1)
    extent: Extent = option("unit", "what the grid covers")


@dataclass(frozen=True)
class NetworkOptions:
    """[network]: the policy's network."""

    layers: int = option(5, "encoder layers", minimum=1)
    dim: int = option(128, "width of an embedding", minimum=1)
    heads: int = option(8, "heads of an attention", minimum=1)
    ff: int = option(512, "width of a feed-forward layer", minimum=1)
    norm: Norm = option("batch", "normalisation")
    inputs: Inputs = option("raw", "what a candidate is described by")
    decoder: Decoder = option("paper", "the decoder as printed or as released")


@dataclass(frozen=True)
class TrainConfig:
    """[train]: the loop that all objectives share."""

    objective: Literal["reinforce", "distill"] = option("reinforce", "what is minimised")
    criterion: Criterion = option("first_selection", "when a training rollout stops")
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
    seed: int = option(0, "seed of the weights and of every random choice", minimum=0)
    start: str | None = option(None, "a model or pretrained model to start from")


@dataclass(frozen=True)
class ReinforceConfig:
    """[reinforce]: policy gradient with a greedy rollout baseline."""

    warmup_epochs: int = option(1, "epochs with an exponential baseline first", minimum=0)
    beta: float = option(0.8, "decay of the exponential baseline", minimum=0.0, maximum=1.0)
    alpha: float = option(0.05, "level of the one-sided paired t-test", minimum=0.0, maximum=1.0)
    instances: int = option(10_000, "instances of the t-test", minimum=2)
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
    threshold: float = option(
        1e-5, "savings below this share of the length end an instance", minimum=0.0
    )


@dataclass(frozen=True)
class Config:
    """Everything `deepsteiner train` needs to know."""

    data: DataConfig = field(default_factory=DataConfig)
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    candidates: CandidatesConfig = field(default_factory=CandidatesConfig)
    network: NetworkOptions = field(default_factory=NetworkOptions)
    train: TrainConfig = field(default_factory=TrainConfig)
    reinforce: ReinforceConfig = field(default_factory=ReinforceConfig)
    distill: DistillConfig = field(default_factory=DistillConfig)

    def __post_init__(self) -> None:
        if self.network.dim % self.network.heads:
            raise OptionError(
                f"network.dim must be a multiple of network.heads, "
                f"got {self.network.dim} and {self.network.heads}"
            )
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
class TourConfig:
    """[tour]: the travelling-salesman instances of pretraining."""

    n: int = option(20, "cities of an instance, uniform in the unit square", minimum=3)
    clip: float = option(10.0, "bound of the decoder's compatibilities (tanh)", minimum=1e-6)


@dataclass(frozen=True)
class PretrainConfig:
    """Everything `deepsteiner pretrain` needs to know."""

    tour: TourConfig = field(default_factory=TourConfig)
    data: DataConfig = field(default_factory=DataConfig)
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    network: NetworkOptions = field(default_factory=NetworkOptions)
    train: TrainConfig = field(default_factory=TrainConfig)
    reinforce: ReinforceConfig = field(default_factory=ReinforceConfig)

    def __post_init__(self) -> None:
        Config(self.data, self.validation, network=self.network, train=self.train)


def load(names: Sequence[str], overrides: Sequence[str] = (), root: type[T] = Config) -> T:  # type: ignore[assignment]
    """Compose files (shipped names or paths) and `table.key=value` overrides into a `root`."""
    tables: dict[str, dict[str, Any]] = {}
    for name in names:
        _merge(tables, _read(name, Path(), (), root))
    for text in overrides:
        _merge(tables, _override(text, root))
    return from_tables(tables, root)


def load_over(
    saved: Mapping[str, Mapping[str, Any]],
    overrides: Sequence[str],
    root: type[T] = Config,  # type: ignore[assignment]
) -> T:
    """Return a saved configuration with overrides on top."""
    tables = {name: dict(values) for name, values in saved.items()}
    for text in overrides:
        _merge(tables, _override(text, root))
    return from_tables(tables, root)


def from_tables(tables: Mapping[str, Any], root: type[T] = Config, where: str = "") -> T:  # type: ignore[assignment]
    """Build a checked configuration from nested dicts, as `asdict` or a TOML file gives them."""
    classes = _tables_of(root)
    prefix = f"{where}: " if where else ""
    for name, values in tables.items():
        if name not in classes:
            valid = ", ".join(classes)
            raise OptionError(f"{prefix}unknown table [{name}]; the tables are: {valid}")
        if not isinstance(values, Mapping):
            raise OptionError(f"{prefix}{name!r} must be a table, got {values!r}")
    return root(
        **{name: _table(classes[name], name, tables.get(name, {}), prefix) for name in classes}
    )


def shipped_names() -> list[str]:
    """Return the names of the shipped configuration files."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def _tables_of(root: type) -> dict[str, type]:
    return dict(typing.get_type_hints(root))


def _read(name: str, folder: Path, seen: tuple[Path, ...], root: type) -> dict[str, dict[str, Any]]:
    """Return the tables of a file over those it extends."""
    path = _find(name, folder)
    if path in seen:
        raise FormatError(f"{path} extends itself, by way of {seen[-1].name}")
    content = _parse(path)
    extends = content.pop("extends", [])
    parents = [extends] if isinstance(extends, str) else extends
    if not isinstance(parents, list) or not all(isinstance(parent, str) for parent in parents):
        raise FormatError(f"{path}: extends must be a name or a list of names, got {extends!r}")
    tables: dict[str, dict[str, Any]] = {}
    for parent in parents:
        _merge(tables, _read(parent, path.parent, (*seen, path), root))
    # Each file is checked by itself, so that an error names the file it is in.
    checked = _tables_of(root)
    from_tables({key: content[key] for key in content if key not in checked}, root, str(path))
    for key, values in content.items():
        if not isinstance(values, Mapping):
            raise OptionError(f"{path}: {key!r} must be a table, got {values!r}")
        _table(checked[key], key, values, f"{path}: ")
    _merge(tables, content)
    return tables


def _find(name: str, folder: Path) -> Path:
    if not name.endswith(".toml"):
        path = SHIPPED / f"{name}.toml"
        if not path.is_file():
            valid = ", ".join(shipped_names())
            raise OptionError(f"unknown configuration {name!r}; the shipped ones are: {valid}")
        return path
    path = folder / name
    if not path.is_file():
        raise FormatError(f"configuration {path} does not exist")
    return path.resolve()


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} is not a TOML file: {error}") from error


def _override(text: str, root: type) -> dict[str, dict[str, Any]]:
    """Read `table.key=value`; a value that is no TOML value is a plain word."""
    path, equals, value = text.partition("=")
    table, dot, key = path.strip().partition(".")
    if not equals or not dot or not key:
        raise OptionError(f"an override has the form table.key=value, got {text!r}")
    if table not in _tables_of(root):
        valid = ", ".join(_tables_of(root))
        raise OptionError(f"override {text!r}: unknown table {table!r}; the tables are: {valid}")
    try:
        parsed = tomllib.loads(f"value = {value.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    return {table: {key: parsed}}


def _merge(tables: dict[str, dict[str, Any]], over: Mapping[str, Mapping[str, Any]]) -> None:
    for name, values in over.items():
        tables.setdefault(name, {}).update(values)


def _table(kind: type[T], name: str, values: Mapping[str, Any], prefix: str) -> T:
    infos = {info.name: info for info in describe(kind)}
    for key in values:
        if key not in infos:
            valid = ", ".join(infos)
            raise OptionError(f"{prefix}unknown key {name}.{key}; the keys are: {valid}")
    return kind(
        **{
            key: _checked(value, infos[key], f"{prefix}{name}.{key}")
            for key, value in values.items()
        }
    )


def _checked(value: Any, info: OptionInfo, where: str) -> Any:
    kinds = info.type.split(" | ")
    if "float" in kinds and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value).__name__.replace("NoneType", "None") not in kinds:
        raise OptionError(f"{where} must be {info.type}, got {value!r}")
    if info.choices is not None and value not in info.choices:
        raise OptionError(f"{where} must be one of {', '.join(info.choices)}, got {value!r}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise OptionError(f"{where} must be a finite number, got {value!r}")
        if info.minimum is not None and value < info.minimum:
            raise OptionError(f"{where} must be at least {info.minimum:g}, got {value!r}")
        if info.maximum is not None and value > info.maximum:
            raise OptionError(f"{where} must be at most {info.maximum:g}, got {value!r}")
    return value


def as_tables(config: Any) -> dict[str, dict[str, Any]]:
    """Return a configuration as nested dicts for JSON; `from_tables` reads them back."""
    return dataclasses.asdict(config)
