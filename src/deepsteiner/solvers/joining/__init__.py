"""Trees that join existing networks."""
