"""A wireless network: connect the sites, then place relays so that no hop is too long."""

import numpy as np

import deepsteiner as ds

sites = np.random.default_rng(3).random((25, 2)) * 10  # kilometres
tree = ds.solve(sites)
network = tree.with_max_edge(1.0)
print(f"{len(tree.steiner_points)} junctions, {network.info['relays']} relays")
print(f"longest hop {network.edge_lengths().max():.3f} km, total {network.length:.2f} km")
