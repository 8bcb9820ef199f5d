"""What every call accepts: numbers of any make, words, and devices."""

from __future__ import annotations

import math
from dataclasses import make_dataclass
from fractions import Fraction
from typing import Literal, get_args, get_type_hints

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner import registry
from deepsteiner.core import device as devices
from deepsteiner.core.errors import MissingDependencyError, OptionError
from deepsteiner.core.options import EffortName, describe, option, parse
from deepsteiner.core.scalars import as_real, as_truth, as_whole
from deepsteiner.solvers import auto
from deepsteiner.solvers.textbook import mst
from deepsteiner.viz.svg import solution_svg

POINTS = np.random.default_rng(5).random((12, 2))
WHOLE = [np.int8, np.uint16, np.int32, np.int64, np.uint64, np.array]
REAL = [np.float16, np.float32, np.float64, np.int64, np.array, Fraction]


# --- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers_of_numpy_are_whole_numbers(kind):
    number = as_whole(kind(7))
    assert (number, type(number)) == (7, int)


@pytest.mark.parametrize("kind", REAL)
def test_real_numbers_of_numpy_are_real_numbers(kind):
    number = as_real(kind(2))
    assert (number, type(number)) == (2.0, float)


def test_what_is_no_number():
    for value in (True, np.True_, "3", b"3", None, [3], np.array([3]), 3j, np.datetime64("2020")):
        assert as_whole(value) is None
        assert as_real(value) is None
    for value in (3.0, np.float64(3), math.inf, Fraction(1, 2)):
        assert as_whole(value) is None
    assert as_real(10**400) is None
    assert as_whole(10**400) == 10**400
    assert math.isnan(as_real(np.float32("nan")))
    assert (as_truth(np.True_), as_truth(False), as_truth(np.array(False))) == (True, False, False)
    assert (as_truth(1), as_truth("yes"), as_truth(None)) == (None, None, None)


@pytest.mark.parametrize("kind", WHOLE)
def test_seeds_and_limits_of_any_make(kind):
    plain = ds.solve(POINTS, "bereta", seed=3, time_limit=50)
    other = ds.solve(POINTS, "bereta", seed=kind(3), time_limit=kind(50))
    assert other.length == plain.length
    batch = np.stack([POINTS, POINTS[::-1]])
    many = ds.solve_many(batch, "bereta", seed=kind(3), workers=kind(1), time_limit=kind(50))
    assert many.lengths[0] == plain.length


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.array])
def test_real_limits_of_any_make(kind):
    assert ds.solve(POINTS, "greedy", time_limit=kind(0.0)).status == "time_limit"
    tree = ds.solve(POINTS, "mst")
    assert tree.with_max_edge(kind(0.125)).info == tree.with_max_edge(0.125).info
    assert type(tree.with_max_edge(kind(0.125)).info["max_edge"]) is float


@pytest.mark.parametrize("kind", [np.int16, np.uint64, np.array])
def test_datasets_count_with_numbers_of_any_make(kind):
    plain = ds.datasets.load("uniform", count=3, n=5, seed=2)
    other = ds.datasets.load("uniform", count=kind(3), n=kind(5), seed=kind(2))
    assert np.array_equal(plain.points, other.points)
    assert np.array_equal(plain[kind(1)], plain[1])
    assert [len(chunk) for chunk in plain.iter_chunks(kind(2))] == [2, 1]
    assert len(ds.datasets.generate("grid", kind(4), count=kind(2))) == 2
    assert len(ds.datasets.load("D1", count=kind(2), n=kind(10))) == 2


def test_other_numbers_of_any_make():
    tree = ds.solve(POINTS, "mst")
    assert solution_svg(tree, np.int64(100)) == solution_svg(tree, 100)
    with pytest.raises(OptionError, match="at least 64 pixels"):
        solution_svg(tree, np.True_)


def test_solutions_from_numbers_of_any_make():
    tree = ds.solve(POINTS, "mst").with_max_edge(1.0)
    numbers = {
        "length": np.float64(tree.length),
        "lower_bound": np.float32(0.5),
        "runtime": np.array(2.0),
        "info": {**tree.info, "relays": np.int64(0)},
    }
    found = ds.Solution.from_dict({**tree.to_dict(), **numbers})
    assert (found.length, found.lower_bound, found.runtime) == (tree.length, 0.5, 2.0)
    for wrong in (10**400, np.True_, np.float32("inf")):
        with pytest.raises(ds.errors.FormatError, match="'runtime' must be a finite number"):
            ds.Solution.from_dict({**tree.to_dict(), "runtime": wrong})
    with pytest.raises(ds.errors.FormatError, match="'relays' must count Steiner points, got 'x'"):
        ds.Solution.from_dict({**tree.to_dict(), "info": {"relays": "x"}})


def test_epsg_numbers_of_any_make():
    pytest.importorskip("pyproj")
    plain = ds.solve([[13.4, 52.5], [13.5, 52.5], [13.4, 52.6]], "mst", crs=4326)
    other = ds.solve([[13.4, 52.5], [13.5, 52.5], [13.4, 52.6]], "mst", crs=np.int64(4326))
    assert (other.crs, other.length) == ("EPSG:4326", plain.length)


def numeric_options():
    """Yield every option of every method that takes a number or a truth value."""
    for info in ds.methods().values():
        for one in info.options:
            for kind, make in (("int", np.int64), ("float", np.float32), ("bool", np.bool_)):
                if kind in one.type.split(" | "):
                    yield pytest.param(info.name, one, make, id=f"{info.name}-{one.name}")


@pytest.mark.parametrize(("method", "info", "make"), list(numeric_options()))
def test_every_option_takes_numbers_of_numpy(method, info, make):
    value = max(2, info.minimum or 0) if info.default is None else info.default
    plain = registry.get_method(method, {info.name: value}).options
    for given in (make(value), np.array(make(value))):
        other = registry.get_method(method, {info.name: given}).options
        stored = getattr(other, info.name)
        assert type(stored) is type(getattr(plain, info.name))
        assert stored == pytest.approx(getattr(plain, info.name), rel=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ds.solve(POINTS, seed=np.float64(1)), "seed must be an integer"),
        (lambda: ds.solve(POINTS, seed=np.True_), "seed must be an integer"),
        (lambda: ds.solve(POINTS, seed=np.int64(-1)), "seed must be an integer from 0"),
        (lambda: ds.solve(POINTS, time_limit=np.float32("nan")), "at least 0 seconds"),
        (lambda: ds.solve(POINTS, time_limit=np.True_), "number of seconds"),
        (lambda: ds.solve(POINTS, time_limit=10**400), "number of seconds"),
        (lambda: ds.solve_many([POINTS], workers=np.float64(2)), "workers must be an integer"),
        (lambda: ds.solve_many([POINTS], workers=np.int64(0)), "workers must be an integer"),
        (lambda: ds.solve(POINTS, "greedy", k_star=np.float64(3)), "'k_star' .* must be int"),
        (lambda: ds.solve(POINTS, "greedy", k_star=np.int64(0)), "'k_star' .* at least 1"),
        (lambda: ds.solve(POINTS, "greedy", relax=np.int64(1)), "'relax' .* must be bool"),
        (lambda: ds.solve(POINTS, "bereta", write_back=10**400), "'write_back' .* must be float"),
        (lambda: ds.datasets.generate("grid", np.float64(3)), "n must be a whole number"),
    ],
)
def test_numbers_of_the_wrong_kind_are_refused(call, message):
    with pytest.raises(OptionError, match=message):
        call()


def test_a_truth_value_of_numpy_stops_a_solve():
    stopped = ds.solve(POINTS, "greedy", on_progress=lambda progress: np.bool_(False))
    assert stopped.status == "interrupted"
    assert ds.solve(POINTS, "greedy", on_progress=lambda progress: np.bool_(True)).status != (
        "interrupted"
    )


# --- words --------------------------------------------------------------------------------------


def test_choices_come_from_literal_types():
    fields = [
        ("colour", Literal["red", "blue"], option("red", "of the tree")),
        ("shade", Literal["dark"] | None, option(None, "of the colour")),
    ]
    Options = make_dataclass("Options", fields, frozen=True)
    colour, shade = describe(Options)
    assert (colour.choices, colour.type) == (("red", "blue"), "str")
    assert (shade.choices, shade.type) == (("dark",), "str | None")
    assert parse(Options, {"colour": "blue", "shade": None}, method="m").colour == "blue"
    with pytest.raises(OptionError, match="must be one of red, blue, got 'green'"):
        parse(Options, {"colour": "green"}, method="m")
    with pytest.raises(OptionError, match="must be str, got 3"):
        parse(Options, {"colour": 3}, method="m")


def test_words_of_methods_are_literal_and_their_defaults_among_them():
    """A plain `str` is free text: the name of a model or of a file."""
    free = {"model", "save_fsts", "load_fsts"}
    for name, info in ds.methods().items():
        for one in info.options:
            if "str" in one.type:
                assert (one.choices is None) == (one.name in free), (name, one.name)
            if one.choices is not None:
                assert one.default in one.choices


def test_efforts_are_the_words_of_the_type():
    from deepsteiner.solvers import local, neural

    for known in (local.EFFORTS, neural.EFFORTS):
        assert tuple(known) == get_args(EffortName)
    for method in ("local", "neural"):
        effort = next(one for one in ds.methods()[method].options if one.name == "effort")
        assert effort.choices == get_args(EffortName)


@pytest.mark.parametrize("call", [ds.solve, ds.solve_many])
def test_signatures_name_their_words(call):
    hints = get_type_hints(call)
    assert get_args(hints["duplicates"]) == ("merge", "raise")
    assert get_args(hints["device"]) == ("cpu", "cuda", "auto")


def test_other_signatures_name_their_words():
    assert get_args(get_type_hints(ds.datasets.load)["split"]) == ("train", "validation", "test")
    hints = get_type_hints(ds.Solution, localns={"Axes": None})
    assert get_args(hints["status"]) == ("optimal", "feasible", "time_limit", "interrupted")


# --- devices ------------------------------------------------------------------------------------


@pytest.fixture
def seen(monkeypatch):
    """Return the devices that solvers of `auto` and `mst` were given."""
    found: list[str] = []

    def spied(module):
        solve, solve_batch = module.solve, module.solve_batch
        monkeypatch.setattr(
            module, "solve", lambda run, options: [found.append(run.device), solve(run, options)][1]
        )
        monkeypatch.setattr(
            module,
            "solve_batch",
            lambda batch, options: [found.append(batch.device), solve_batch(batch, options)][1],
        )

    spied(auto)
    spied(mst)
    return found


BATCH = np.stack([POINTS[:5], POINTS[5:10]])


def test_auto_becomes_a_device_before_any_method_runs(monkeypatch, seen):
    monkeypatch.setattr(devices, "has_cuda", lambda: True)
    for device, place in (("auto", "cuda"), ("cuda", "cuda"), ("cpu", "cpu")):
        ds.solve(POINTS, "auto", device=device)
        assert seen.pop() == place
    monkeypatch.setattr(devices, "has_cuda", lambda: False)
    ds.solve(POINTS, "auto", device="auto")
    assert seen.pop() == "cpu"


def test_a_method_that_cannot_use_an_accelerator_works_on_the_processor(monkeypatch, seen):
    monkeypatch.setattr(devices, "has_cuda", lambda: pytest.fail("nobody needs to know"))
    for device in ("cpu", "cuda", "auto"):
        ds.solve(POINTS, "mst", device=device)
        ds.solve_many(BATCH, "mst", device=device)
        ds.solve_many([POINTS, POINTS[:4]], "mst", device=device)
    assert set(seen) == {"cpu"}


def test_batches_of_auto_are_solved_exactly_on_the_processor(monkeypatch, seen):
    monkeypatch.setattr(devices, "has_cuda", lambda: True)
    assert set(ds.solve_many(BATCH, device="cuda").statuses) == {"optimal"}
    assert seen == ["cpu"]


def test_which_methods_can_use_an_accelerator():
    able = {name for name, info in ds.methods().items() if "cuda" in info.devices}
    assert able == {"auto", "neural", "policy"}
    assert all(info.devices[0] == "cpu" for info in ds.methods().values())


@pytest.mark.parametrize("method", ["auto", "neural", "policy"])
def test_an_absent_accelerator_is_one_sentence(monkeypatch, method):
    monkeypatch.setattr(devices, "has_cuda", lambda: False)
    for call in (
        lambda: ds.solve(POINTS, method, device="cuda"),
        lambda: ds.solve([[0, 0], [1, 1]], method, device="cuda"),
        lambda: ds.solve_many(BATCH, method, device="cuda"),
    ):
        with pytest.raises(OptionError, match="device 'cuda': torch finds no CUDA device"):
            call()


def test_without_torch_auto_is_the_processor(monkeypatch, seen):
    monkeypatch.setitem(devices.sys.modules, "torch", None)
    ds.solve(POINTS, "auto", device="auto")
    assert seen == ["cpu"]
    with pytest.raises(MissingDependencyError, match=r"device 'cuda' needs torch; install"):
        ds.solve(POINTS, "auto", device="cuda")


@pytest.mark.parametrize("call", [ds.solve, lambda points, **how: ds.solve_many([points], **how)])
def test_unknown_devices_are_refused(call):
    for device in ("gpu", "CUDA", None, 0):
        with pytest.raises(OptionError, match="device must be 'cpu', 'cuda' or 'auto'"):
            call(POINTS, method="mst", device=device)
