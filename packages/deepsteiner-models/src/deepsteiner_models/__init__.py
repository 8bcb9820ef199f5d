"""Trained models as folders of files; `deepsteiner models` lists them."""
