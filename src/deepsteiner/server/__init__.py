"""The playground: a web server that solves in worker processes, and the page it serves.

- `app`: the routes; `create_app` puts everything together
- `guard`: who may ask (hosts, origins, the size a body announces), and what every answer carries
- `refusals`: one sentence for everything that is refused
- `limits`, `options`: what a request may cost, and which options it may set
- `intake`: from a request's bytes to a checked order
- `workers`: the pool of processes and what each of them does
- `manual`: the page at /docs, made from the OpenAPI description and its examples
- `web`: uvicorn as we run it; how long and how many connections may wait
- `run`: the command: a socket, the workers, the server
"""
