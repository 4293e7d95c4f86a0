from __future__ import annotations

import gc
import logging
import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace
from openenv_gym_protocol.vector import codec
from openenv_gym_protocol.vector.frames import Rows, Values
from openenv_gym_server.vector.parts import Part, ValuesPart, part_of, written_value
from openenv_gym_server.vector.pending import PendingRequest
from openenv_gym_server.vector.shares import Share
from openenv_gym_server.workers.base import Job

MEMBER: Any = object()
ROW = (1, None, written_value("x"), 1.0, 0, None)


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        (Part, replace(part_of([ROW]), rewards=b"")),
        (ValuesPart, ValuesPart(lanes=(1,), values=[])),
    ],
)
def test_an_answer_that_cannot_be_written_is_a_failure_of_its_lanes(
    kind: Any, broken: Any, caplog: pytest.LogCaptureFixture
) -> None:
    sent: list[bytes] = []
    ended: list[PendingRequest] = []

    def end(pending: PendingRequest, frames: Sequence[bytes]) -> None:
        ended.append(pending)
        sent.extend(frames)

    pending = PendingRequest(5, kind, max_bytes=1000, send=sent.append, ended=end)
    share = Share(MEMBER, [1], [0])
    pending.add(share)
    with caplog.at_level(logging.ERROR):
        pending.settle(share, broken)
    (reply,) = [codec.decode_reply(frame) for frame in sent]
    assert isinstance(reply, Rows | Values)
    assert (reply.id, [(told.lane, told.kind) for told in reply.failures]) == (5, [(1, "SessionError")])
    assert ended == [pending]
    assert "could not be written" in caplog.text


def test_the_lanes_that_answered_well_are_answered_all_the_same() -> None:
    sent: list[bytes] = []
    pending = PendingRequest(5, Part, max_bytes=1000, send=sent.append, ended=lambda _, frames: sent.extend(frames))
    share = Share(MEMBER, [1], [0])
    pending.add(share)
    pending.settle(share, ROW)
    (reply,) = [codec.decode_reply(frame) for frame in sent]
    assert isinstance(reply, Rows)
    assert reply.lanes == [1]


def test_what_an_answered_share_held_is_released_without_garbage_collection() -> None:
    sent: list[bytes] = []
    pending = PendingRequest(5, Part, max_bytes=1000, send=sent.append, ended=lambda _, frames: sent.extend(frames))
    share = Share(MEMBER, [1], [0])

    async def work(_: Share = share) -> None:
        """Holds the share, as the work of a step does."""

    share.job = Job(work, partial(pending.answered, share))
    pending.add(share)
    held = weakref.ref(work)
    gc.disable()
    try:
        pending.settle(share, ROW)
        del work, share
        assert held() is None
    finally:
        gc.enable()
    assert len(sent) == 1
