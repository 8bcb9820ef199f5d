"""What lies in the plane besides the points, as solutions keep it."""
