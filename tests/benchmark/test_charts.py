"""Charts of the report: axes that have ticks, labels that can be read."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree

import numpy as np
import pytest

from deepsteiner.benchmark.report import charts

SVG = "{http://www.w3.org/2000/svg}"


def test_narrow_axes_have_ticks():
    axis = charts.scale([2.6, 3.2], 0.0, 100.0, "gap", log=True, pad=1.2)
    assert axis.ticks() == pytest.approx([2.5, 3.0, 3.5])


def test_labels_of_a_chart_stay_inside_and_apart():
    rng = np.random.default_rng(0)
    marks = [
        charts.Mark(10**x, 10**y, f"method {i}", 0)
        for i, (x, y) in enumerate(rng.normal(size=(20, 2)))
    ]
    root = ElementTree.fromstring(charts.scatter(marks, "ms", "%", (900, 560)))
    labels = [text for text in root.iter(f"{SVG}text") if text.get("class") == "label"]
    assert [label.text for label in labels] == [mark.label for mark in marks]
    boxes = []
    for label in labels:
        x, y, wide = float(label.get("x")), float(label.get("y")), 6.0 * len(label.text)
        left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[label.get("text-anchor")]
        boxes.append((left, y - 10, left + wide, y))
        assert left >= 0
        assert left + wide <= 900
        assert 10 <= y <= 560
    for a, b in itertools.combinations(boxes, 2):
        assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3], (a, b)
