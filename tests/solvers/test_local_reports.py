"""What `local` tells about itself adds up, and nothing is lost where it is cut short."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.fst.enumerate.nearby.listing import list_trees, survey
from deepsteiner.fst.select.exact.concatenation import WAITING
from deepsteiner.fst.select.search import regions
from deepsteiner.fst.select.search.greedy import first_choice
from deepsteiner.fst.select.search.windows import cells_of
from deepsteiner.run.monitor import Monitor
from deepsteiner.run.threads import Workers
from deepsteiner.run.watch import Watch
from deepsteiner.solvers.search import Search


def uniform(n: int, seed: int = 0) -> np.ndarray:
    return 40.0 * np.random.default_rng(seed).random((n, 2)) + 7.0


@pytest.mark.parametrize("n", [140, 900])
@pytest.mark.parametrize("effort", ["fast", "default"])
def test_the_trace_adds_up_in_the_users_units(n, effort):
    points = uniform(n)
    solution = ds.solve(points, "local", effort=effort, trace=True)
    trace = solution.info["trace"]
    spanning = ds.solve(points, "mst").length
    assert trace[0]["length"] + trace[0]["saving"] == pytest.approx(spanning)
    for before, after in itertools.pairwise(trace):
        assert after["length"] == pytest.approx(before["length"] - after["saving"])
    assert trace[-1]["length"] == pytest.approx(solution.length)
    assert len(trace) > 1
    assert solution.info["saving"] == pytest.approx(1.0 - solution.length / spanning)
    assert solution.info["saving"] > 0.02


def test_reports_tell_the_length_that_was_reached():
    """What windows and regions save is taken off at once, not only at the end."""
    points = uniform(3000)
    reports: list[ds.Progress] = []
    ds.solve(points, "local", effort="fast", on_progress=reports.append)
    spanning = ds.solve(points, "mst").length
    lengths = [report.length for report in reports if "saved" in report.phase]
    assert lengths == sorted(lengths, reverse=True)
    assert len(set(lengths)) > 3
    for report in reports:
        if "saved" in report.phase:
            told = float(report.phase.split(", ")[-1].split()[0])
            assert told == pytest.approx(100.0 * (1.0 - report.length / spanning), abs=2e-3)


def test_solving_the_whole_list_never_loses_what_windows_found(monkeypatch):
    """Stopped at once, it gives back the choice it was given."""
    points = uniform(300)
    monkeypatch.setattr(Search, "_slice", lambda self, *told: False)
    cut = ds.solve(points, "local", trace=True)
    lengths = [record["length"] for record in cut.info["trace"]]
    assert all(b <= a * (1 + 1e-12) for a, b in itertools.pairwise(lengths))
    assert cut.length <= min(lengths) * (1 + 1e-9)
    monkeypatch.undo()
    assert ds.solve(points, "local").length <= cut.length * (1 + 1e-12)


def test_slices_of_work_are_counted_and_end():
    search = object.__new__(Search)
    search.request = type("Request", (), {"monitor": Monitor()})()
    search.length, search.slices, search.most, search.weight = 1.0, 0.0, 7.0, 2.0
    answers = [search._slice("cut", 0, 1, 1.0, 0.5) for _ in range(5)]
    assert answers == [True, True, True, False, False]
    search.slices = 0.0
    assert all(search._slice(WAITING, 0, 1, 1.0, 0.5) for _ in range(20))


def listing_of(points: np.ndarray):
    with Workers(1) as workers:
        return list_trees(survey(points, workers), workers, 4, lambda *_: True)


@pytest.mark.parametrize("reports", [0, 1, 2])
def test_a_first_choice_that_is_stopped_is_a_tree(reports):
    points = np.random.default_rng(2).random((80, 2)) - 0.5
    listing = listing_of(points)
    left = iter(range(reports))
    monitor = Monitor(on_progress=lambda progress: next(left, -1) >= 0)
    with Workers(1) as workers:
        watch = Watch(monitor, patient=False)
        picked = first_choice(listing, workers, lambda *_: True, watch)
    assert monitor.stop_reason == "interrupted"
    joins = np.diff(listing.start)[picked] - 1
    assert joins.sum() == 79
    label = list(range(80))
    for f in np.flatnonzero(picked):
        parts = {label[v] for v in listing.terminals[listing.start[f] : listing.start[f + 1]]}
        label = [min(parts) if old in parts else old for old in label]
    assert len(set(label)) == 1


def test_cells_are_cut_elsewhere_in_every_pass():
    points = np.random.default_rng(3).random((600, 2))
    cuts = []
    for number in range(8):
        cell = cells_of(points, 50, number)
        together = cell[:, None] == cell[None, :]
        cuts.append(together)
    for one, two in itertools.combinations(cuts, 2):
        assert (one & ~two).sum() > 1000  # many pairs are parted that were together


def test_only_changes_that_are_made_are_counted(monkeypatch):
    """Where some do not go together, their gains are nobody's."""
    plain, refused = regions.acceptable, []

    def some(changes, *given):
        take = plain(changes, *given)
        take[::2] = False
        refused.append(float(changes.gains[~take].sum()))
        return take

    monkeypatch.setattr(regions, "acceptable", some)
    for seed in range(4):
        points = 2.0 * np.random.default_rng(seed).random((700, 2)) - 1.0
        listing = listing_of(points)
        picked = np.zeros(len(listing), np.bool_)
        picked[:699] = True
        before, heard = listing.length[picked].sum(), []
        with Workers(1) as workers:
            saved = regions.run_pass(
                listing, picked, 0, regions.RegionPass(40), workers,
                lambda *told, heard=heard: heard.append(told[3]) or True,
            )  # fmt: skip
        assert saved == pytest.approx(before - listing.length[picked].sum(), rel=1e-9)
        assert heard[-1] == pytest.approx(before - saved, rel=1e-9)
    assert sum(refused) > 0.0
