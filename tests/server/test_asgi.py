from __future__ import annotations

import asyncio
import logging

import pytest
from openenv_gym_server.asgi import ended, frame_of

from tests.support.log_records import records_of_ours


def test_a_frame_is_text_or_bytes_as_it_was_sent() -> None:
    assert frame_of({"type": "websocket.receive", "text": "a", "bytes": None}) == "a"
    assert frame_of({"type": "websocket.receive", "bytes": b"a"}) == b"a"


@pytest.mark.parametrize(("fault", "is_logged"), [(None, False), (OSError("broken"), False), (ValueError("bug"), True)])
def test_only_a_fault_of_the_server_is_logged_at_a_connections_end(
    fault: Exception | None, is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        if fault is not None:
            raise fault
        await asyncio.Event().wait()

    async def serve() -> bool:
        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        await ended(task)
        return task.done()

    with caplog.at_level(logging.ERROR):
        assert asyncio.run(serve())
    assert bool(records_of_ours(caplog)) is is_logged
