"""
Twenty thousand points
======================

``local`` and ``neural`` take any number of points; efforts are budgets of work, not of time.
"""

import deepsteiner as ds

points = ds.datasets.load("clustered", n=20_000, count=1, seed=1)[0]
spanning = ds.solve(points, "mst")
tree = ds.solve(points, "neural", effort="fast")
print(f"{100 * (1 - tree.length / spanning.length):.3f} % shorter than the spanning tree")
print(f"{len(tree.steiner_points):,} Steiner points")

# %%
# Pictures of very many nodes are drawn as images inside the vector file.

ax = tree.plot()
