"""Lists of full Steiner trees in files: what was incomplete stays so, and nothing odd is read."""

from __future__ import annotations

import numpy as np
import pytest

import deepsteiner as ds
from deepsteiner.core.errors import FormatError
from deepsteiner.fst.enumerate.complete.generate import generate

POINTS = np.random.default_rng(0).random((40, 2))


def test_an_incomplete_list_proves_nothing_after_reloading(tmp_path):
    path = str(tmp_path / "few.npz")
    limited = ds.solve(POINTS, "exact", max_fst_size=3, save_fsts=path)
    again = ds.solve(POINTS, "exact", load_fsts=path)
    assert limited.status == again.status == "feasible"
    assert again.length == pytest.approx(limited.length)
    assert again.lower_bound < ds.solve(POINTS, "exact").length
    whole = str(tmp_path / "whole.npz")
    ds.solve(POINTS, "exact", save_fsts=whole)
    assert ds.solve(POINTS, "exact", load_fsts=whole).status == "optimal"


def test_a_list_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError("the disk is full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(FormatError, match="cannot be written: the disk is full"):
        generate(np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]])).save(tmp_path / "trees.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("work", [1, 2, 5])
def test_what_little_work_leaves_is_improved(work):
    """Even before any full tree is listed the tree is better than the spanning tree."""
    points = np.random.default_rng(1).random((200, 2))
    solution = ds.solve(points, "exact", max_work=work).validate(strict=True)
    assert solution.status == "feasible"
    assert solution.length < 0.98 * ds.solve(points, "mst").length
