"""A policy network that sees distances instead of coordinates."""
