"""
Around obstacles
================

Edges keep out of polygons and turn at their corners; ``clearance`` keeps a distance. Small
diamonds are the corners in use.
"""

import numpy as np
from shapely.geometry import Point, box

import deepsteiner as ds
from deepsteiner.viz.plot import compare

lake = Point(0.5, 0.5).buffer(0.22)
park = box(0.1, 0.62, 0.34, 0.9)
xs, ys = (0.05, 0.95, 0.9, 0.5, 0.05, 0.15), (0.1, 0.1, 0.95, 0.9, 0.95, 0.4)
points = np.column_stack((xs, ys))
free = ds.solve(points)
dry = ds.solve(points, obstacles=[lake, park])
wide = ds.solve(points, obstacles=[lake, park], clearance=0.05)

trees = {"free": free, "around both": dry, "with clearance": wide}
titles = [f"{name}\n{tree.length:.4f}, {tree.status}" for name, tree in trees.items()]
figure = compare(list(trees.values()), columns=3, titles=titles)
