"""Cutting planes and branching on what is too wide for dynamic programmes."""
