"""What one session does when its server misbehaves; spoken to through the client that users have."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.client_session import ClientSession, SessionState

from openenv_gym.client import GenericEnvClient
from tests.support.scripted_server import PATIENCE, ScriptedServer, Session, observation, scripted_server

Body = Callable[[GenericEnvClient], Awaitable[None]]


def drive(server: ScriptedServer, body: Body, **options: Any) -> None:
    async def main() -> None:
        async with GenericEnvClient(server.base_url, **options) as client:
            await body(client)

    asyncio.run(main())


def kinds(server: ScriptedServer) -> list[tuple[int, str]]:
    return [(session, message["type"]) for session, message in server.all_received()]


def test_concurrent_calls_are_queued_and_each_gets_its_own_reply() -> None:
    async def body(client: GenericEnvClient) -> None:
        await client.reset()
        results = await asyncio.gather(*(client.step({"n": n}) for n in range(50)))
        assert [result.observation["value"] for result in results] == [{"n": n} for n in range(50)]

    with scripted_server() as server:
        drive(server, body)
        assert [message["data"]["n"] for _, message in server.received[1:51]] == list(range(50))


def test_a_late_reply_reaches_no_later_call() -> None:
    answer_late = threading.Event()

    async def script(session: Session) -> None:
        if session.number == 0:
            await session.receive()
            await session.observe("reset")
            await session.receive()
            await asyncio.to_thread(answer_late.wait, PATIENCE)
            await session.observe("late")
        await session.echo()

    async def body(client: GenericEnvClient) -> None:
        await client.reset()
        with pytest.raises(errors.ReplyTimeout):
            await client.step({"n": 1}, timeout_s=0.05)
        answer_late.set()
        with pytest.raises(errors.SessionLost) as lost:
            await client.step({"n": 2})
        assert isinstance(lost.value.__cause__, errors.ReplyTimeout)
        with pytest.raises(errors.SessionLost):
            await client.state()
        assert (await client.reset(seed=3)).observation["value"] == {"seed": 3}
        assert (await client.step({"n": 4})).observation["value"] == {"n": 4}

    with scripted_server(script) as server:
        drive(server, body)
        assert server.sessions == 2


def test_a_cancelled_call_loses_the_session() -> None:
    async def script(session: Session) -> None:
        if session.number == 0:
            await session.receive()
            await session.socket.wait_closed()
        await session.echo()

    async def body(client: GenericEnvClient) -> None:
        waiting = asyncio.create_task(client.step({}))
        await asyncio.to_thread(server.wait_until, lambda s: len(s.received) == 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(errors.SessionLost):
            await client.step({})
        await asyncio.to_thread(server.wait_until, lambda s: s.ended == 1)
        await client.reset()

    with scripted_server(script) as server:
        drive(server, body)


def test_a_call_cancelled_in_the_queue_harms_nobody() -> None:
    go_on = threading.Event()

    async def script(session: Session) -> None:
        message = await session.receive()
        await asyncio.to_thread(go_on.wait, PATIENCE)
        await session.observe(message["data"])
        await session.echo()

    async def body(client: GenericEnvClient) -> None:
        first = asyncio.create_task(client.step({"n": 1}))
        await asyncio.to_thread(server.wait_until, lambda s: len(s.received) == 1)
        second = asyncio.create_task(client.step({"n": 2}))
        third = asyncio.create_task(client.step({"n": 3}))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        go_on.set()
        assert (await first).observation["value"] == {"n": 1}
        assert (await third).observation["value"] == {"n": 3}

    with scripted_server(script) as server:
        drive(server, body)
        assert [message.get("data", {}).get("n") for _, message in server.all_received()] == [1, 3, None]


def test_a_reply_of_another_type_is_refused_and_loses_the_session() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.send({"type": "state", "data": {}})
        await session.socket.wait_closed()

    async def body(client: GenericEnvClient) -> None:
        with pytest.raises(errors.UnexpectedReply):
            await client.reset()
        with pytest.raises(errors.SessionLost):
            await client.step({})

    with scripted_server(script) as server:
        drive(server, body)


def test_a_second_reply_to_one_request_is_noticed_instead_of_shifting_all_later_ones() -> None:
    async def script(session: Session) -> None:
        if session.number == 0:
            await session.receive()
            session.send_together(observation("reset"), observation("once more"))
            await session.socket.wait_closed()
        await session.echo()

    async def body(client: GenericEnvClient) -> None:
        assert (await client.reset()).observation["value"] == "reset"
        with pytest.raises(errors.UnexpectedReply):
            await client.step({})
        with pytest.raises(errors.SessionLost):
            await client.step({})
        assert (await client.reset(seed=1)).observation["value"] == {"seed": 1}

    with scripted_server(script) as server:
        drive(server, body)


@pytest.mark.parametrize(
    "frame", ["{bad", "[1]", '"x"', '{"type":"bogus"}', '{"type":"observation","data":{"observation":3}}', b"binary"]
)
def test_a_frame_that_is_no_reply_is_a_typed_failure(frame: str | bytes) -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.socket.send(frame)
        await session.socket.wait_closed()

    async def body(client: GenericEnvClient) -> None:
        with pytest.raises(errors.ProtocolFailure):
            await client.reset()
        assert client.session_state is SessionState.LOST

    with scripted_server(script) as server:
        drive(server, body)


def test_a_full_server_is_recognised_although_it_spoke_and_closed_before_our_first_frame() -> None:
    async def script(session: Session) -> None:
        await session.refuse("full", "CAPACITY_REACHED", active_sessions=2, max_sessions=2)

    async def body(client: GenericEnvClient) -> None:
        await asyncio.to_thread(server.wait_until, lambda s: s.ended == 1)
        with pytest.raises(errors.CapacityReached) as caught:
            await client.reset()
        assert (caught.value.active_sessions, caught.value.max_sessions) == (2, 2)

    with scripted_server(script) as server:
        drive(server, body)


def test_a_step_on_a_refused_session_says_why_too() -> None:
    async def script(session: Session) -> None:
        await session.refuse("full", "CAPACITY_REACHED", active_sessions=2, max_sessions=2)

    async def body(client: GenericEnvClient) -> None:
        await asyncio.to_thread(server.wait_until, lambda s: s.ended == 1)
        with pytest.raises(errors.CapacityReached):
            await client.step({})

    with scripted_server(script) as server:
        drive(server, body)


def test_a_server_that_had_no_room_is_asked_again_by_the_next_reset() -> None:
    async def script(session: Session) -> None:
        if session.number == 0:
            await session.receive()
            await session.refuse("full", "CAPACITY_REACHED", active_sessions=1, max_sessions=1)
            return
        await session.echo()

    async def body(client: GenericEnvClient) -> None:
        with pytest.raises(errors.CapacityReached):
            await client.reset()
        await client.reset()

    with scripted_server(script) as server:
        drive(server, body)


@pytest.mark.parametrize(
    ("code", "more", "expected"),
    [
        ("FACTORY_ERROR", {"factory_name": "E"}, errors.FactoryError),
        ("SESSION_ERROR", {}, errors.SessionError),
    ],
)
def test_a_server_that_ends_the_session_says_why(
    code: str, more: dict[str, str], expected: type[errors.OpenEnvGymError]
) -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.refuse("because", code, **more)

    async def body(client: GenericEnvClient) -> None:
        with pytest.raises(expected, match="because"):
            await client.reset()
        with pytest.raises(errors.SessionLost, match="because"):
            await client.step({})

    with scripted_server(script) as server:
        drive(server, body)


def test_a_failing_step_leaves_the_session_as_it_is() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.observe("reset")
        await session.receive()
        await session.refuse("boom", "EXECUTION_ERROR")
        await session.receive()
        await session.refuse("Invalid message", "VALIDATION_ERROR", errors=[{"loc": ["move"], "msg": "too far"}])
        await session.echo()

    async def body(client: GenericEnvClient) -> None:
        await client.reset()
        with pytest.raises(errors.ExecutionError, match="boom"):
            await client.step({})
        with pytest.raises(errors.InvalidMessage, match="move: too far"):
            await client.step({})
        assert (await client.step({"n": 1})).observation["value"] == {"n": 1}

    with scripted_server(script) as server:
        drive(server, body)
        assert server.sessions == 1


def test_a_server_that_dies_in_mid_step_is_noticed_at_once_and_by_name() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.observe("reset")
        await session.receive()
        session.die()

    async def body(client: GenericEnvClient) -> None:
        await client.reset()
        with pytest.raises(errors.ConnectionLost):
            await client.step({}, timeout_s=600)
        with pytest.raises(errors.SessionLost):
            await client.step({})

    with scripted_server(script) as server:
        drive(server, body)


def test_a_session_that_ended_between_calls_is_lost_until_reset() -> None:
    async def script(session: Session) -> None:
        if session.number == 0:
            await session.receive()
            await session.observe("reset")
            await session.socket.close(1012)
        await session.echo()

    async def body(client: GenericEnvClient) -> None:
        await client.reset()
        await asyncio.to_thread(server.wait_until, lambda s: s.ended == 1)
        with pytest.raises(errors.SessionLost, match="shutting down"):
            await client.step({})
        with pytest.raises(errors.SessionLost):
            await client.connect()
        await client.reset()

    with scripted_server(script) as server:
        drive(server, body)


def test_a_frame_above_the_limit_is_named() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.observe("x" * 100_000)

    async def body(client: GenericEnvClient) -> None:
        with pytest.raises(errors.FrameTooLarge):
            await client.reset()

    with scripted_server(script) as server:
        drive(server, body, max_message_size_mb=0.01)


def test_an_action_above_the_servers_limit_is_named() -> None:
    async def body(client: GenericEnvClient) -> None:
        await client.reset()
        with pytest.raises(errors.FrameTooLarge):
            await client.step({"text": "x" * 5000})

    with scripted_server(max_size=1000) as server:
        drive(server, body)


def test_close_tells_the_server_first_and_is_idempotent() -> None:
    async def body(client: GenericEnvClient) -> None:
        await client.reset()
        await client.close()
        await client.close()
        with pytest.raises(errors.ClientClosed):
            await client.reset()
        with pytest.raises(errors.ClientClosed):
            await client.connect()

    with scripted_server() as server:
        drive(server, body)
        assert kinds(server) == [(0, "reset"), (0, "close")]


def test_close_ends_a_call_under_way() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.socket.wait_closed()

    async def body(client: GenericEnvClient) -> None:
        waiting = asyncio.create_task(client.reset())
        await asyncio.to_thread(server.wait_until, lambda s: len(s.received) == 1)
        await client.close()
        with pytest.raises(errors.ClientClosed):
            await waiting

    with scripted_server(script) as server:
        drive(server, body)


def test_a_client_that_was_never_used_opens_nothing() -> None:
    async def main() -> None:
        await GenericEnvClient(server.base_url).close()

    with scripted_server() as server:
        asyncio.run(main())
        assert server.sessions == 0


def test_disconnect_ends_the_session_but_not_the_client() -> None:
    async def body(client: GenericEnvClient) -> None:
        await client.reset()
        await client.disconnect()
        await client.disconnect()
        with pytest.raises(errors.SessionLost):
            await client.step({})
        await client.reset()

    with scripted_server() as server:
        drive(server, body)
        assert kinds(server) == [(0, "reset"), (0, "close"), (1, "reset"), (1, "close")]


def test_a_learner_that_blocks_its_own_loop_keeps_the_session() -> None:
    async def body(client: GenericEnvClient) -> None:
        await client.reset()
        time.sleep(3.0)  # the learner computes, and its event loop stands still
        assert (await client.step({"n": 1})).observation["value"] == {"n": 1}

    with scripted_server(ping_interval=0.05, ping_timeout=2.0) as server:
        drive(server, body)
        assert server.sessions == 1


def test_a_reply_that_reading_fails_on_stops_no_later_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    # A fault of our own, such as the reader's on a frame that nobody thought of.
    def fail(_: ClientSession, __: str | bytes) -> Any:
        raise ZeroDivisionError

    async def body(client: GenericEnvClient) -> None:
        await client.reset()
        with monkeypatch.context() as patched:
            patched.setattr(ClientSession, "receive", fail)
            with pytest.raises(ZeroDivisionError):
                await client.step({})
        with pytest.raises(errors.SessionLost):
            await client.step({})
        assert (await client.reset(seed=5)).observation["value"] == {"seed": 5}

    with scripted_server() as server:
        drive(server, body)
