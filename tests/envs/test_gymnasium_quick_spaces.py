"""The gymnasium project's quick Discrete says what Gymnasium's says, of every value."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from gymnasium_env.quick_spaces import QuickDiscrete, with_quick_check
from gymnasium_env.serving import served
from gymnasium_env.settings import Settings
from hypothesis import given
from hypothesis import strategies as st
from openenv_gym_server import create_app
from openenv_gym_server.dispatch import Host
from openenv_gym_server.loops import run_to_end

INTEGERS = (np.int8, np.int32, np.int64, np.uint8)
NUMBERS = [
    *(kind(number) for kind in INTEGERS for number in (0, 1, 2, 5, 100, 127)),
    *(np.int64(-3), np.int64(2**63 - 1), np.int8(-3), -4, 0, 2, 5, 2**70, True, 1.0, np.float64(1), None, "1"),
    *(np.array(1), np.array(1, np.int32), np.array([1]), np.bool_(True)),
]


class Remembering(gymnasium.Env[Any, Any]):
    """Has an action space twice, and keeps it once and for all."""

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        self.action_space = self.also = space

    def __setattr__(self, name: str, value: Any) -> None:
        assert name not in vars(self)
        super().__setattr__(name, value)


class Fixed(gymnasium.Env[Any, Any]):
    """Has its action space from its class."""

    action_space = Discrete(3)


def quick(n: int, *, start: int = 0, seed: int | None = None) -> Discrete:
    inside = with_quick_check(Remembering(Discrete(n, seed=seed, start=start))).action_space
    assert type(inside) is QuickDiscrete
    return inside


@given(st.integers(1, 6), st.integers(-3, 3), st.sampled_from(NUMBERS))
def test_a_value_is_in_one_where_it_is_in_the_other(n: int, start: int, value: Any) -> None:
    answer = quick(n, start=start).contains(value)
    assert answer is bool(Discrete(n, start=start).contains(value))
    assert (value in quick(n, start=start)) is answer


def test_it_equals_what_it_was_draws_the_same_and_is_whoever_elses_it_was() -> None:
    space = quick(10, seed=3, start=2)
    plain = Discrete(10, seed=3, start=2)
    assert (space == plain, plain == space, repr(space)) == (True, True, repr(plain))
    assert [space.sample() for _ in range(5)] == [plain.sample() for _ in range(5)]
    assert pickle.loads(pickle.dumps(space)) == copy.deepcopy(space) == plain
    env = Remembering(Discrete(10))
    with_quick_check(env)
    assert env.action_space is env.also


@pytest.mark.parametrize("env", [Remembering(gymnasium.spaces.MultiBinary(2)), Fixed()])
def test_other_spaces_stay_as_they_are(env: gymnasium.Env[Any, Any]) -> None:
    before = env.action_space
    assert with_quick_check(env).action_space is before


def test_what_is_served_refuses_what_gymnasium_refuses() -> None:
    env = served(Settings(env_id="CartPole-v1")).environment_class()
    env.reset(seed=1)
    built = env._env
    assert built is not None
    assert type(built.unwrapped.action_space) is QuickDiscrete
    assert type(env.recipe.action_space) is Discrete
    with pytest.raises(AssertionError, match="invalid"):
        env.step_values(2)


def test_lanes_are_stepped_and_reset_without_models() -> None:
    what = served(Settings(env_id="CartPole-v1"))
    app = create_app(what.environment_class, what.action_class, what.observation_class)
    host = Host(app.state.openenv_gym.contract, "a session")
    run_to_end(host.construct())
    assert (host.has_values, host.begins_with_values) == (True, True)
    value, info = run_to_end(host.reset_values({"seed": 3}))
    expected, _ = gymnasium.make("CartPole-v1").reset(seed=3)
    assert (value.tolist(), info) == (expected.tolist(), {})
