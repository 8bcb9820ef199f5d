"""Complete lists in tiles: generation is local, so parts of it run where there is room."""
