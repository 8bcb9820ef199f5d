"""Proven shortest trees: full Steiner trees are generated, pruned and concatenated."""
