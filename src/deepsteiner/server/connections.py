"""Connections: how many there may be, and how long each may keep the server waiting.

A connection waits for a request's head, sends a body that was refused, is served, or takes its
answer. All but being served is the client's time, and it is limited for every request, the first
as the hundredth. Where there are too many connections, the one that has sent nothing for longest
makes way for a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from .limits import Limits
from .logs import LogBudget
from .refusals import Refusal, last_answer

if TYPE_CHECKING:
    from .web import Protocol

Phase = Literal["head", "drain", "answer", "served"]
# How often connections are looked at.
SWEEP_SECONDS = 0.5
# Without descriptors for another connection, the next attempt comes after a pause: a short one
# where a connection has been ended for it.
PAUSE_SECONDS = 0.2
CLOSING_SECONDS = 0.01
# A client that is still sending a refused body gets so long. Closing at once would reset the
# connection, and the sentence that says why would be lost.
DRAIN_SECONDS = 5.0


class Doorman:
    """Accepts connections and ends those that take too long."""

    def __init__(
        self, listener: socket.socket, connections: set[Any], limits: Limits, log: LogBudget
    ) -> None:
        self._listener = listener
        self._connections: set[Protocol] = connections
        self._limits = limits
        self._log = log
        self._seconds: dict[Phase, float] = {
            "head": limits.head_seconds,
            "drain": DRAIN_SECONDS,
            "answer": limits.answer_seconds,
        }

    async def accept(self, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        """Accept connections for as long as the server runs."""
        loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError as error:  # above all: no descriptors left
                self._log.write(f"cannot accept a connection: {error.strerror or error}")
                ended = self._end_longest_waiting()
                await asyncio.sleep(CLOSING_SECONDS if ended else PAUSE_SECONDS)
                continue
            full = len(self._connections) >= self._limits.connections
            if full and not self._end_longest_waiting():
                self._turn_away(connection)
                continue
            with contextlib.suppress(OSError):  # gone already
                await loop.connect_accepted_socket(protocol, connection)

    async def watch(self) -> None:
        """Look at all connections every now and then."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            self.sweep(time.monotonic())

    def sweep(self, now: float) -> None:
        """End the connections whose time is over, and those that hold too much unread."""
        for connection in list(self._connections):
            phase, since = connection.phase(now)
            if now - since > self._seconds.get(phase, float("inf")):
                connection.transport.abort()
        unread = {one: one.transport.get_write_buffer_size() for one in self._connections}
        excess = sum(unread.values()) - self._limits.waiting_bytes
        for connection in sorted(unread, key=lambda one: -unread[one]):
            if excess <= 0:
                break
            excess -= unread[connection]
            connection.transport.abort()

    def _end_longest_waiting(self) -> bool:
        """End the connection that has sent no request for longest, and say whether there is one."""
        now = time.monotonic()
        waiting = [
            (since, connection)
            for connection in self._connections
            for phase, since in [connection.phase(now)]
            if phase == "head" and not connection.transport.is_closing()
        ]
        if waiting:
            min(waiting, key=lambda one: one[0])[1].transport.abort()
        return bool(waiting)

    def _turn_away(self, connection: socket.socket) -> None:
        """Say that there is no room, as far as that can be said without waiting."""
        sentence = f"all {self._limits.connections} connections are in use; try again soon"
        with connection, contextlib.suppress(OSError):
            connection.send(last_answer(Refusal(503, sentence, {"retry-after": "1"})))
