"""Methods of the literature, one module each."""
