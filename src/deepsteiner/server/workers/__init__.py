"""The pool of worker processes, and what each of them does.

- `pool`, `jobs`: the queue, whose turn it is, and a request on its way to its answer
- `processes`: worker processes as the server sees them: started, watched, ended, replaced
- `frames`: the bytes that go between the server and a worker
- `worker`: a worker process as it sees itself
- `tasks`, `traces`: what a solver does: solve, trace, read, export
- `clerk`: the process that checks large bodies and makes samples
"""
