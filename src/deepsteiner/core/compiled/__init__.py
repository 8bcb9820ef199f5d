"""Compiled kernels as files: what they were made from, the cache, and those that are prebuilt.

Nothing here knows numba; `core/jit.py` does.
"""
