"""One huge instance in tiles: runs of cells along a Hilbert curve, solved on any executor."""
