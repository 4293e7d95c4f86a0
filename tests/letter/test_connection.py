"""The connection under a trainer: pings, forks, errors and late replies."""

from __future__ import annotations

import multiprocessing
import pickle
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from openenv_gym_protocol import errors

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.letter.comparing import identical
from tests.letter.requirements import requirement
from tests.support.apps.bridge_faults import COMMANDS
from tests.support.servers import RunningServer, running_server


def orders(*commands: str) -> dict[str, Any]:
    numbers = np.array([[COMMANDS.index(command)] for command in commands])
    return {"command": numbers, "value": np.zeros_like(numbers)}


def order(command: str) -> dict[str, Any]:
    return {name: column[0] for name, column in orders(command).items()}


def compute(seconds: float) -> None:
    """Keeps this thread busy, as a learner does."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        np.linalg.norm(np.ones((50, 50)))


@requirement("C1")
def test_a_session_outlives_computing_for_many_pings(
    make: Callable[..., RemoteEnv], make_many: Callable[..., RemoteVectorEnv]
) -> None:
    pings = {"UVICORN_WS_PING_INTERVAL": "1", "UVICORN_WS_PING_TIMEOUT": "2"}
    with running_server("tests.support.apps.bridge_walks:walk", env=pings) as server:
        env, envs = make(server.base_url), make_many(server.base_url, num_envs=3)
        env.reset(seed=1)
        envs.reset(seed=1)
        before = (env.session_id, envs.get_attr("session_id"))
        compute(5.0)
        assert env.step(1)[0] in env.observation_space
        assert envs.step(np.array([0, 1, 0]))[0] in envs.observation_space
        assert (env.session_id, envs.get_attr("session_id")) == before


@requirement("C2")
def test_a_forked_child_has_a_session_of_its_own_and_the_parent_keeps_its(
    walk: RunningServer, make: Callable[..., RemoteEnv], make_many: Callable[..., RemoteVectorEnv]
) -> None:
    env, envs = make(walk.base_url), make_many(walk.base_url, num_envs=2)
    env.reset(seed=1)
    envs.reset(seed=1)
    context = multiprocessing.get_context("fork")
    told = context.SimpleQueue()

    def child() -> None:
        for lost in (lambda: env.step(0), lambda: envs.step(np.array([0, 0]))):
            try:
                lost()
            except errors.SessionLost as error:
                told.put(str(error))
        told.put(bool(env.reset(seed=1)) and bool(envs.reset(seed=1)))
        env.close()
        envs.close()

    with warnings.catch_warnings():
        # Python 3.12 warns of forks in programs with threads; that this one is safe is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = context.Process(target=child)
        process.start()
    process.join(30)
    assert process.exitcode == 0
    assert told.get()
    assert told.get()
    assert told.get() is True
    assert env.step(0)[0] in env.observation_space
    assert envs.step(np.array([0, 0]))[0] in envs.observation_space


class Thunk:
    """Makes an environment; picklable, for processes that are spawned."""

    def __init__(self, base_url: str, keywords: dict[str, Any]) -> None:
        self.base_url = base_url
        self.keywords = keywords

    def __call__(self) -> RemoteEnv:
        return RemoteEnv(self.base_url, **self.keywords)


@requirement("C3", "async/5")
def test_a_workers_error_arrives_as_what_it_is(faults: RunningServer, wire: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        # Of forks in programs with threads; and Gymnasium tells of workers' errors by warnings.
        warnings.simplefilter("ignore")
        envs = AsyncVectorEnv([Thunk(faults.base_url, wire)] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
        try:
            envs.reset()
            with pytest.raises(errors.ExecutionError, match="as ordered"):
                envs.step(orders("raise", "fine"))
        finally:
            envs.close(terminate=True)


@requirement("C3", "async/5")
@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("raise", errors.ExecutionError),
        ("hang", errors.ReplyTimeout),
        ("outside", errors.InvalidObservation),
    ],
)
def test_an_error_pickles_with_its_class_text_and_place(
    command: str, kind: type[errors.OpenEnvGymError], faults: RunningServer, make_many: Callable[..., RemoteVectorEnv]
) -> None:
    envs = make_many(faults.base_url, num_envs=2, timeouts={"step": 2.0})
    envs.reset()
    with pytest.raises(kind) as raised:
        envs.step(orders("fine", command))
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is type(raised.value)
    assert again.args == raised.value.args
    assert isinstance(again.args[0], str)
    assert again.args[0]
    assert (again.lane, again.server) == (1, faults.base_url)
    assert str(type(raised.value)(str(raised.value)))  # as AsyncVectorEnv makes it again


@requirement("C4")
def test_a_reply_that_comes_too_late_is_nobodys(faults: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    env = make(faults.base_url, timeouts={"step": 2.0})
    env.reset()
    assert env.step(order("fine"))[0] == 1.0
    with pytest.raises(errors.ReplyTimeout):
        env.step(order("hang"))
    for _ in range(2):
        with pytest.raises(errors.SessionLost):
            env.step(order("fine"))
    env.reset()
    assert [float(env.step(order("fine"))[0].item()) for _ in range(2)] == [1.0, 2.0]


@requirement("C4")
def test_a_session_that_was_lost_is_never_another_one_without_a_reset(
    stream: RunningServer, make: Callable[..., RemoteEnv]
) -> None:
    with running_server("tests.support.apps.bridge_walks:stream") as server:
        env = make(server.base_url, timeouts={"connect": 5.0})
        env.reset(seed=3)
    for _ in range(2):
        with pytest.raises(errors.InfrastructureFailure):
            env.step(0)
    again, first = make(stream.base_url), make(stream.base_url)
    assert identical(again.reset(seed=3), first.reset(seed=3))
