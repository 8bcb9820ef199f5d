"""The numbers that the paper prints, cell by cell.

S. Wang, Y. Wang and G. Tong, "Deep-Steiner: learning to solve the Euclidean Steiner tree problem"
(2022). Gaps are in percent above the optimum and times in milliseconds. The paper's "±" is
called a standard deviation there; its values are those of the variance of the gap times 100 (for
Rand-1 on D1: standard deviation 18.2 %, variance times 100 = 3.3), and they are kept as printed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """One printed cell; `value` None is a blank that the paper left."""

    value: float | None
    spread: float | None = None
    table: str = ""


def _cells(table: str, *pairs: tuple[float, float | None] | None) -> tuple[Printed, ...]:
    return tuple(
        Printed(None, None, table) if pair is None else Printed(pair[0], pair[1], table)
        for pair in pairs
    )


def _gaps(*pairs: tuple[float, float] | None) -> tuple[Printed, ...]:
    return _cells("Table 1", *pairs)


# Table 1, "Main results": D1, D2, D3.
TABLE1 = {
    "exact": _cells("Table 1", (0.0, None), (0.0, None), (0.0, None)),
    "bereta-10": _gaps((1.67, 0.02), (2.43, 0.01), (1.67, 0.02)),
    "bereta-20": _gaps((1.08, 0.01), (1.92, 0.01), (1.13, 0.02)),
    "bereta-50": _gaps((0.59, 0.01), (1.18, 0.01), (0.61, 0.01)),
    "mst": _gaps((3.15, 0.03), (3.19, 0.01), (3.06, 0.02)),
    "rand1": _gaps((25.05, 3.31), (24.08, 2.06), (48.44, 19.1)),
    "knn-first_selection": _gaps((2.41, 0.02), (2.13, 0.01), (2.62, 0.02)),
    "knn-first_increment": _gaps((2.94, 0.02), None, (2.82, 0.02)),
    "knn-all_selection": _gaps((3.02, 0.02), None, (2.92, 0.02)),
    "knn-rand2": _gaps((3.64, 0.03), (3.24, 0.01), (3.45, 0.03)),
    "mst-first_selection": _gaps((1.39, 0.01), (2.46, 0.01), (1.77, 0.01)),
    "mst-first_increment": _gaps((2.30, 0.02), (3.01, 0.01), (2.07, 0.01)),
    "mst-all_selection": _gaps((2.95, 0.02), None, (2.92, 0.02)),
    "mst-rand2": _gaps((4.20, 0.04), (3.62, 0.02), (3.89, 0.04)),
    "grid-first_selection": _gaps((2.98, 0.02), (3.16, 0.01), (2.88, 0.02)),
    "grid-first_increment": _gaps((3.08, 0.02), (3.16, 0.01), (2.93, 0.02)),
    "grid-all_selection": _gaps((3.07, 0.02), None, (2.91, 0.02)),
    "grid-rand2": _gaps((3.31, 0.03), (3.21, 0.01), (3.23, 0.03)),
}


def _times(*values: float) -> tuple[Printed, ...]:
    return tuple(Printed(value, None, "Table 2") for value in values)


# Table 2, "Running time", milliseconds per instance: D1, D2, D3.
TABLE2 = {
    "exact": _times(211.2, 303.2, 205.2),
    "bereta-10": _times(118.8, 331.7, 125.2),
    "bereta-20": _times(310.0, 898.5, 315.4),
    "bereta-50": _times(1021.5, 2217.1, 945.6),
    "mst": _times(1.6, 5.8, 1.7),
    "rand1": _times(2.8, 10.7, 2.9),
    "knn-first_selection": _times(200.6, 285.1, 148.3),
    "knn-rand2": _times(9.4, 41.9, 8.7),
    "mst-first_selection": _times(142.1, 254.9, 130.7),
    "mst-rand2": _times(14.3, 22.3, 12.9),
    "grid-first_selection": _times(39.3, 72.1, 35.8),
    "grid-rand2": _times(7.0, 20.4, 7.0),
}


def _generalised(*pairs: tuple[float, float]) -> tuple[Printed, ...]:
    return _cells("Table 3", *pairs)


# Table 3, "Generalization performance", MST+First-selection: on D1, D2, D3, DEG.
TABLE3 = {
    "D1": _generalised((1.39, 0.01), (2.72, 0.01), (1.63, 0.01), (1.47, 0.01)),
    "D2": _generalised((2.11, 0.02), (2.46, 0.01), (2.43, 0.05), (2.14, 0.02)),
    "D3": _generalised((1.75, 0.01), (2.81, 0.01), (1.77, 0.01), (1.81, 0.02)),
    "mst": _generalised((3.15, 0.03), (3.19, 0.01), (3.06, 0.02), (3.29, 0.02)),
}
