from __future__ import annotations

import numpy as np
import pytest
from openenv_gym_protocol.errors import ExecutionError, FactoryError, InvalidMessage
from openenv_gym_server import create_app
from openenv_gym_server.testing import LocalClient

from tests.support.apps import arrays, asynchronous, counting, misbehaving


def test_an_episode_can_be_played_without_a_server() -> None:
    with LocalClient(counting.app) as client:
        assert client.reset(seed=3, length=2).observation == counting.CountObservation(count=0, seed=3)
        first = client.step(add=5)
        assert (first.observation.count, first.reward, first.done, first.truncated) == (5, 5.0, False, False)
        assert client.step(counting.CountAction()).done
        assert client.state()["step_count"] == 2


def test_an_action_goes_through_json() -> None:
    with LocalClient(arrays.app) as client:
        client.reset()
        result = client.step(force=np.array([1, 2], np.float32))
        assert result.wire["position"] == [1.0, 2.0]
        assert result.observation.position.dtype == np.float32


def test_errors_are_those_that_a_client_gets() -> None:
    with LocalClient(misbehaving.app) as client:
        with pytest.raises(ExecutionError, match="Call reset first"):
            client.step(do="answer")
        client.reset()
        with pytest.raises(InvalidMessage):
            client.step(text="forbidden")
        with pytest.raises(ExecutionError):
            client.step(do="nan_reward")
        assert client.step(do="truncate").truncated


def test_a_factory_that_fails_is_an_error_at_once() -> None:
    class Broken(counting.CountingEnvironment):
        def __init__(self) -> None:
            raise RuntimeError("no display")

    with pytest.raises(FactoryError):
        LocalClient(create_app(Broken, counting.CountAction, counting.CountObservation))


def test_async_environments_are_played_as_well() -> None:
    with LocalClient(asynchronous.app) as client:
        assert client.reset(seed=1).observation.text == "seed=1"
        assert client.step(do="sleep", seconds=0.01).reward == 1.0
        with pytest.raises(ExecutionError):
            client.step(do="raise")
