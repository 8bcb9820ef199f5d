"""Errors, points, solutions and the geometry kernels that every method shares."""
