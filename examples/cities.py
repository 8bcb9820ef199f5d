"""Longitudes and latitudes in, metres and GeoJSON out (needs deepsteiner[geo])."""

from pathlib import Path

import deepsteiner as ds

cities = ds.load_points(Path(__file__).with_name("cities.geojson"))
tree = ds.solve(cities)
print(f"{tree.length / 1000:.1f} km connect {len(cities)} cities, {tree.status}")
print(f"{len(tree.to_geojson()['features'])} GeoJSON features")
