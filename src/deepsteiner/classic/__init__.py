"""Textbook and baseline methods, one module each."""
