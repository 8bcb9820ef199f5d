"""Spanning trees, triangulations, candidate points, relaxation and refinement."""
