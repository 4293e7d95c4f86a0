from __future__ import annotations

import asyncio

import pytest
from openenv_gym_server.asgi import Message
from openenv_gym_server.sockets.over_asgi import AsgiSocket

from tests.support.log_records import records_of_ours


class Silent:
    """A conversation that hears nothing."""

    is_busy = False

    def __init__(self) -> None:
        self.ends = 0

    def receive(self, frame: str | bytes) -> None:
        raise AssertionError(frame)

    def sent(self, frame: str | bytes) -> None:
        raise AssertionError(frame)

    def end(self) -> None:
        self.ends += 1

    async def finish(self) -> None:
        await asyncio.sleep(0)  # whoever writes has its turn


@pytest.mark.parametrize("left", ["an answer", 1000])
def test_what_is_left_for_a_client_that_has_gone_is_no_fault(left: str | int, caplog: pytest.LogCaptureFixture) -> None:
    async def gone() -> Message:
        return {"type": "websocket.disconnect", "code": 1006}

    async def refuse(message: Message) -> None:
        # As uvicorn does where its older implementation of WebSockets serves.
        raise RuntimeError(f"Unexpected ASGI message {message['type']!r}.")

    async def act() -> None:
        socket, talk = AsgiSocket(gone, refuse), Silent()
        serving = asyncio.ensure_future(socket.serve(talk))
        await asyncio.sleep(0)
        if isinstance(left, int):
            socket.close(left)
        else:
            socket.send(left)
        await serving
        assert talk.ends == 1

    asyncio.run(act())
    assert not records_of_ours(caplog)
    assert "Unexpected ASGI message" not in caplog.text
