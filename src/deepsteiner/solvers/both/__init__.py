"""Trees that keep out of obstacles and join existing networks."""
