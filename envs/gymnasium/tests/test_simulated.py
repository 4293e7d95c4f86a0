"""Gymnasium's environments of Box2D and MuJoCo by themselves; each needs its library, and pictures need EGL."""

from __future__ import annotations

import threading
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium_env.environment import GymnasiumEnvironment
from gymnasium_env.libraries import load_quietly
from gymnasium_env.serving import served
from gymnasium_env.settings import Settings
from gymnasium_env.wrappers import read_wrappers

pytest.importorskip("mujoco")
pytest.importorskip("pygame")
load_quietly("gymnasium.envs.box2d.")
pytest.importorskip("Box2D")

BOX2D = ["LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3", "BipedalWalkerHardcore-v3", "CarRacing-v3"]
MUJOCO = [
    *("HalfCheetah-v5", "Ant-v5", "Hopper-v5", "Walker2d-v5", "Humanoid-v5", "Swimmer-v5", "InvertedPendulum-v5"),
    *("InvertedDoublePendulum-v5", "Reacher-v5", "Pusher-v5"),
]


def environment_of(env_id: str, **settings: Any) -> GymnasiumEnvironment:
    return served(Settings(env_id=env_id, **settings)).environment_class()


@pytest.mark.parametrize("env_id", [*BOX2D, *MUJOCO])
def test_every_step_is_gymnasiums_own(env_id: str) -> None:
    env, local = environment_of(env_id), gymnasium.make(env_id, disable_env_checker=True)
    assert env.execution == "thread"
    assert env.info_keys is not None
    local.action_space.seed(1)
    for seed in (3, None):
        seen, (expected, info) = env.reset(seed), local.reset(seed=seed)
        np.testing.assert_array_equal(seen.observation, expected)
        assert info.keys() == seen.metadata.keys() >= set(env.info_keys)
        for _ in range(8):
            action = local.action_space.sample()
            value, reward, terminated, _, metadata = env.step_values(action)
            expected, expected_reward, expected_end, _, info = local.step(action)
            np.testing.assert_array_equal(value, expected)
            assert (reward, terminated) == (float(expected_reward), expected_end)
            assert info.keys() == metadata.keys() >= set(env.info_keys)
    env.close()
    local.close()


@pytest.mark.parametrize(
    ("env_id", "name"), [("LunarLander-v3", "continuous"), ("Ant-v5", "include_cfrc_ext_in_observation")]
)
def test_what_changes_the_spaces_is_the_servers_and_no_reset_option(env_id: str, name: str) -> None:
    what = served(Settings(env_id=env_id)).environment_class
    assert name not in what.recipe.keywords
    other = served(Settings(env_id=env_id, env_kwargs={name: env_id == "LunarLander-v3"})).environment_class
    assert other.spaces != what.spaces


def drawn(env_id: str, seed: int) -> list[Any]:
    env = environment_of(env_id)
    env.reset(seed)
    pictures = [env.render()]
    env.step_values(env.recipe.action_space.sample() * 0)
    pictures.append(env.render("rgb_array"))
    env.close()
    return pictures


@pytest.mark.parametrize("env_id", ["Reacher-v5", "LunarLander-v3"])
def test_two_sessions_draw_at_once_and_see_what_each_sees_alone(env_id: str) -> None:
    expected = [drawn(env_id, seed) for seed in (1, 2)]
    found: dict[int, list[Any]] = {}
    threads = [threading.Thread(target=lambda seed=seed: found.update({seed: drawn(env_id, seed)})) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for seed, pictures in zip((1, 2), expected, strict=True):
        np.testing.assert_array_equal(pictures, found[seed])
    assert not np.array_equal(expected[0][0], expected[1][0])


def test_observations_that_are_drawn_travel_as_pictures() -> None:
    env = environment_of("Reacher-v5", wrappers=read_wrappers(["AddRenderObservation"]))
    space = env.recipe.observation_space
    assert space == gymnasium.spaces.Box(0, 255, (480, 480, 3), np.uint8)
    np.testing.assert_array_equal(env.reset(1).observation, env.render())
    env.close()
