"""
A map of cities
===============

Longitudes and latitudes in, metres out. The points are projected, solved in a plane around them,
and returned in degrees.
"""

import matplotlib.pyplot as plt

import deepsteiner as ds

cities = {
    "Vienna": (16.37, 48.21),
    "Graz": (15.44, 47.07),
    "Linz": (14.29, 48.31),
    "Salzburg": (13.05, 47.80),
    "Innsbruck": (11.40, 47.27),
    "Klagenfurt": (14.31, 46.62),
    "Bregenz": (9.75, 47.50),
    "St. Pölten": (15.63, 48.20),
    "Eisenstadt": (16.53, 47.85),
}
tree = ds.solve(list(cities.values()), crs="EPSG:4326")
print(f"{tree.length / 1000:.0f} km, {tree.status}")

# %%
# The axes are matplotlib's: add what you like.

figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
tree.plot(ax=ax)
for name, (longitude, latitude) in cities.items():
    ax.annotate(name, (longitude, latitude), xytext=(5, 5), textcoords="offset points")
