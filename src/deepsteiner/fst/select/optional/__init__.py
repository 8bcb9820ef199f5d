"""Selection of full Steiner trees where some nodes may be left out."""
