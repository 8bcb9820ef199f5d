"""Solve a data set in one call and compare methods by their gap to the optimum."""

import deepsteiner as ds

points = ds.datasets.load("D1", count=500).points
optimum = ds.solve_many(points, "exact")
print("all proven:", set(optimum.statuses) == {"optimal"})

for method, options in [("mst", {}), ("greedy", {"relax": False}), ("greedy", {})]:
    solutions = ds.solve_many(points, method, **options)
    gap = 100 * (solutions.lengths / optimum.lengths - 1)
    print(f"{method:8}{options!s:18} gap {gap.mean():.3f} %, worst {gap.max():.2f} %")
