"""The list of full Steiner trees: enumerated, stored, and selected from."""
