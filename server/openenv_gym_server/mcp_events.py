"""What was sent on MCP's streams lately, for clients that come back for what they missed."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCMessage

_MAX_EVENTS = 4096

_owner: ContextVar[str] = ContextVar("openenv_gym_mcp_owner", default="")


@contextmanager
def owning(owner: str) -> Iterator[None]:
    """Whose streams the SDK writes and replays inside the block, and in the tasks that it starts there."""
    token = _owner.set(owner)
    try:
        yield
    finally:
        _owner.reset(token)


class RecentEvents(EventStore):
    """Keeps the last events of all streams.

    The SDK's names of streams are those of a client's requests, and equal in all its sessions: whose a stream is, its
    owner tells. Nobody is sent what another one's streams had.

    Args:
        max_events: How many events are kept.
    """

    def __init__(self, max_events: int = _MAX_EVENTS) -> None:
        self._events: OrderedDict[str, tuple[tuple[str, str], JSONRPCMessage | None]] = OrderedDict()
        self._max_events = max_events

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keeps an event and names it."""
        event_id = uuid.uuid4().hex
        self._events[event_id] = ((_owner.get(), stream_id), message)
        while len(self._events) > self._max_events:
            self._events.popitem(last=False)
        return event_id

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Sends what followed an event on its stream.

        Returns:
            The stream, or None where the event is not known any more.
        """
        stream, _ = self._events.get(last_event_id, (None, None))
        if stream is None or stream[0] != _owner.get():
            return None
        events = list(self._events.items())
        start = next(number for number, (event_id, _) in enumerate(events) if event_id == last_event_id) + 1
        for event_id, (other, message) in events[start:]:
            if other == stream and message is not None:
                await send_callback(EventMessage(message, event_id))
        return stream[1]
