"""Who uses a session that outlives sockets, and the fences that make a late close of an earlier owner harmless."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from openenv_gym_protocol.errors import SessionError, SessionLost
from openenv_gym_protocol.tools import CallToolAction, CallToolObservation
from openenv_gym_server.config import ServerConfig
from openenv_gym_server.contract import Contract
from openenv_gym_server.definition import define
from openenv_gym_server.service import Service
from openenv_gym_server.session import Session, SessionState

from tests.support.apps.tools import Counter


def play(work: Callable[[Service], Awaitable[None]]) -> None:
    async def run() -> None:
        service = Service(Contract(define(Counter, CallToolAction, CallToolObservation), ServerConfig()), 8)
        try:
            await work(service)
        finally:
            await service.sessions.shutdown(10)

    asyncio.run(run())


async def stays() -> bool:
    return False


def is_held(session: Session) -> bool:
    return session.socket


def is_open(session: Session) -> bool:
    return session.state is SessionState.OPEN


def test_a_late_detach_of_an_earlier_owner_is_harmless() -> None:
    async def work(service: Service) -> None:
        session = await service.sharing.create(stays)
        first = service.sharing.attach(session.session_id)
        first.detach()
        second = service.sharing.attach(session.session_id)
        first.detach()
        assert is_held(session)
        with pytest.raises(SessionError, match="already has"):
            service.sharing.attach(session.session_id)
        second.detach()
        assert not is_held(session)
        assert is_open(session)

    play(work)


def test_a_late_close_takes_nothing_from_the_owner_of_now() -> None:
    async def work(service: Service) -> None:
        session = await service.sharing.create(stays)
        service.sharing.attach(session.session_id).detach()
        owner = service.sharing.attach(session.session_id)
        assert service.sharing.close(session.session_id) is False
        assert is_open(session)
        owner.detach()
        assert not is_open(session)
        with pytest.raises(SessionError, match="Unknown"):
            service.sharing.attach(session.session_id)

    play(work)


def test_what_was_said_to_a_lost_session_reaches_its_owner_alone() -> None:
    async def work(service: Service) -> None:
        session = await service.sharing.create(stays)
        heard: list[str] = []
        attachment = service.sharing.attach(session.session_id)
        session.on_lost = lambda _: heard.append("first")
        attachment.detach()
        service.sharing.attach(session.session_id)
        session.lose(SessionError("over"))
        assert heard == []

    play(work)


def test_a_session_of_a_socket_is_neither_lent_nor_closed() -> None:
    async def work(service: Service) -> None:
        session = await service.sessions.open(socket=True)
        with pytest.raises(SessionError, match="already has"):
            service.sharing.attach(session.session_id)
        assert service.sharing.close(session.session_id) is False
        assert is_open(session)

    play(work)


def test_a_listening_agent_keeps_a_session_and_lets_it_be_attached_and_closed() -> None:
    async def work(service: Service) -> None:
        session = await service.sharing.create(stays)
        with service.sharing.streaming(session), service.sharing.streaming(session):
            assert is_held(session)
            service.sharing.attach(session.session_id).detach()
            assert is_held(session)
        assert not is_held(session)
        with service.sharing.streaming(session):
            assert service.sharing.close(session.session_id) is True
        await session.ended.wait()

    play(work)


def test_a_session_may_have_a_second_name_for_a_time() -> None:
    async def work(service: Service) -> None:
        session = await service.sharing.create(stays)
        service.sharing.name("mcp", session)
        assert service.sharing.find("mcp") is session
        with pytest.raises(SessionError, match="already has"):
            service.sharing.attach("mcp") and service.sharing.attach(session.session_id)
        service.sharing.forget("mcp")
        with pytest.raises(SessionLost):
            service.sharing.find("mcp")

    play(work)


def test_a_session_whose_socket_broke_ends_unless_an_agent_has_it() -> None:
    async def work(service: Service) -> None:
        left, listened, aliased = [await service.sharing.create(stays) for _ in range(3)]
        service.sharing.attach(left.session_id).detach(is_lost=True)
        assert not is_open(left)
        with service.sharing.streaming(listened):
            service.sharing.attach(listened.session_id).detach(is_lost=True)
            assert is_open(listened)
        service.sharing.name("of an agent", aliased)
        service.sharing.attach(aliased.session_id).detach(is_lost=True)
        assert is_open(aliased)

    play(work)
