"""The gymnasium project's quick Discrete says what Gymnasium's says, of every value."""

from __future__ import annotations

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

INTEGERS = (np.int8, np.int32, np.int64, np.uint8)
NUMBERS = [
    *(kind(number) for kind in INTEGERS for number in (0, 1, 2, 5, 100, 127)),
    *(np.int64(-3), np.int64(2**63 - 1), np.int8(-3), -4, 0, 2, 5, 2**70, True, 1.0, np.float64(1), None, "1"),
    *(np.array(1), np.array(1, np.int32), np.array([1]), np.bool_(True)),
]


class Remembering(gymnasium.Env[Any, Any]):
    """Keeps a Discrete as its action space."""

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        self.action_space = space


class Fixed(gymnasium.Env[Any, Any]):
    """Has its action space from its class."""

    action_space = Discrete(3)


def quick(space: Discrete) -> Discrete:
    inside = with_quick_check(Remembering(space)).action_space
    assert type(inside) is QuickDiscrete
    return inside


@given(st.integers(1, 6), st.integers(-3, 3), st.sampled_from(NUMBERS))
def test_a_value_is_in_one_where_it_is_in_the_other(n: int, start: int, value: Any) -> None:
    space = Discrete(n, start=start)
    answer = quick(space).contains(value)
    assert answer is bool(space.contains(value))
    assert (value in quick(space)) is answer


def test_it_equals_the_one_in_whose_place_it_stands_and_draws_the_same() -> None:
    space = Discrete(10, seed=3, start=2)
    other = quick(space)
    assert other is not space
    assert type(space) is Discrete
    assert (other == space, space == other, repr(other)) == (True, True, repr(space))
    expected = [Discrete(10, seed=3, start=2).sample() for _ in range(1)]
    assert [other.sample()] == expected


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
