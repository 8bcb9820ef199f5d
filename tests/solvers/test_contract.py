"""What every registered method promises, checked for every one of them."""

from __future__ import annotations

import itertools
import json
import re
import sys
import types
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner import registry
from deepsteiner.core.errors import InternalError, OptionError, PointsError, UnknownMethodError
from deepsteiner.core.options import parse
from deepsteiner.registry import get_method
from limit_checks import check_limits

METHODS = list(ds.methods())
# These may return trees longer than the spanning tree; the others promise not to.
LONGER_THAN_MST = {"rand1"}

POINTS = np.random.default_rng(11).random((14, 2))
POINTS.flags.writeable = False
MST_LENGTH = ds.solve(POINTS, "mst").length

every_method = pytest.mark.parametrize("method", METHODS)


@every_method
def test_returns_a_valid_tree_over_the_input(method):
    before = POINTS.copy()
    solution = ds.solve(POINTS, method)
    solution.validate(strict=ds.methods()[solution.method].strict)
    assert (before == POINTS).all()
    assert solution.terminals.tobytes() == POINTS.tobytes()
    assert solution.edges.shape == (14 + len(solution.steiner_points) - 1, 2)
    assert solution.edges.dtype == np.int64
    assert len(solution.steiner_points) <= 12
    assert solution.runtime > 0
    assert solution.status in ("optimal", "feasible")
    if method not in LONGER_THAN_MST:
        assert solution.length <= MST_LENGTH * (1 + 1e-12)
    with pytest.raises(ValueError, match="read-only"):
        solution.terminals[0, 0] = 1


@pytest.mark.parametrize(
    ("steiner", "edges", "fault"),
    [
        ([], [[0, 1]], "has 2 edges"),
        ([], [[0, 1], [1, 0]], "do not connect"),
        ([], [[0, 1], [1, 3]], "a node that does not exist"),
        ([], [[0, 1], [-1, 2]], "a node that does not exist"),
        ([[0.0, np.nan]], [[0, 3], [1, 3], [2, 3]], "not finite"),
    ],
)
def test_a_wrong_tree_never_leaves_a_solver(monkeypatch, steiner, edges, fault):
    from deepsteiner.run.method import Tree
    from deepsteiner.solvers.textbook import mst

    spots = np.array(steiner, dtype=np.float64).reshape(-1, 2)
    monkeypatch.setattr(mst, "solve", lambda run, options: Tree(spots, np.array(edges)))
    sentence = f"method 'mst' made an invalid tree: .*{fault}"
    with pytest.raises(InternalError, match=sentence) as caught:
        ds.solve([[0, 0], [1, 0], [0, 1]], "mst", seed=3)
    assert caught.value.__notes__ == [
        "to repeat it: solve([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 'mst', seed=3)"
    ]


@every_method
def test_degenerate_instances(method, zoo_points):
    # Proof over ten tight clusters takes seconds; a valid tree must not.
    solution = ds.solve(zoo_points, method, time_limit=2)
    solution.validate(strict=ds.methods()[solution.method].strict)
    assert len(solution.terminals) == len(zoo_points)
    mst = ds.solve(zoo_points, "mst").length
    if method not in LONGER_THAN_MST:
        assert solution.length <= mst * (1 + 1e-12)
    assert solution.length >= mst * np.sqrt(3) / 2 * (1 - 1e-9)


@every_method
def test_same_seed_same_tree_alone_or_in_company(method):
    alone = ds.solve(POINTS, method, seed=5)
    again = ds.solve(POINTS, method, seed=5)
    others = np.random.default_rng(0).random((3, 14, 2))
    company = ds.solve_many(np.concatenate((others, POINTS[None])), method, seed=5)[3]
    ragged = ds.solve_many([POINTS[:4], POINTS, POINTS[:9]], method, seed=5)[1]
    threads = ds.solve_many(np.stack([POINTS] * 4), method, seed=5, workers=2)[2]
    for other in (again, company, ragged, threads):
        assert other.length == alone.length
        assert (other.edges == alone.edges).all()
        assert (other.steiner_points == alone.steiner_points).all()
        assert other.method == alone.method
        assert other.status == alone.status


@pytest.mark.parametrize("method", [m for m, info in ds.methods().items() if info.random])
def test_the_seed_matters_where_it_is_said_to(method):
    trees = {ds.solve(POINTS, method, seed=seed).length for seed in range(8)}
    assert len(trees) > 1


@every_method
def test_progress_is_reported_and_can_stop(method):
    reports: list[ds.Progress] = []
    solution = ds.solve(POINTS, method, on_progress=reports.append)
    assert reports
    assert all(a.elapsed <= b.elapsed for a, b in itertools.pairwise(reports))
    assert reports[-1].length == pytest.approx(solution.length)
    stopped = ds.solve(POINTS, method, on_progress=lambda progress: False)
    assert stopped.validate().status in ("interrupted", "optimal")


@every_method
def test_a_limit_of_zero_still_gives_a_valid_tree(method):
    solution = ds.solve(POINTS, method, time_limit=0)
    assert solution.validate().status == "time_limit"
    if method not in LONGER_THAN_MST:
        assert solution.length <= MST_LENGTH * (1 + 1e-12)


@every_method
def test_limits_hold_and_reports_come(method, monkeypatch):
    # The policy attends to all pairs of tokens and refuses more than some 500 points.
    points = np.random.default_rng(1).random((300 if method == "policy" else 1800, 2))
    check_limits(monkeypatch, method, points)


@every_method
def test_limits_hold_on_tight_clusters(method, monkeypatch):
    rng = np.random.default_rng(2)
    centres = rng.random((20, 2))
    points = centres[rng.integers(0, 20, 250)] + 1e-4 * rng.standard_normal((250, 2))
    check_limits(monkeypatch, method, points)


@every_method
def test_trace_is_json(method):
    solution = ds.solve(POINTS, method, trace=True)
    steps = solution.info["trace"]
    assert isinstance(steps, list)
    assert steps
    assert all(isinstance(step, dict) and step for step in steps)
    assert json.loads(json.dumps(steps)) == steps
    json.dumps(solution.info)
    assert "trace" not in ds.solve(POINTS, method).info


@every_method
def test_duplicates_are_merged_or_refused(method):
    points = np.concatenate((POINTS, POINTS[3:5]))
    solution = ds.solve(points, method).validate()
    assert len(solution.terminals) == 16
    with pytest.raises(PointsError, match="rows 3 and 14 are equal"):
        ds.solve(points, method, duplicates="raise")
    batch = ds.solve_many([points, POINTS], method)
    assert batch[0].length == solution.length
    with pytest.raises(PointsError, match=r"instance 1: .*rows 3 and 14 are equal"):
        ds.solve_many([POINTS, points], method, duplicates="raise")


@every_method
def test_unknown_options_list_the_valid_ones(method):
    with pytest.raises(OptionError, match="has no option 'colour'; its options are"):
        ds.solve(POINTS, method, colour="red")
    with pytest.raises(OptionError, match="has no option 'colour'; its options are"):
        ds.solve_many([POINTS], method, colour="red")


@every_method
def test_every_method_and_option_is_described(method):
    info = ds.methods()[method]
    assert info.name == method
    assert info.summary
    assert info.guarantee
    declared = {field.name for field in fields(get_method(method, {}).module.Options)}
    assert {option.name for option in info.options} == declared
    for option in info.options:
        assert len(option.help.split()) >= 2, option.name
        assert option.type, option.name
        if option.choices is not None and isinstance(option.default, str):
            assert option.default in option.choices


@every_method
def test_every_option_takes_its_default_and_no_other_kind_of_value(method):
    options = get_method(method, {}).module.Options
    for option in ds.methods()[method].options:
        assert parse(options, {option.name: option.default}, method=method) == options()
        with pytest.raises(OptionError, match=rf"{option.name!r} .* must be") as caught:
            parse(options, {option.name: object()}, method=method)
        assert option.type in str(caught.value) or option.choices
        for limit, beyond in ((option.minimum, -1), (option.maximum, 1)):
            if limit is not None:
                with pytest.raises(OptionError, match=f"{option.name!r} .* must be at"):
                    parse(options, {option.name: limit + beyond}, method=method)


def test_some_method_has_options_with_limits_and_choices():
    """So that the tests above have something to look at."""
    options = [option for info in ds.methods().values() for option in info.options]
    assert len(options) > 20
    assert any(option.minimum is not None for option in options)
    assert any(option.maximum is not None for option in options)
    assert any(option.choices is not None for option in options)


BAD_ARGUMENTS = [
    ({"method": "magic"}, UnknownMethodError, "unknown method 'magic'; known methods: auto, mst"),
    ({"method": None}, UnknownMethodError, "unknown method None"),
    ({"time_limit": -1}, OptionError, "time_limit must be at least 0 seconds, got -1"),
    ({"time_limit": float("nan")}, OptionError, "time_limit must be at least 0"),
    ({"time_limit": "1"}, OptionError, "time_limit must be a number of seconds"),
    ({"seed": -1}, OptionError, "seed must be an integer"),
    ({"seed": 1.5}, OptionError, "seed must be an integer"),
    ({"duplicates": "drop"}, OptionError, "duplicates must be 'merge' or 'raise'"),
    ({"device": "tpu"}, OptionError, "device must be"),
    ({"method": "greedy", "k_star": 0}, OptionError, "'k_star' .* at least 1, got 0"),
    ({"method": "greedy", "k_star": 2.5}, OptionError, "'k_star' .* must be int, got 2.5"),
    ({"method": "greedy", "k_star": True}, OptionError, "'k_star' .* must be int, got True"),
    ({"method": "greedy", "candidates": "x"}, OptionError, "one of mst, knn, all, grid"),
    ({"method": "greedy", "relax": 1}, OptionError, "'relax' .* must be bool"),
    ({"method": "rand1", "distribution": "x"}, OptionError, "one of uniform, normal, box"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD_ARGUMENTS)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        ds.solve(POINTS, **arguments)
    with pytest.raises(error, match=message):
        ds.solve_many([POINTS], **arguments)


def test_bad_workers():
    for workers in (0, -1, 1.5, True):
        with pytest.raises(OptionError, match="workers must be an integer of at least 1"):
            ds.solve_many([POINTS], workers=workers)


def test_project_to_needs_crs():
    with pytest.raises(OptionError, match="project_to needs crs"):
        ds.solve(POINTS, project_to="EPSG:32633")


@pytest.fixture
def plain(monkeypatch):
    """The method that CONTRIBUTING shows, registered as it says."""
    text = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text()
    found = re.search(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert found
    module = types.ModuleType("deepsteiner.solvers.plain")
    module.__package__ = "deepsteiner.solvers"
    code = re.sub(r"^   ", "", found[1], flags=re.MULTILINE)
    exec(compile(code, "CONTRIBUTING.md", "exec"), vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert f'`"plain": "{module.__name__}"`' in text
    monkeypatch.setattr(registry, "MODULES", {**registry.MODULES, "plain": module.__name__})
    return "plain"


@pytest.mark.parametrize(
    "promise",
    [
        test_returns_a_valid_tree_over_the_input,
        test_progress_is_reported_and_can_stop,
        test_a_limit_of_zero_still_gives_a_valid_tree,
        test_trace_is_json,
        test_duplicates_are_merged_or_refused,
        test_unknown_options_list_the_valid_ones,
        test_every_method_and_option_is_described,
    ],
    ids=lambda promise: promise.__name__.removeprefix("test_"),
)
def test_the_example_in_contributing_keeps_the_promises(plain, promise):
    assert plain in ds.methods()
    promise(plain)
