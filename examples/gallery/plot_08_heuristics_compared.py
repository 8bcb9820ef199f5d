"""
Heuristics compared
===================

The gap of the classical heuristics, and of ours, on two hundred instances of twenty points.
"""

import matplotlib.pyplot as plt

import deepsteiner as ds

points = ds.datasets.load("D2", count=200).points
best = ds.solve_many(points, "exact").lengths
names = ["mst", "thompson", "dreyer", "smith", "greedy", "local", "neural"]
gaps = [100 * (ds.solve_many(points, name).lengths / best - 1) for name in names]
for name, gap in zip(names, gaps, strict=True):
    print(f"{name:9} mean {gap.mean():.4f} %  worst {gap.max():.2f} %")

# %%

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.boxplot(gaps, tick_labels=names, whis=(0, 100), medianprops={"color": "#c2571a"})
ax.set_yscale("symlog", linthresh=0.01)
ax.set_ylabel("above the optimum, %")
