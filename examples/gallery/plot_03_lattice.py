"""
Lattices
========

On square lattices shortest trees are made of little crosses, and very many trees are equally
short. That makes proofs hard; these sizes are solved at once.
"""

import numpy as np

import deepsteiner as ds
from deepsteiner.viz.plot import compare

trees = []
for side in (3, 4, 6):
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
    trees.append(ds.solve(grid, "exact"))

figure = compare(
    trees, columns=3, titles=[f"{len(t.terminals)} points\n{t.length:.4f}" for t in trees]
)
