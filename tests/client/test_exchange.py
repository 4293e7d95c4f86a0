"""What takes the shortcut ends as what takes the coroutine."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.client_session import SessionState
from openenv_gym_protocol.messages import ObservationReply, Reply, Request, ResetRequest, StepRequest

from openenv_gym.client.channel import Channel
from openenv_gym.client.exchange import Exchange
from openenv_gym.transports.address import websocket_url
from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.websocket import open_websocket
from tests.support.scripted_server import PATIENCE, ScriptedServer, Session, scripted_server

STEP = StepRequest(data={"action": 1})


def channel_to(server: ScriptedServer) -> Channel:
    return Channel(websocket_url(server.base_url), ConnectionOptions(), open_websocket)


def exchange(channel: Channel, request: Request = STEP, timeout: float | None = PATIENCE) -> Exchange[Reply]:
    return Exchange(channel, lambda: (request, timeout), lambda reply: reply)


async def settled(work: Exchange[Any]) -> Any:
    """What an exchange that begins settles with."""
    future = asyncio.get_running_loop().create_future()
    assert work.begin(future.set_result)
    return await asyncio.wait_for(future, PATIENCE)


def test_a_reply_is_read_and_the_next_call_may_follow() -> None:
    async def main(server: ScriptedServer) -> None:
        channel = channel_to(server)
        assert not exchange(channel).begin(print), "nothing is connected yet"
        await channel.call(ResetRequest(), PATIENCE)
        for _ in range(2):
            assert isinstance(await settled(exchange(channel)), ObservationReply)
        await channel.call(STEP, PATIENCE)
        await channel.close()

    with scripted_server() as server:
        asyncio.run(main(server))
        sent = [message["type"] for _, message in server.all_received()]
    assert sent == ["reset", "step", "step", "step", "close"]


def test_calls_that_come_while_one_is_open_wait_for_their_turn() -> None:
    async def main(server: ScriptedServer) -> None:
        channel = channel_to(server)
        await channel.call(ResetRequest(), PATIENCE)
        future = asyncio.get_running_loop().create_future()
        assert exchange(channel, StepRequest(data={"number": 1})).begin(future.set_result)
        assert not exchange(channel).begin(print)
        later = await channel.call(StepRequest(data={"number": 2}), PATIENCE)
        assert isinstance(later, ObservationReply)
        assert later.data.observation["value"] == {"number": 2}
        assert future.done()
        assert future.result().data.observation["value"] == {"number": 1}
        await channel.close()

    with scripted_server() as server:
        asyncio.run(main(server))


def test_a_late_reply_loses_the_session() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.observe(0)
        await session.socket.wait_closed()

    async def main(server: ScriptedServer) -> None:
        channel = channel_to(server)
        await channel.call(ResetRequest(), PATIENCE)
        assert type(await settled(exchange(channel, timeout=0.01))) is errors.ReplyTimeout
        assert channel.state is SessionState.LOST
        with pytest.raises(errors.SessionLost):
            await channel.call(STEP, PATIENCE)
        await channel.close()

    with scripted_server(script) as server:
        asyncio.run(main(server))


def test_a_connection_that_breaks_is_told_and_loses_the_session() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.observe(0)
        await session.receive()
        session.die()

    async def main(server: ScriptedServer) -> None:
        channel = channel_to(server)
        await channel.call(ResetRequest(), PATIENCE)
        assert type(await settled(exchange(channel))) is errors.ConnectionLost
        assert channel.state is SessionState.LOST
        await channel.close()

    with scripted_server(script) as server:
        asyncio.run(main(server))


def test_who_is_interrupted_gives_the_session_up_and_is_told_nothing() -> None:
    async def main(server: ScriptedServer) -> None:
        channel = channel_to(server)
        await channel.call(ResetRequest(), PATIENCE)
        told: list[Any] = []
        work = exchange(channel)
        assert work.begin(told.append)
        work.interrupt()
        with pytest.raises(errors.SessionLost, match="interrupted"):
            await channel.call(STEP, PATIENCE)
        assert isinstance(await channel.call(ResetRequest(), PATIENCE), ObservationReply)
        assert told == []
        await channel.close()

    with scripted_server() as server:
        asyncio.run(main(server))
        assert server.sessions == 2


@pytest.mark.parametrize("call", ["make", "read"])
def test_an_error_of_the_clients_own_methods_is_the_callers(call: str) -> None:
    def fail(*_: Any) -> Any:
        raise ZeroDivisionError

    async def main(server: ScriptedServer) -> None:
        channel = channel_to(server)
        await channel.call(ResetRequest(), PATIENCE)
        make, read = (fail, lambda reply: reply) if call == "make" else (lambda: (STEP, PATIENCE), fail)
        assert type(await settled(Exchange(channel, make, read))) is ZeroDivisionError
        assert isinstance(await settled(exchange(channel)), ObservationReply)
        await channel.close()

    with scripted_server() as server:
        asyncio.run(main(server))


def test_what_cannot_be_sent_is_refused_and_loses_nothing() -> None:
    async def main(server: ScriptedServer) -> None:
        channel = channel_to(server)
        await channel.call(ResetRequest(), PATIENCE)
        refused = await settled(exchange(channel, StepRequest(data={"text": "\ud800"})))
        assert type(refused) is errors.InvalidAction
        assert isinstance(await settled(exchange(channel)), ObservationReply)
        await channel.close()

    with scripted_server() as server:
        asyncio.run(main(server))
