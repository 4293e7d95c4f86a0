from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from openenv_gym_protocol.errors import ExecutionError, SessionLost, StepTimeout
from openenv_gym_server.capacity import Capacity
from openenv_gym_server.config import ServerConfig
from openenv_gym_server.contract import Contract
from openenv_gym_server.counters import Counters
from openenv_gym_server.definition import define
from openenv_gym_server.dispatch import Host
from openenv_gym_server.session import Session, SessionState
from openenv_gym_server.workers.base import Job
from openenv_gym_server.workers.inline import InlineWorker

from tests.support.apps.counting import CountAction, CountingEnvironment, CountObservation


class HeldWorker:
    """Keeps its jobs until they are let go."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def submit(self, job: Job) -> None:
        self.jobs.append(job)

    def abandon(self) -> None:
        self.jobs.clear()

    def stack(self) -> str:
        return ""

    def finish(self, last: Job) -> None:
        self.jobs.append(last)


async def opened(worker: Any = None) -> Session:
    contract = Contract(define(CountingEnvironment, CountAction, CountObservation), ServerConfig())
    session = Session(contract, capacity=Capacity(1), socket=True, now=0)
    session.worker = InlineWorker(session.session_id, Counters())
    await session.call(Host.construct, now=0)
    session.worker = worker or session.worker
    session.state = SessionState.OPEN
    return session


def test_ids_cannot_be_guessed_from_each_other() -> None:
    async def scene() -> None:
        ids = {(await opened()).session_id for _ in range(10)}
        assert len(ids) == 10
        assert all(len(session_id) == 36 for session_id in ids)

    asyncio.run(scene())


def test_frames_are_replied_to_in_their_order() -> None:
    async def scene() -> None:
        session = await opened()
        replies: list[str | None] = []
        for frame in ('{"type":"reset"}', '{"type":"state"}', '{"type":"close"}'):
            session.exchange(frame, replies.append)
        assert [None if reply is None else reply[:21] for reply in replies] == [
            '{"type":"observation"',
            '{"type":"state","data',
            None,
        ]

    asyncio.run(scene())


def test_a_call_returns_what_the_work_returned_or_raised() -> None:
    async def fail(host: Host) -> None:
        raise ExecutionError("boom")

    async def break_down(host: Host) -> None:
        raise ZeroDivisionError

    async def scene() -> None:
        session = await opened()
        assert (await session.call(Host.state, now=7))["step_count"] == 0
        assert session.used_at == 7
        for work in (fail, break_down):
            with pytest.raises(ExecutionError):
                await session.call(work, now=7)

    asyncio.run(scene())


def test_who_waits_for_a_lost_session_is_told() -> None:
    async def scene() -> None:
        session = await opened(HeldWorker())
        call = asyncio.ensure_future(session.call(Host.state, now=0))
        await asyncio.sleep(0)
        assert session.busy
        session.lose(StepTimeout("too late"))
        with pytest.raises(StepTimeout):
            await call
        assert not session.busy

    asyncio.run(scene())


@pytest.mark.parametrize("state", [SessionState.CLOSING, SessionState.HUNG, SessionState.CLOSED])
def test_an_ended_session_takes_no_calls_and_replies_nothing(state: SessionState) -> None:
    async def scene() -> None:
        session = await opened()
        session.state = state
        replies: list[Any] = []
        reply: Callable[[str | None], None] = replies.append
        session.exchange('{"type":"state"}', reply)
        assert replies == []
        with pytest.raises(SessionLost):
            await session.call(Host.state, now=0)

    asyncio.run(scene())
