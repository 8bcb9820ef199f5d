"""Pictures of points and solutions: matplotlib figures and a light SVG for notebooks."""
