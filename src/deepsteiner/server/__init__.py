"""The playground: a web server that solves in worker processes, and the page it serves.

- `app`: the routes; `create_app` puts everything together
- `guard`: who may ask: hosts, origins, and the size a body announces
- `refusals`, `errors`: one sentence for everything that is refused, and the answer made of it
- `limits`, `options`: what a request may cost, and which options it may set
- `intake`: from a request's bytes to a checked order
- `workers`: the pool of processes and what each of them does
- `manual`, `examples`: the page at /docs, made from the OpenAPI description
- `web`, `connections`: uvicorn as we run it; how long and how many connections may wait
- `run`: the command: a socket, the workers, the server
"""
