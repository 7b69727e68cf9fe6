"""Whether the other side of a connection is still there, for as long as nothing is read from it or written to it.

A server that holds a client up, because an upstream takes no more, does not read; and who does not read is not told that
the client has gone.
"""

import asyncio
import select

from uvicorn.protocols.http.flow_control import FlowControl

LOOK_SECONDS = 0.5
"""Between two looks at a client from which nothing is read."""
STALLED_SECONDS = 300.0
"""How long a client may take nothing of its answer."""

_LEFT = getattr(select, "POLLRDHUP", 0)
"""Told by Linux where the other side has closed; a connection that broke is told everywhere."""


class WatchfulFlow(FlowControl):
    """Ends a connection that is held up and whose client has gone, or has stopped taking its answer."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop):
        super().__init__(transport)
        self._loop = loop
        self._looking: asyncio.TimerHandle | None = None
        self._stalling: asyncio.TimerHandle | None = None

    def pause_reading(self) -> None:
        """Read no more; from now on the client is looked at."""
        super().pause_reading()
        if self._looking is None:
            self._looking = self._loop.call_later(LOOK_SECONDS, self._look)

    def pause_writing(self) -> None:
        """The client takes its answer more slowly than it comes."""
        super().pause_writing()
        if self._stalling is None:
            self._stalling = self._loop.call_later(STALLED_SECONDS, self._transport.abort)

    def resume_writing(self) -> None:
        """The client has taken some of it."""
        super().resume_writing()
        if self._stalling is not None:
            self._stalling.cancel()
            self._stalling = None

    def end(self) -> None:
        """The connection is over."""
        self.resume_writing()
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def _look(self) -> None:
        # started anew only where it is needed: a pause is mostly shorter than the time between two looks
        self._looking = None
        if not self.read_paused or self._transport.is_closing():
            return
        if has_left(self._transport):
            self._transport.abort()
        else:
            self._looking = self._loop.call_later(LOOK_SECONDS, self._look)


def has_left(transport: asyncio.BaseTransport) -> bool:
    """Whether the other side has closed the connection, whatever still lies unread before that."""
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), _LEFT)
    return bool(poll.poll(0))
