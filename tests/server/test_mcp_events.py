"""What a client of MCP missed is sent again, to it alone, as long as it is kept."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.server.streamable_http import EventMessage
from mcp_types import JSONRPCNotification
from openenv_gym_server.mcp_events import RecentEvents, owning


def message(number: int) -> JSONRPCNotification:
    return JSONRPCNotification(jsonrpc="2.0", method=f"n{number}")


async def replayed(events: RecentEvents, last: str) -> tuple[str | None, list[tuple[str | None, str]]]:
    sent: list[tuple[str | None, str]] = []

    async def note(event: EventMessage) -> None:
        told: Any = event.message
        sent.append((event.event_id, told.method))

    return await events.replay_events_after(last, note), sent


def test_what_followed_on_the_same_stream_is_sent_again() -> None:
    async def play() -> None:
        events = RecentEvents()
        with owning("one"):
            first = await events.store_event("1", None)
            second = await events.store_event("1", message(2))
            await events.store_event("2", message(3))
            third = await events.store_event("1", message(4))
            assert await replayed(events, first) == ("1", [(second, "n2"), (third, "n4")])
            assert await replayed(events, third) == ("1", [])

    asyncio.run(play())


def test_another_owners_stream_of_the_same_name_is_not_sent() -> None:
    async def play() -> None:
        events = RecentEvents()
        with owning("one"):
            mine = await events.store_event("1", None)
        with owning("two"):
            await events.store_event("1", message(1))
            assert await replayed(events, mine) == (None, [])
        with owning("one"):
            assert await replayed(events, mine) == ("1", [])

    asyncio.run(play())


def test_the_oldest_are_forgotten() -> None:
    async def play() -> None:
        events = RecentEvents(max_events=2)
        ids = [await events.store_event("1", message(number)) for number in range(3)]
        assert await replayed(events, ids[0]) == (None, [])
        assert (await replayed(events, ids[1]))[1] == [(ids[2], "n2")]

    asyncio.run(play())
