"""The playground: a web server that solves in worker processes, and the page it serves.

- `app`: the routes; `create_app` puts everything together
- `schemas`: what a request may contain
- `guard`: headers, hosts, and bodies that are too large or too slow
- `pool`: the queue and the worker processes, seen from the server
- `worker`: a worker process, seen from inside
- `tasks`: what a worker does: solve, trace, read, export
- `web`: uvicorn as we run it
- `run`: the command: a socket, the workers, the server
"""
