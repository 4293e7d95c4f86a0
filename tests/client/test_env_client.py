from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import re
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.client_session import SessionState
from openenv_gym_protocol.models import Action, Observation, State

from openenv_gym.client import EnvClient, GenericEnvClient, StepResult
from tests.support.scripted_server import PATIENCE, Session, scripted_server

SCHEMA: dict[str, Any] = {"action": {}, "observation": {}, "state": {}}
METADATA = {
    "name": "echo",
    "description": "d",
    "readme_content": None,
    "version": "1",
    "author": None,
    "documentation_url": None,
}


class Move(Action):
    to: int


class View(Observation):
    value: Any


class MoveEnv(EnvClient[Move, View, State]):
    pass


@asynccontextmanager
async def within_patience() -> AsyncIterator[None]:
    async with asyncio.timeout(PATIENCE):
        yield


def test_a_class_that_only_names_its_models_is_a_client() -> None:
    async def main() -> None:
        async with MoveEnv(server.base_url) as env:
            result = await env.reset(seed=1)
            assert result.observation == View(value={"seed": 1}, reward=0.0)
            result = await env.step(Move(to=2))
            assert isinstance(result, StepResult)
            assert result.observation.value == {"to": 2}
            assert await env.state() == State(episode_id="e", step_count=0)

    with scripted_server() as server:
        asyncio.run(main())


def test_the_three_methods_may_be_overridden_as_clients_of_openenv_do() -> None:
    class Own(EnvClient[int, str, dict[str, Any]]):
        def _step_payload(self, action: int) -> dict[str, Any]:
            return {"number": action}

        def _parse_result(self, payload: dict[str, Any]) -> StepResult[str]:
            shown = json.dumps(payload.get("observation", {})["value"])
            return StepResult(observation=shown, reward=payload.get("reward"), done=payload.get("done", False))

        def _parse_state(self, payload: dict[str, Any]) -> dict[str, Any]:
            return {"read": payload}

    async def main() -> None:
        async with Own(server.base_url) as env:
            assert (await env.step(3)).observation == '{"number": 3}'
            assert await env.state() == {"read": {"episode_id": "e", "step_count": 0}}

    with scripted_server() as server:
        asyncio.run(main())


def test_the_first_call_connects() -> None:
    async def main() -> None:
        client = GenericEnvClient(server.base_url)
        assert server.sessions == 0
        await client.reset()
        assert server.sessions == 1
        await client.close()

    with scripted_server() as server:
        asyncio.run(main())


def test_only_what_is_given_is_sent() -> None:
    async def main() -> None:
        async with GenericEnvClient(server.base_url) as client:
            await client.reset()
            await client.reset(seed=np.int64(7), episode_id="x", level="hard")
            await client.step({})
            await client.state()

    with scripted_server() as server:
        asyncio.run(main())
        assert [message for _, message in server.all_received()] == [
            {"type": "reset", "data": {}},
            {"type": "reset", "data": {"seed": 7, "episode_id": "x", "level": "hard"}},
            {"type": "step", "data": {}},
            {"type": "state"},
            {"type": "close"},
        ]


def test_an_option_that_the_server_does_not_list_is_refused_with_the_nearest() -> None:
    async def main() -> None:
        async with GenericEnvClient(server.base_url) as client:
            await client.reset(natural=True)
            with pytest.raises(errors.UnknownOption, match=r"unexpected keyword argument 'naturel'.*'natural'"):
                await client.reset(naturel=True)
            with pytest.raises(errors.UnknownOption, match="'seed'"):
                await client.reset(sed=3)

    schema = SCHEMA | {"x-reset-options": {"natural": {"type": "boolean"}}}
    with scripted_server(http={"/schema": (200, schema)}) as server:
        asyncio.run(main())
        assert [message["type"] for _, message in server.all_received()] == ["reset", "close"]
        assert sum(request.path == "/schema" for request in server.requests) == 1


@pytest.mark.parametrize("http", [{"/schema": (200, SCHEMA)}, {"/schema": (500, "no")}, {"/schema": (200, "no")}, {}])
def test_options_pass_where_the_server_does_not_say_what_it_knows(http: dict[str, Any]) -> None:
    async def main() -> None:
        async with GenericEnvClient(server.base_url) as client:
            for _ in range(2):
                assert (await client.reset(anything=1)).observation["value"] == {"anything": 1}

    with scripted_server(http=http) as server:
        asyncio.run(main())
        assert sum(request.path == "/schema" for request in server.requests) == 1


def test_schema_and_metadata_are_read_and_the_token_goes_with_them() -> None:
    async def main() -> None:
        client = GenericEnvClient(server.base_url, token="secret")
        assert (await client.schema()).action == {}
        assert (await client.metadata()).name == "echo"
        await client.close()

    with scripted_server(http={"/schema": (200, SCHEMA), "/metadata": (200, METADATA | {"later": 1})}) as server:
        asyncio.run(main())
        assert {request.headers["Authorization"] for request in server.requests} == {"Bearer secret"}
        assert server.sessions == 0


def test_plain_with_says_what_to_write_instead() -> None:
    with pytest.raises(TypeError, match=re.escape(".sync()")), GenericEnvClient("http://localhost"):
        pass


def test_one_client_serves_one_event_loop_after_another() -> None:
    with scripted_server() as server:
        client = GenericEnvClient(server.base_url)
        for number in range(3):
            assert asyncio.run(client.step({"n": number})).observation["value"] == {"n": number}
        asyncio.run(client.close())
        assert server.sessions == 1


@pytest.mark.parametrize("phase", ["reset", "step", "state"])
def test_each_phase_has_its_time_out(phase: str) -> None:
    async def script(session: Session) -> None:
        await session.socket.wait_closed()

    async def ask(client: GenericEnvClient) -> None:
        if phase == "step":
            await client.step({})
        else:
            await (client.reset() if phase == "reset" else client.state())

    async def main() -> None:
        timeouts = {"reset": 60.0, "step": 60.0, "state": 60.0} | {phase: 0.05}
        client = GenericEnvClient(server.base_url, timeouts=timeouts)
        with pytest.raises(errors.ReplyTimeout, match=phase):
            await ask(client)
        await client.close()

    with scripted_server(script) as server:
        asyncio.run(main())


@pytest.mark.parametrize("seed", ["abc", 1.5, [1]])
def test_a_seed_that_is_no_integer_is_refused(seed: Any) -> None:
    with pytest.raises(errors.ConfigurationError, match="seed"):
        asyncio.run(GenericEnvClient("http://localhost").reset(seed=seed))


def test_new_sessions_are_their_own_and_close_with_the_first() -> None:
    async def main() -> None:
        first = MoveEnv(server.base_url)
        second = await first.new_session()
        assert type(second) is MoveEnv
        await asyncio.gather(first.reset(seed=1), second.reset(seed=2))
        await first.close()
        with pytest.raises(errors.ClientClosed):
            await second.step(Move(to=1))

    with scripted_server() as server:
        asyncio.run(main())
        assert server.sessions == 2


def test_a_forgotten_client_frees_its_session_and_warns_of_nothing() -> None:
    with scripted_server() as server:
        client = GenericEnvClient(server.base_url)
        asyncio.run(client.reset())
        del client
        gc.collect()
        server.wait_until(lambda s: s.ended == 1)


@pytest.mark.parametrize("resets_again", [False, True])
def test_a_client_that_met_an_error_can_be_forgotten_as_well(resets_again: bool) -> None:
    # An error that was raised keeps the frames it passed, and so this client, for as long as anybody keeps it.
    async def script(session: Session) -> None:
        await session.receive()
        if session.number == 0:
            session.die()
        else:
            await session.observe(0)
            await session.echo()

    async def main(client: GenericEnvClient) -> None:
        with contextlib.suppress(errors.ConnectionLost):
            await client.reset()
        assert client.session_state is SessionState.LOST
        if resets_again:
            await client.reset()

    with scripted_server(script) as server:
        client = GenericEnvClient(server.base_url)
        asyncio.run(main(client))
        forgotten = weakref.ref(client)
        del client
        end = time.monotonic() + PATIENCE
        while forgotten() is not None:
            # The I/O thread may be just leaving the last call.
            assert time.monotonic() < end, "something keeps the client"
            gc.collect()
        server.wait_until(lambda s: s.ended == s.sessions == 1 + resets_again)


def test_its_repr_says_where_and_in_what_state() -> None:
    client = MoveEnv("http://localhost:8000", token="secret")
    assert repr(client) == "<MoveEnv http://localhost:8000 unconnected>"


def test_its_repr_has_no_secret_of_its_address() -> None:
    client = MoveEnv("ws://me:secret@localhost:8000/prefix?key=secret")
    assert repr(client) == "<MoveEnv http://localhost:8000/prefix unconnected>"
    assert "secret" not in repr(client._settings)


def test_an_observation_of_another_version_is_named_and_the_session_goes_on() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        await session.send({"type": "observation", "data": {"observation": {"new_name": 1}}})
        await session.echo()

    async def main() -> None:
        async with within_patience(), MoveEnv(server.base_url) as env:
            with pytest.raises(errors.UnexpectedReply, match="value"):
                await env.reset()
            await env.reset()

    with scripted_server(script) as server:
        asyncio.run(main())
        assert server.sessions == 1


def test_five_hundred_sessions_at_once_keep_their_replies_apart() -> None:
    async def episode(number: int) -> None:
        async with GenericEnvClient(server.base_url) as client:
            await client.reset(seed=number)
            for step in range(3):
                result = await client.step({"who": number, "step": step})
                assert result.observation["value"] == {"who": number, "step": step}

    async def main() -> None:
        await asyncio.gather(*(episode(number) for number in range(500)))

    with scripted_server(backlog=1000) as server:
        asyncio.run(main())
        assert server.sessions == 500
