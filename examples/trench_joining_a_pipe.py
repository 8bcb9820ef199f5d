"""A trench that joins an existing pipe: new sites reach it wherever that is shortest."""

import numpy as np

import deepsteiner as ds

# Metres; the pipe lies there already and may be joined anywhere for nothing.
pipe = {
    "type": "LineString",
    "coordinates": [[0, 120], [150, 140], [260, 90], [420, 110], [520, 60]],
}
sites = np.array([[60, 20], [110, 240], [230, 210], [300, 10], [380, 220], [470, 180], [500, 0]])

alone = ds.solve(sites)
joined = ds.solve(sites, existing=pipe)
print(f"{alone.length:.1f} m without the pipe, {joined.length:.1f} m of new trench with it")
joined.save("trench.svg")
