"""Small full Steiner trees that neighbours form: quick lists, without a promise."""
