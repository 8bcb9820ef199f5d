"""From the bytes of a request to a checked order for a worker.

- `body`: the bytes, as they arrive: how many, how slowly, and where they are checked
- `json_values`: JSON, and arrays of number pairs out of it
- `schemas`: the fields of every request, for the checks and the documentation
- `systems`: which coordinate reference systems a request may name
- `checks`: all of that together; the first error ends it
"""
