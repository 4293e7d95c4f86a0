"""What goes wrong with Gymnasium's AsyncVectorEnv does not go wrong with a remote vector environment."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from gymnasium import error as gymnasium_errors
from gymnasium.vector import AutoresetMode
from openenv_gym_protocol import errors

from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.letter.comparing import identical
from tests.letter.requirements import requirement
from tests.support import drawn as local
from tests.support.apps.bridge_faults import COMMANDS
from tests.support.servers import RunningServer, running_server

MakeMany = Callable[..., RemoteVectorEnv]


def orders(*commands: str, value: int = 0) -> dict[str, Any]:
    numbers = np.array([[COMMANDS.index(command)] for command in commands])
    return {"command": numbers, "value": np.full_like(numbers, value)}


FINE = orders("fine", "fine", "fine")


@requirement("async/1", "C4")
def test_after_a_late_step_every_reply_is_its_own_steps(faults: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(faults.base_url, num_envs=3, timeouts={"step": 2.0})
    envs.reset()
    assert envs.step(FINE)[0].ravel().tolist() == [1, 1, 1]
    with pytest.raises(errors.ReplyTimeout) as raised:
        envs.step(orders("fine", "hang", "fine"))
    assert raised.value.lane == 1
    with pytest.raises(errors.OpenEnvGymError):
        envs.step(FINE)
    envs.reset()
    assert [envs.step(FINE)[0].ravel().tolist() for _ in range(3)] == [[1] * 3, [2] * 3, [3] * 3]


@requirement("async/2", "V2")
@pytest.mark.parametrize("how", ["all", "mask"])
def test_a_reset_by_hand_ends_a_pending_autoreset(how: str, drawn: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(f"{drawn.base_url}/discrete", num_envs=3)
    envs.reset(seed=1)
    over = np.zeros(3, np.bool_)
    while not over.any():
        _, _, terminations, truncations, _ = envs.step(np.zeros(3, np.int64))
        over = terminations | truncations
    envs.reset(options=None if how == "all" else {"reset_mask": over})
    _, rewards, _, _, infos = envs.step(np.full(3, 4))
    assert rewards.tolist() == [local.number_of(4)] * 3, "no action may be swallowed"
    assert infos["steps"][over].tolist() == [1] * int(over.sum())


@requirement("async/3")
@pytest.mark.parametrize("space", ["text", "one-of", "sequence-dict", "dict-mixed"])
def test_what_has_no_fixed_shape_changes_from_step_to_step(
    space: str, drawn: RunningServer, make_many: MakeMany
) -> None:
    envs = make_many(f"{drawn.base_url}/{space}", num_envs=2, autoreset_mode="SameStep")
    single, generator = envs.single_action_space, np.random.default_rng(0)
    seen = [envs.reset(seed=1)[0]]
    for _ in range(4):
        actions = local.batched(single, [local.draw(single, generator) for _ in range(2)])
        seen.append(envs.step(actions)[0])
    assert all(observation in envs.observation_space for observation in seen)
    assert not any(identical(first, second) for first, second in pairwise(seen))


@requirement("async/4")
def test_after_an_environments_error_a_reset_goes_on_in_the_same_sessions(
    faults: RunningServer, make_many: MakeMany
) -> None:
    envs = make_many(faults.base_url, num_envs=3)
    envs.reset()
    sessions = envs.get_attr("session_id")
    for _ in range(2):
        with pytest.raises(errors.ExecutionError, match="as ordered") as raised:
            envs.step(orders("fine", "fine", "raise"))
        assert raised.value.lane == 2
        envs.reset()
        assert envs.step(FINE)[0].ravel().tolist() == [1, 1, 1]
    assert envs.get_attr("session_id") == sessions


@requirement("async/6", "C3")
def test_a_server_that_dies_is_told_in_words_every_time(make_many: MakeMany) -> None:
    with running_server("tests.support.apps.bridge_faults:app") as server:
        envs = make_many(server.base_url, num_envs=2, timeouts={"connect": 3.0})
        envs.reset()
        for actions in (orders("fine", "exit"), orders("fine", "fine"), orders("fine", "fine")):
            with pytest.raises(errors.InfrastructureFailure) as raised:
                envs.step(actions)
            assert len(str(raised.value)) > 20
        with pytest.raises((errors.InfrastructureFailure, errors.TimeoutFailure)):
            envs.reset()
        envs.close()
    assert envs.closed


@requirement("vector/order")
def test_calls_out_of_order_are_gymnasiums_own_errors(drawn: RunningServer, make_many: MakeMany) -> None:
    envs: Any = make_many(f"{drawn.base_url}/discrete", num_envs=2, autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset(seed=1)
    with pytest.raises(gymnasium_errors.NoAsyncCallError):
        envs.step_wait()
    envs.step_async(np.array([1, 2]))
    with pytest.raises(gymnasium_errors.AlreadyPendingCallError):
        envs.step_async(np.array([1, 2]))
    with pytest.raises(gymnasium_errors.AlreadyPendingCallError):
        envs.reset()
    assert envs.step_wait()[1].tolist() == [local.number_of(1), local.number_of(2)]
    assert envs.step(np.array([3, 4]))[1].tolist() == [local.number_of(3), local.number_of(4)]


@requirement("vector/order", "async/1", "C4")
def test_a_step_that_is_not_waited_for_is_never_the_next_ones(faults: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(faults.base_url, num_envs=3)
    envs.reset()
    envs.step_async(orders("fine", "hang", "fine"))
    for _ in range(2):
        with pytest.raises(multiprocessing.TimeoutError):
            envs.step_wait(timeout=0.2)
    with pytest.raises(gymnasium_errors.AlreadyPendingCallError):
        envs.step(FINE)
    envs.reset()
    assert [envs.step(FINE)[0].ravel().tolist() for _ in range(2)] == [[1] * 3, [2] * 3]


@requirement("vector/order")
def test_a_reset_begins_and_ends_apart(drawn: RunningServer, make_many: MakeMany) -> None:
    envs, other = (make_many(f"{drawn.base_url}/dict", num_envs=2) for _ in range(2))
    with pytest.raises(gymnasium_errors.NoAsyncCallError):
        envs.reset_wait()
    envs.reset_async(seed=3)
    assert identical(envs.reset_wait(timeout=30), other.reset(seed=3))
