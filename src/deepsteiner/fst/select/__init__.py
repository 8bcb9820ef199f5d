"""Choosing from a list the full Steiner trees that connect all terminals."""
