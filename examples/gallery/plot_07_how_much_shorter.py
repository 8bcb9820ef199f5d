"""
How much shorter?
=================

A thousand random instances of ten points, all proven: how much the Steiner tree saves over the
spanning tree.
"""

import matplotlib.pyplot as plt

import deepsteiner as ds

points = ds.datasets.load("D1", count=1000).points
best = ds.solve_many(points, "exact")
spanning = ds.solve_many(points, "mst")
saving = 100 * (1 - best.lengths / spanning.lengths)
print(f"mean {saving.mean():.2f} %, largest {saving.max():.2f} %")

# %%
# No set of points is known that saves more than 13.4 %, which an equilateral triangle does.

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.hist(saving, bins=40, color="#2b6ca3")
ax.set_xlabel("shorter than the spanning tree, %")
ax.set_ylabel("instances")
