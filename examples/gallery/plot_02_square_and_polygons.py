"""
Regular polygons
================

The square needs two Steiner points, the pentagon three; from six corners on the shortest network
is the polygon itself without one side.
"""

import numpy as np

import deepsteiner as ds
from deepsteiner.viz.plot import compare

trees = []
for corners in (3, 4, 5, 6):
    turn = 2 * np.pi * np.arange(corners) / corners + np.pi / corners
    trees.append(ds.solve(np.c_[np.cos(turn), np.sin(turn)]))

figure = compare(
    trees, columns=4, titles=[f"{len(t.terminals)} corners\n{t.length:.4f}" for t in trees]
)
