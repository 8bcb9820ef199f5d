"""
A first tree
============

Three trees over the same points: the spanning tree, a quick heuristic, and the proven shortest
tree.
"""

import numpy as np

import deepsteiner as ds
from deepsteiner.viz.plot import compare

points = np.random.default_rng(4).random((30, 2))
trees = [ds.solve(points, method) for method in ("mst", "smith", "exact")]
for tree in trees:
    print(tree)

# %%
# ``compare`` draws them side by side. Hollow dots are Steiner points.

figure = compare(trees, columns=3)
