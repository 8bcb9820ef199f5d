"""
Relays for a wireless network
=============================

Connect the sites, then place relays so that no hop is longer than the radio reaches.
"""

import numpy as np

import deepsteiner as ds
from deepsteiner.viz.plot import compare

sites = np.random.default_rng(3).random((20, 2)) * 10  # kilometres
tree = ds.solve(sites)
networks = [tree.with_max_edge(reach) for reach in (2.0, 1.0, 0.5)]

reached = [(one.info["max_edge"], one.info["relays"]) for one in networks]
titles = [f"reach {reach} km\n{relays} relays" for reach, relays in reached]
figure = compare(networks, columns=3, titles=titles)
