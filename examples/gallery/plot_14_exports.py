"""
To networkx, and through the tree
=================================

The tree as a graph: where it would hurt most if an edge failed. Needs ``deepsteiner[geo]``.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import deepsteiner as ds

tree = ds.solve(np.random.default_rng(11).random((40, 2)))
graph = tree.to_networkx()
load = nx.edge_betweenness_centrality(graph)
busiest = max(load, key=load.get)
print("busiest edge", busiest, f"is on {100 * load[busiest]:.0f} % of all ways")

# %%

figure, ax = plt.subplots(figsize=(6, 6), layout="constrained")
places = nx.get_node_attributes(graph, "pos")
nx.draw_networkx_edges(
    graph, places, ax=ax, width=[1 + 12 * load[edge] for edge in graph.edges], edge_color="#2b6ca3"
)
nx.draw_networkx_nodes(graph, places, ax=ax, node_size=14, node_color="#16181c")
ax.set_aspect("equal")
ax.set_axis_off()
