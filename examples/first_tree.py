"""Solve a handful of points, look at the result, save it, read it back."""

from pathlib import Path
from tempfile import TemporaryDirectory

import deepsteiner as ds

points = [[0, 0], [4, 0], [4, 3], [0, 3], [2, 1]]
solution = ds.solve(points)
print(solution)
print("Steiner points:")
print(solution.steiner_points.round(4))
print("saved over the spanning tree:", round(ds.solve(points, "mst").length - solution.length, 4))

with TemporaryDirectory() as folder:
    path = Path(folder) / "tree.json"
    solution.save(path)
    solution.save(Path(folder) / "tree.svg")
    assert ds.Solution.load(path).length == solution.length
