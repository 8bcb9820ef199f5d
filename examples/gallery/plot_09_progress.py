"""
Watching a proof
================

``on_progress`` hears of every phase. Here the bound of the linear programme climbs to the length
of the tree.
"""

import matplotlib.pyplot as plt
import numpy as np

import deepsteiner as ds

points = np.random.default_rng(3).random((60, 2))
tree = ds.solve(points, "exact", trace=True)
rounds = [step for step in tree.info["trace"] if step["stage"] == "round"]

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.plot([step["value"] for step in rounds], "o-", color="#2b6ca3", label="bound")
ax.plot([step["length"] for step in rounds], "s-", color="#c2571a", label="best tree so far")
ax.set_xlabel("round of the linear programme")
ax.set_ylabel("length")
ax.legend()

# %%
# While a solve runs, the same figures come through ``on_progress``.

phases: list[str] = []
ds.solve(points, "exact", on_progress=lambda one: phases.append(one.phase))
print(sorted(set(phases)))
