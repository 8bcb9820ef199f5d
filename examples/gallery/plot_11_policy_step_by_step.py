"""
The learned policy
==================

One step of the Deep-Steiner policy: every candidate coloured by how likely the network finds it.
Needs ``deepsteiner[learn]``.
"""

import matplotlib.pyplot as plt
import numpy as np

import deepsteiner as ds

points = np.random.default_rng(5).random((8, 2))
tree = ds.solve(points, "policy", trace=True)

figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
ds.solve(points, "mst").plot(ax=ax)
first = tree.info["trace"][0]
drawn = ax.scatter(
    *np.array(first["candidates"]).T, c=first["probabilities"], s=18, cmap="viridis_r", zorder=5
)
ax.plot(*first["chosen"], "o", markersize=14, markerfacecolor="none", markeredgecolor="#c2571a")
ax.set_title(f"step 1 of {len(tree.info['trace'])}", loc="right")
figure.colorbar(drawn, ax=ax, label="probability")
