"""The notebooks run from the first cell to the last."""

from __future__ import annotations

from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).resolve().parents[1] / "examples" / "notebooks"
BOOKS = sorted(NOTEBOOKS.glob("*.ipynb"))


def test_there_are_three_without_outputs():
    """Outputs are made when a notebook is run, and do not belong into the repository."""
    import json

    assert [book.stem for book in BOOKS] == ["maps", "quick-start", "research"]
    for book in BOOKS:
        cells = json.loads(book.read_text(encoding="utf-8"))["cells"]
        assert all(not cell.get("outputs") for cell in cells)


@pytest.mark.heavy
@pytest.mark.parametrize("book", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(book, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="the [notebooks] extra")
    nbformat = pytest.importorskip("nbformat", reason="the [notebooks] extra")
    pytest.importorskip("ipykernel", reason="the [notebooks] extra")
    read = nbformat.read(book, as_version=4)
    nbclient.NotebookClient(
        read, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown = [cell for cell in read.cells if cell.cell_type == "code" and cell.outputs]
    assert len(shown) > 2
