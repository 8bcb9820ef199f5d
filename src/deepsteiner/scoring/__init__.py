"""Scores of full Steiner trees: what the network sees, its weights, labels and training."""
