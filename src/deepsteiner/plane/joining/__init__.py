"""Existing networks among obstacles: where they can be joined, and the ways there."""
