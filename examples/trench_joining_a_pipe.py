"""A trench that joins an existing pipe, and leads around a pond to reach it."""

import numpy as np

import deepsteiner as ds

# Metres; the pipe lies there already and may be joined anywhere for nothing.
pipe = {
    "type": "LineString",
    "coordinates": [[0, 120], [150, 140], [260, 90], [420, 110], [520, 60]],
}
sites = np.array([[60, 20], [110, 240], [230, 210], [300, 10], [380, 220], [470, 180], [500, 0]])
# The pipe runs under the pond; a trench may not.
pond = [(90, 150), (180, 110), (270, 150), (250, 185), (130, 200)]

alone = ds.solve(sites)
joined = ds.solve(sites, existing=pipe)
dry = ds.solve(sites, existing=pipe, obstacles=[pond])
print(f"{alone.length:.1f} m without the pipe, {joined.length:.1f} m of new trench with it")
print(f"{dry.length:.1f} m around the pond, {dry.status}: {len(dry.bends)} bends")
dry.save("trench.svg")
