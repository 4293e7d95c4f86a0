"""Calls that are begun and ended apart: in their order, and never shifted."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError, ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from openenv_gym_protocol import errors

from openenv_gym.bridge.lanes.lanes import Lanes
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.bridge.wires import Wire
from openenv_gym.errors import WaitTimeout
from tests.support.apps.bridge_faults import COMMANDS
from tests.support.executions import ALONE, EXECUTIONS
from tests.support.servers import RunningServer

Make = Callable[..., RemoteVectorEnv]


@pytest.fixture(params=EXECUTIONS)
def execution(request: pytest.FixtureRequest) -> str:
    """Each execution in turn."""
    found: str = request.param
    return found


@pytest.fixture
def make(wire: Wire) -> Iterator[Make]:
    with ExitStack() as stack:

        def make(*args: Any, **kwargs: Any) -> RemoteVectorEnv:
            env = RemoteVectorEnv(*args, **{"wire": wire, **kwargs})
            stack.callback(env.close)
            return env

        yield make


def same(first: Any, second: Any) -> bool:
    return bool(data_equivalence(first, second, exact=True))


def orders(*commands: str) -> dict[str, Any]:
    numbers = np.array([[COMMANDS.index(command)] for command in commands])
    return {"command": numbers, "value": np.zeros_like(numbers)}


def test_begun_and_ended_apart_is_the_same_as_at_once(walk: RunningServer, make: Make) -> None:
    env, other = make(walk.base_url, num_envs=3), make(walk.base_url, num_envs=3)
    env.reset_async(seed=4)
    assert same(env.reset_wait(), other.reset(seed=4))
    for _ in range(12):
        env.step_async([0, 1, 1])
        assert same(env.step_wait(timeout=20), other.step([0, 1, 1]))
    mask = {"reset_mask": np.array([True, False, False])}
    env.reset_async(options=mask)
    assert same(env.reset_wait(), other.reset(options=mask))


def test_calls_out_of_order_are_refused_as_gymnasium_refuses_them(walk: RunningServer, make: Make) -> None:
    env = make(walk.base_url, num_envs=2)
    with pytest.raises(NoAsyncCallError):
        env.step_wait()
    with pytest.raises(NoAsyncCallError):
        env.reset_wait()
    with pytest.raises(NoAsyncCallError):
        env.recv()
    with pytest.raises(ResetNeeded):
        env.send([0, 0])
    env.reset()
    env.step_async([0, 0])
    busy: list[Callable[[], Any]] = [
        lambda: env.step_async([0, 0]),
        env.reset,
        lambda: env.send([0], [1]),
        lambda: env.set_attr("x", 1),
    ]
    for call in busy:
        with pytest.raises(AlreadyPendingCallError) as raised:
            call()
        assert raised.value.name == "step"
    with pytest.raises(NoAsyncCallError):
        env.reset_wait()
    with pytest.raises(NoAsyncCallError):
        env.recv()
    env.step_wait()
    env.close()
    closed: list[Callable[[], Any]] = [
        env.reset,
        lambda: env.step([0, 0]),
        env.step_wait,
        env.recv,
        lambda: env.get_attr("x"),
    ]
    for call in closed:
        with pytest.raises(ClosedEnvironmentError):
            call()


@ALONE
def test_a_wait_that_timed_out_can_be_waited_for_again(faults: RunningServer, make: Make) -> None:
    env = make(faults.base_url, num_envs=2, timeouts={"step": 3.0}, on_failure="truncate")
    env.reset()
    env.step_async(orders("fine", "hang"))
    with pytest.raises(WaitTimeout) as raised:
        env.step_wait(timeout=0.2)
    assert isinstance(raised.value, multiprocessing.TimeoutError)
    assert isinstance(pickle.loads(pickle.dumps(raised.value)), WaitTimeout)
    with pytest.raises(AlreadyPendingCallError):
        env.step_async(orders("fine", "fine"))
    observation, _, _, truncations, _ = env.step_wait()
    assert (observation.tolist(), truncations.tolist()) == ([[1.0], [0.0]], [False, True])


@ALONE
def test_a_reset_after_a_wait_that_timed_out_gives_up_what_is_late(faults: RunningServer, make: Make) -> None:
    env = make(faults.base_url, num_envs=2)
    env.reset()
    sessions = env.get_attr("session_id")
    env.step_async(orders("fine", "hang"))
    with pytest.raises(WaitTimeout):
        env.step_wait(timeout=2.0)  # the other lane has answered
    env.reset()
    assert env.step(orders("fine", "fine"))[0].tolist() == [[1.0], [1.0]], "nothing is shifted"
    now = env.get_attr("session_id")
    assert now[0] == sessions[0]
    assert now[1] != sessions[1]


def test_some_lanes_step_while_others_wait(faults: RunningServer, make: Make) -> None:
    env = make(faults.base_url, num_envs=3)
    env.reset()
    env.send(orders("fine", "fine"), [2, 0])
    with pytest.raises(AlreadyPendingCallError):
        env.send(orders("fine"), [2])
    lanes, observation, rewards, terminations, truncations, infos = env.recv(min_lanes=2)
    assert lanes.tolist() == [0, 2]
    assert observation.tolist() == [[1.0], [1.0]]
    assert [len(array) for array in (rewards, terminations, truncations)] == [2, 2, 2]
    assert infos["mixed"].tolist() == [1, 1]
    env.send(orders("fine"), np.array([2]))
    assert env.recv()[1].tolist() == [[2.0]]
    assert env.step(orders("fine", "fine", "fine"))[0].tolist() == [[2.0], [1.0], [3.0]]
    with pytest.raises(ValueError, match="lanes"):
        env.send(orders("fine", "fine"), [1, 1])
    with pytest.raises(NoAsyncCallError):
        env.recv(min_lanes=1)


@pytest.mark.parametrize("call", ["step", "send"])
def test_a_call_that_fails_as_it_begins_leaves_nothing_pending(
    call: str, faults: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = RemoteVectorEnv(faults.base_url, num_envs=2, wire="standard")
    env.reset()
    env.step(orders("done", "fine"))

    def failing(*_: Any) -> Any:
        raise errors.ServerStartError("no server")

    monkeypatch.setattr(Lanes, "connect", failing)  # which the finished lane's reset begins with
    with pytest.raises(errors.ServerStartError):
        getattr(env, call)(orders("fine", "fine"))
    monkeypatch.undo()
    with pytest.raises(errors.SessionLost):
        env.step(orders("fine", "fine"))
    env.reset()
    assert env.step(orders("fine", "fine"))[0].tolist() == [[1.0], [1.0]]
    env.close()


def test_lanes_that_are_sent_to_reset_by_themselves(walk: RunningServer, make: Make) -> None:
    for mode in ("NextStep", "SameStep"):
        env = make(walk.base_url, num_envs=2, autoreset_mode=mode, limit=2)
        other = make(walk.base_url, num_envs=2, autoreset_mode=mode, limit=2)
        assert same(env.reset(seed=3), other.reset(seed=3))
        for _ in range(8):
            env.send([0, 1])
            lanes, *step = env.recv(min_lanes=2)
            assert lanes.tolist() == [0, 1]
            assert same(tuple(step), other.step([0, 1]))


@ALONE
def test_a_lane_that_was_lost_while_received_comes_back_by_a_reset_of_its_own(
    faults: RunningServer, make: Make
) -> None:
    env = make(faults.base_url, num_envs=2, timeouts={"step": 2.0})
    env.reset()
    env.send(orders("fine", "hang"))
    with pytest.raises(errors.ReplyTimeout) as raised:
        env.recv(min_lanes=2)
    assert raised.value.lane == 1
    assert env.recv()[0].tolist() == [0]
    env.send(orders("fine"), [1])
    with pytest.raises(errors.SessionLost):
        env.recv()
    env.reset(options={"reset_mask": np.array([False, True])})
    assert env.step(orders("fine", "fine"))[0].tolist() == [[2.0], [1.0]]


@ALONE
def test_a_reset_of_all_lanes_gives_up_what_was_sent_and_waited_for_in_vain(faults: RunningServer, make: Make) -> None:
    env = make(faults.base_url, num_envs=2)
    env.reset()
    env.send(orders("hang", "fine"))
    with pytest.raises(AlreadyPendingCallError):
        env.reset()
    with pytest.raises(WaitTimeout):
        env.recv(min_lanes=2, timeout=0.2)
    with pytest.raises(AlreadyPendingCallError):
        env.reset(options={"reset_mask": np.array([True, False])})
    env.reset()
    assert env.step(orders("fine", "fine"))[0].tolist() == [[1.0], [1.0]]
