"""Compiled kernels as files: what they were made from, the cache, and those that are prebuilt.

Of what is here only `parts.py` and `counting.py` know numba: how kernels are made that call others.
"""
