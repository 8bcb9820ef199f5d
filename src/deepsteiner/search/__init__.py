"""Searches that work on pieces of an instance with the exact solver's tools."""
