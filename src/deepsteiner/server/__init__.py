"""The playground: a web server that solves in worker processes, and the page it serves.

- `app`: the routes; `create_app` puts everything together
- `guard`: headers, hosts and origins
- `intake`: from a request's bytes to a checked order
- `pool`, `line`: the queue, whose turn it is, and who works
- `processes`: worker processes, seen from the server
- `worker`: a worker process, seen from inside
- `tasks`: what a worker does: solve, trace, read, export
- `clerk`: the process that checks large bodies and makes samples
- `web`, `connections`: uvicorn as we run it; how long and how many connections may wait
- `run`: the command: a socket, the workers, the server
"""
