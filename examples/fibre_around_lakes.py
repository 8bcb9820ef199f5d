"""A fibre plan around lakes: villages and lakes from GeoJSON, the trench keeps off the shore."""

import json
from pathlib import Path

import deepsteiner as ds

folder = Path(__file__).parent / "shapes"
villages = ds.load_points(folder / "villages.geojson")
lakes = json.loads((folder / "lakes.geojson").read_text())

straight = ds.solve(villages)
plan = ds.solve(villages, obstacles=lakes, clearance=50)
print(f"{straight.length / 1000:.2f} km through the water")
print(f"{plan.length / 1000:.2f} km around {len(plan.obstacles)} lakes, {plan.status}")
moved = plan.with_points(remove=[0])
print(f"{moved.length / 1000:.2f} km without the first village")
plan.save("fibre.svg")
plan.save("fibre.geojson")
