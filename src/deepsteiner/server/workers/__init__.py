"""The pool of worker processes, and what each of them does."""
