"""Datasets x methods -> result rows -> tables, figures and a report beside the paper's numbers."""
