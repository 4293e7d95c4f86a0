from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.tools import ListToolsAction

from openenv_gym.client import GenericAction, GenericEnvClient
from tests.support.scripted_server import Session, scripted_server


@dataclass
class Move:
    to: int


@pytest.mark.parametrize(
    ("action", "sent"),
    [
        ({"to": 1}, {"to": 1}),
        (GenericAction(to=1), {"to": 1}),
        (GenericAction({"to": 1}, by=2), {"to": 1, "by": 2}),
        (Move(to=1), {"to": 1}),
        (ListToolsAction(), {"type": "list_tools", "metadata": {}}),
        ({"to": np.int64(1), "by": np.ones((2, 2), np.float32)}, {"to": 1, "by": [[1.0, 1.0], [1.0, 1.0]]}),
    ],
)
def test_an_action_arrives_by_its_fields(action: Any, sent: dict[str, Any]) -> None:
    with scripted_server() as server, GenericEnvClient(server.base_url).sync() as client:
        assert client.step(action).observation["value"] == sent


def _nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"in": value}
    return value


@pytest.mark.parametrize("action", [3, None, "north", {1: 2}, {"to": object()}, {"to": "\ud800"}, _nested(100_000)])
def test_what_cannot_be_sent_is_refused_and_the_session_goes_on(action: Any) -> None:
    with scripted_server() as server, GenericEnvClient(server.base_url).sync() as client:
        client.reset()
        with pytest.raises(errors.InvalidAction):
            client.step(action)
        assert client.step({"to": 1}).observation["value"] == {"to": 1}


def test_a_result_is_what_the_server_sent() -> None:
    async def script(session: Session) -> None:
        await session.receive()
        data = {"observation": {"a": [1]}, "reward": True, "done": True, "metadata": {"m": 1}, "later": 5}
        await session.send({"type": "observation", "data": data})
        await session.receive()
        await session.send({"type": "state", "data": {"episode_id": None, "step_count": 0, "secret": "s"}})
        await session.echo()

    with scripted_server(script) as server, GenericEnvClient(server.base_url).sync() as client:
        result = client.reset()
        assert (result.observation, result.reward, result.done, result.metadata) == ({"a": [1]}, True, True, {"m": 1})
        assert client.state() == {"episode_id": None, "step_count": 0, "secret": "s"}


def test_an_action_by_name_says_what_it_is() -> None:
    assert repr(GenericAction(to=1, by="x")) == "GenericAction(to=1, by='x')"
