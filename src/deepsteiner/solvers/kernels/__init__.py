"""Kernels of the textbook methods."""
