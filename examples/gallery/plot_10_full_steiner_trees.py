"""
What a proof chooses from
=========================

The list of full Steiner trees that geometry leaves, and the ones that the shortest tree takes.
"""

import matplotlib.pyplot as plt
import numpy as np

import deepsteiner as ds

points = np.random.default_rng(9).random((25, 2))
tree = ds.solve(points, "exact", trace=True)
listed = tree.info["trace"][0]["trees"]
print(len(listed), "full Steiner trees, the largest of", max(len(t["terminals"]) for t in listed))

# %%

figure, ax = plt.subplots(figsize=(6, 6), layout="constrained")
for one in listed:
    nodes = np.array([points[k] for k in one["terminals"]] + one["steiner_points"])
    for a, b in one["edges"]:
        ax.plot(*nodes[[a, b]].T, color="#9aa3ad", linewidth=0.7)
tree.plot(ax=ax)
