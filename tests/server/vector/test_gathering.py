from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from openenv_gym_protocol.vector import codec
from openenv_gym_protocol.vector.frames import Rows
from openenv_gym_server.vector.gathering import Gathering
from openenv_gym_server.vector.parts import Part, Row, written_value
from openenv_gym_server.vector.pending import PendingRequest
from openenv_gym_server.vector.shares import Share

MEMBER: Any = object()
SECONDS = 30.0


class Asked:
    """A request to some lanes, whose frames are kept."""

    def __init__(self, count: int) -> None:
        self.frames: list[bytes] = []
        self.has_ended = asyncio.Event()
        self.has_sent = asyncio.Event()
        self.pending = PendingRequest(1, Part, max_bytes=10_000, send=self._send, ended=self._end)
        self.shares = [Share(MEMBER, [lane], [lane]) for lane in range(count)]
        for share in self.shares:
            self.pending.add(share)

    @property
    def lanes(self) -> list[list[int]]:
        replies = [codec.decode_reply(frame) for frame in self.frames]
        return [reply.lanes for reply in replies if isinstance(reply, Rows)]

    def _send(self, frame: bytes) -> None:
        self.frames.append(frame)
        self.has_sent.set()

    def _end(self, _: PendingRequest, frames: Sequence[bytes]) -> None:
        self.frames += frames
        self.has_ended.set()


def row(lane: int) -> Row:
    return lane, None, written_value("x"), 1.0, 0, None


def played(count: int, play: Callable[[Asked, Gathering], Any]) -> Asked:
    async def run() -> Asked:
        asked = Asked(count)
        gathering = Gathering(asked.pending, count)
        async with asyncio.timeout(SECONDS):
            await play(asked, gathering)
            await asked.has_ended.wait()
        return asked

    return asyncio.run(run())


def test_quick_answers_of_many_threads_come_in_one_frame_and_wake_the_loop_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    woken = []

    async def play(asked: Asked, gathering: Gathering) -> None:
        loop = asyncio.get_running_loop()
        wake = loop.call_soon_threadsafe

        def note(call: Callable[[], None]) -> None:
            woken.append(call)
            wake(call)

        monkeypatch.setattr(loop, "call_soon_threadsafe", note)
        with ThreadPoolExecutor(8) as threads:
            # The loop waits for the threads, so that none of them is late.
            list(threads.map(lambda share: gathering.put(share, row(share.lanes[0])), asked.shares))

    asked = played(8, play)
    (lanes,) = asked.lanes
    assert sorted(lanes) == list(range(8))
    assert len(woken) == 1


def test_a_late_lane_keeps_no_other_waiting() -> None:
    async def play(asked: Asked, gathering: Gathering) -> None:
        gathering.put(asked.shares[0], row(0))
        await asked.has_sent.wait()
        assert asked.lanes == [[0]]
        gathering.put(asked.shares[1], row(1))

    assert played(2, play).lanes == [[0], [1]]


def test_lanes_that_are_all_late_are_answered_when_each_comes() -> None:
    async def play(asked: Asked, gathering: Gathering) -> None:
        await asyncio.sleep(0.05)  # longer than is waited for: from now on each answer wakes the loop
        gathering.put(asked.shares[0], row(0))
        await asked.has_sent.wait()
        gathering.put(asked.shares[1], row(1))

    assert played(2, play).lanes == [[0], [1]]


def test_what_was_dropped_is_answered_by_nobody_else() -> None:
    async def play(asked: Asked, gathering: Gathering) -> None:
        asked.pending.give_up("enough")
        gathering.put(asked.shares[0], None)
        gathering.put(asked.shares[1], None)

    asked = played(2, play)
    (reply,) = [codec.decode_reply(frame) for frame in asked.frames]
    assert isinstance(reply, Rows)
    assert [(told.lane, told.kind, told.lost) for told in reply.failures] == [
        (0, "StepTimeout", False),
        (1, "StepTimeout", False),
    ]
