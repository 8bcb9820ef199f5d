"""The plane with obstacles in it: shapes, what sees what, and shortest ways around."""
