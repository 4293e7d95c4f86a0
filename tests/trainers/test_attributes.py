"""Attributes of some lanes are read and set where a vector environment has them of all lanes only."""

from __future__ import annotations

import gymnasium

from openenv_gym.trainers.attributes import get_of, set_of


def test_an_attribute_of_some_lanes_is_set_and_the_others_keep_theirs() -> None:
    envs = gymnasium.make_vec("openenv/CartPole-v1", num_envs=3)
    envs.reset(seed=1)
    set_of(envs, "gravity", 1.5, range(3))
    set_of(envs, "gravity", 4.0, [2, 0])
    assert get_of(envs, "gravity", range(3)) == [4.0, 1.5, 4.0]
    assert get_of(envs, "gravity", [1, 2]) == [1.5, 4.0]
    envs.close()
