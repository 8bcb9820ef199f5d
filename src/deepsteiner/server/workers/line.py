"""A waiting line that is fair: clients take turns, however many requests each of them sends."""

from __future__ import annotations

from collections import deque

from .jobs import Job


class Line:
    """Jobs that wait, by client; whose turn it was goes to the end."""

    def __init__(self) -> None:
        self.bytes = 0
        self._clients: dict[str, deque[Job]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._clients.values()))

    def __contains__(self, job: Job) -> bool:
        return job in self._clients.get(job.client, ())

    def add(self, job: Job) -> None:
        """Let a job wait behind its client's others."""
        self._clients.setdefault(job.client, deque()).append(job)
        self.bytes += job.size

    def first(self) -> Job:
        """Return the job whose turn it is."""
        return next(iter(self._clients.values()))[0]

    def pop(self) -> Job:
        """Take the job whose turn it is; its client's next one waits for the other clients'."""
        job = self.first()
        self.remove(job)
        if job.client in self._clients:
            self._clients[job.client] = self._clients.pop(job.client)
        return job

    def remove(self, job: Job) -> None:
        """Take a job out."""
        jobs = self._clients[job.client]
        jobs.remove(job)
        self.bytes -= job.size
        if not jobs:
            del self._clients[job.client]

    def crowding_out(self, client: str) -> Job | None:
        """Return the job that makes way for one of `client`: the last of who has more waiting."""
        own = len(self._clients.get(client, ()))
        longest = max(self._clients.values(), key=len, default=deque())
        return longest[-1] if len(longest) > own + 1 else None
