from __future__ import annotations

import asyncio

import pytest
from openenv_gym_protocol.errors import ClientClosed, ConnectionLost

from openenv_gym.client.inbox import Inbox


def test_frames_are_read_in_order_and_before_the_end() -> None:
    async def main() -> None:
        inbox = Inbox()
        inbox.frame_received("one")
        inbox.frame_received("two")
        inbox.connection_lost(ConnectionLost("gone"))
        assert [await inbox.next(1), await inbox.next(1)] == ["one", "two"]
        with pytest.raises(ConnectionLost):
            await inbox.next(1)

    asyncio.run(main())


def test_a_waiting_reader_is_woken_by_a_frame() -> None:
    async def main() -> None:
        inbox = Inbox()
        asyncio.get_running_loop().call_soon(inbox.frame_received, "frame")
        assert await inbox.next(None) == "frame"

    asyncio.run(main())


def test_a_waiting_reader_is_woken_by_the_end_and_told_the_first_reason() -> None:
    async def main() -> None:
        inbox = Inbox()
        loop = asyncio.get_running_loop()
        loop.call_soon(inbox.connection_lost, ClientClosed("closed"))
        loop.call_soon(inbox.connection_lost, ConnectionLost("gone"))
        with pytest.raises(ClientClosed):
            await inbox.next(None)

    asyncio.run(main())


def test_nothing_in_time_is_a_time_out() -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            await Inbox().next(0.01)

    asyncio.run(main())
