"""Relays on a campus: buildings block radio, and no hop may be longer than 60 m."""

import json
from pathlib import Path

import numpy as np

import deepsteiner as ds

campus = json.loads((Path(__file__).parent / "shapes" / "campus.json").read_text())
sensors = np.array(campus["sensors"])  # metres

in_the_open = ds.place_relays(sensors, radius=60)
network = ds.place_relays(sensors, radius=60, obstacles=campus["buildings"])
print(f"without buildings: {in_the_open.count} relays, at least {in_the_open.lower_bound}")
print(f"between buildings: {network.count} relays, longest hop {network.hops.max():.1f} m")
print(f"the shortest tree, cut into hops, takes {network.info['from_shortest_tree']}")
network.save("campus.svg")
