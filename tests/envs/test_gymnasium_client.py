"""The gymnasium project's client."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium_env import GymnasiumAction, GymnasiumEnv, GymnasiumObservation, GymnasiumState
from openenv_gym_protocol.errors import InvalidMessage
from openenv_gym_registry.projects import bundled_project

from tests.support.servers import running_server


def test_an_episode_is_played_in_the_projects_models() -> None:
    local = gymnasium.make("Pendulum-v1")
    settings = {"GYMNASIUM_ENV_ID": "Pendulum-v1"}
    with (
        running_server("server.app:app", cwd=bundled_project("gymnasium"), env=settings) as server,
        GymnasiumEnv(base_url=server.base_url).sync() as env,
    ):
        result = env.reset(seed=3)
        assert isinstance(result.observation, GymnasiumObservation)
        assert result.observation.observation == local.reset(seed=3)[0].tolist()
        force = np.array([0.3], np.float32)
        result = env.step(GymnasiumAction(action=force))
        observation, reward, *_ = local.step(force)
        assert (result.observation.observation, result.reward) == (observation.tolist(), float(reward))
        with pytest.raises(InvalidMessage):
            env.step(GymnasiumAction(action=[9.0]))
        state = env.state()
        assert isinstance(state, GymnasiumState)
        assert (state.env_id, state.step_count, state.keywords) == ("Pendulum-v1", 1, {"g": 10.0})
