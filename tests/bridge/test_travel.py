"""Before it connects, an environment travels as its keywords; afterwards not at all."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import pytest
from openenv_gym_protocol.errors import NotPicklable

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.support.servers import RunningServer

KINDS = [RemoteEnv, RemoteVectorEnv]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("again", [lambda env: pickle.loads(pickle.dumps(env)), copy.copy, copy.deepcopy])
def test_an_environment_that_is_not_connected_is_made_again(walk: RunningServer, kind: Any, again: Any) -> None:
    env = kind(walk.base_url, limit=1)
    twin = again(env)
    try:
        assert type(twin) is kind
        assert twin.observation_space == env.observation_space
        twin.reset(seed=3)
        sessions = (env.session_id,) if kind is RemoteEnv else env.call("session_id")
        assert sessions == (None,)
    finally:
        env.close()
        twin.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("travel", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_connected_environment_says_what_to_pass_instead(walk: RunningServer, kind: Any, travel: Any) -> None:
    env = kind(walk.base_url)
    env.reset(seed=3)
    try:
        with pytest.raises(NotPicklable, match=r"env\.spec"):
            travel(env)
        env.reset(seed=3)  # and it goes on
    finally:
        env.close()


def test_a_made_environment_keeps_its_spec(walk: RunningServer) -> None:
    env = gymnasium.make("openenv/Remote-v0", base_url=walk.base_url)
    twin = pickle.loads(pickle.dumps(env.unwrapped))
    assert twin.spec == env.unwrapped.spec
    env.close()
    twin.close()
