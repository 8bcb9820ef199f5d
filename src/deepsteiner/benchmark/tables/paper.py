"""The numbers that the paper prints, cell by cell.

S. Wang, Y. Wang and G. Tong, "Deep-Steiner: learning to solve the Euclidean Steiner tree problem"
(2022). Gaps are in percent above the optimum, times in milliseconds per instance. Some cells are
blank in the paper. It calls its "±" a standard deviation, but the values are those of the variance
of the gap times 100 (Rand-1 on D1: standard deviation 18.2 %, variance times 100 = 3.3). They stand
here for the record and no table shows them.
"""

from __future__ import annotations

BLANK = "blank"


def _values(table: str) -> dict[str, tuple[float | None, ...]]:
    """Return the values of each line by its first word; None is a blank cell."""
    lines = [line.split() for line in table.strip().splitlines()]
    return {
        name: tuple(None if cell == BLANK else float(cell.partition("±")[0]) for cell in cells)
        for name, *cells in lines
    }


# "Main results": gaps on D1, D2, D3.
TABLE1 = _values("""
    exact                 0           0           0
    bereta-10             1.67±0.02   2.43±0.01   1.67±0.02
    bereta-20             1.08±0.01   1.92±0.01   1.13±0.02
    bereta-50             0.59±0.01   1.18±0.01   0.61±0.01
    mst                   3.15±0.03   3.19±0.01   3.06±0.02
    rand1                 25.05±3.31  24.08±2.06  48.44±19.1
    knn-first-selection   2.41±0.02   2.13±0.01   2.62±0.02
    knn-first-increment   2.94±0.02   blank       2.82±0.02
    knn-all-selection     3.02±0.02   blank       2.92±0.02
    knn-rand2             3.64±0.03   3.24±0.01   3.45±0.03
    mst-first-selection   1.39±0.01   2.46±0.01   1.77±0.01
    mst-first-increment   2.30±0.02   3.01±0.01   2.07±0.01
    mst-all-selection     2.95±0.02   blank       2.92±0.02
    mst-rand2             4.20±0.04   3.62±0.02   3.89±0.04
    grid-first-selection  2.98±0.02   3.16±0.01   2.88±0.02
    grid-first-increment  3.08±0.02   3.16±0.01   2.93±0.02
    grid-all-selection    3.07±0.02   blank       2.91±0.02
    grid-rand2            3.31±0.03   3.21±0.01   3.23±0.03
""")

# "Running time": milliseconds on D1, D2, D3.
TABLE2 = _values("""
    exact                 211.2   303.2   205.2
    bereta-10             118.8   331.7   125.2
    bereta-20             310.0   898.5   315.4
    bereta-50             1021.5  2217.1  945.6
    mst                   1.6     5.8     1.7
    rand1                 2.8     10.7    2.9
    knn-first-selection   200.6   285.1   148.3
    knn-rand2             9.4     41.9    8.7
    mst-first-selection   142.1   254.9   130.7
    mst-rand2             14.3    22.3    12.9
    grid-first-selection  39.3    72.1    35.8
    grid-rand2            7.0     20.4    7.0
""")

# "Generalization performance" of MST+First-selection by its training set: gaps on D1, D2, D3, DEG.
TABLE3 = _values("""
    D1   1.39±0.01  2.72±0.01  1.63±0.01  1.47±0.01
    D2   2.11±0.02  2.46±0.01  2.43±0.05  2.14±0.02
    D3   1.75±0.01  2.81±0.01  1.77±0.01  1.81±0.02
    mst  3.15±0.03  3.19±0.01  3.06±0.02  3.29±0.02
""")
