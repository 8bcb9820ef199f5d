"""
A tree of your own, refined
===========================

``refine`` takes any valid tree: the best places for its Steiner points, then repair of what is
left.
"""

import numpy as np

import deepsteiner as ds
from deepsteiner.viz.plot import compare

points = np.random.default_rng(6).random((15, 2))
rough = ds.solve(points, "rand2", seed=3)
refined = ds.refine(rough)
best = ds.solve(points)

figure = compare([rough, refined, best], columns=3)
