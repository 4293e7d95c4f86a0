"""Gymnasium's wrappers around what a server of the gymnasium project serves."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium_env.serving import served
from gymnasium_env.settings import Settings
from gymnasium_env.wrappers import ALLOWED, read_wrappers
from openenv_gym_protocol.errors import ConfigurationError, ServerStartError

import openenv_gym
from tests.support import odd_envs
from tests.support.gymnasium_values import same

STACK = {"name": "FrameStackObservation", "stack_size": 3}
CHAIN = [{"name": "MaxAndSkipObservation", "skip": 2}, STACK, "FlattenObservation"]
CLIP = {"name": "ClipReward", "max_reward": 0.5}
RESCALE = {"name": "RescaleAction", "min_action": -2, "max_action": [3.0]}


@pytest.fixture(scope="module", autouse=True)
def _servers_end_with_the_module() -> Iterator[None]:
    yield
    openenv_gym.shutdown()


def wrapped_locally(rows: list[Any]) -> Any:
    env: Any = gymnasium.make("CartPole-v1")
    assert rows == CHAIN
    env = wrappers.FrameStackObservation(wrappers.MaxAndSkipObservation(env, skip=2), stack_size=3)
    return wrappers.FlattenObservation(env)


def played(env: Any, episodes: int = 3) -> list[Any]:
    env.action_space.seed(4)
    events: list[Any] = []
    for episode in range(episodes):
        events.append(env.reset(seed=9 if episode == 0 else None)[0])
        while not np.any(events[-1][2:4] if isinstance(events[-1], tuple) else False):
            events.append(env.step(env.action_space.sample())[:4])
    env.close()
    return events


@pytest.mark.parametrize("wire", ["vector", "standard"])
def test_what_is_wrapped_plays_what_gymnasium_plays_when_wrapped(wire: str) -> None:
    local = wrapped_locally(CHAIN)
    ids: dict[str, dict[str, Any]] = {"openenv/CartPole-v1": {}, "openenv/Gymnasium-v0": {"env_id": "CartPole-v1"}}
    for id, keywords in ids.items():
        env = gymnasium.make(id, env_wrappers=CHAIN, wire=wire, **keywords)
        assert env.observation_space == local.observation_space
        assert same(played(env), played(wrapped_locally(CHAIN)))


def test_lanes_are_wrapped_and_so_is_a_registered_id() -> None:
    envs: Any = gymnasium.make_vec("openenv/CartPole-v1", 2, env_wrappers=[STACK, CLIP])
    assert envs.observation_space.shape == (2, 3, 4)
    envs.reset(seed=1)
    assert envs.step(np.array([0, 1]))[1].tolist() == [0.5, 0.5]
    envs.close()
    before = dict(gymnasium.registry)
    try:
        id = openenv_gym.register_gymnasium("Pendulum-v1", id="openenv/Wide-v0", env_wrappers=[RESCALE])
        env = gymnasium.make(id)
        assert env.action_space == gymnasium.spaces.Box(-2, 3, (1,), np.float32)
        env.close()
    finally:
        gymnasium.registry.clear()
        gymnasium.registry.update(before)


def test_reset_options_reach_what_is_wrapped() -> None:
    env = gymnasium.make("openenv/CartPole-v1", env_wrappers=[STACK], sutton_barto_reward=True)
    env.reset(seed=1)
    assert env.step(0)[1] == 0.0
    env.close()


def test_a_wrapper_that_there_is_not_is_told_by_the_server_that_would_not_start() -> None:
    with pytest.raises(ServerStartError, match="'FrameStackObservation'"):
        gymnasium.make("openenv/CartPole-v1", env_wrappers=[{"name": "FrameStack", "stack_size": 4}])


def test_a_server_that_runs_has_its_own_wrappers() -> None:
    with pytest.raises(ConfigurationError, match="base_url"):
        gymnasium.make("openenv/CartPole-v1", base_url="http://127.0.0.1:1", env_wrappers=[STACK])


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({"name": "FlattenObservation"}, "is a list of wrappers"),
        ([3], r"WRAPPERS\[0\] is a wrapper's name"),
        (["FlattenObservation", {"stack_size": 4}], r"WRAPPERS\[1\] is a wrapper's name"),
        (["FrameStack"], "'FrameStackObservation'"),
        (["NormalizeObservation"], "no wrapper 'NormalizeObservation' to choose"),
        (["os.system"], "no wrapper"),
        ([{"name": "FrameStackObservation", "size": 4}], "no option 'size'.*stack_size"),
        (["FrameStackObservation"], "needs stack_size"),
        ([{"name": "FlattenObservation", "env": 1}], "no option 'env'"),
    ],
)
def test_what_cannot_be_names_its_place_and_what_can(rows: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        read_wrappers(rows)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("GrayscaleObservation", r"WRAPPERS\[0\], GrayscaleObservation, does not fit CartPole-v1"),
        ({"name": "FrameStackObservation", "stack_size": "four"}, "'stack_size': 'four'"),
        ({"name": "RescaleAction", "min_action": -1, "max_action": 1}, "does not fit"),
    ],
)
def test_a_wrapper_that_does_not_fit_says_why(row: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        served(Settings(wrappers=read_wrappers([row])))


def test_the_variable_is_read_as_json() -> None:
    settings = Settings.from_environ({"GYMNASIUM_ENV_WRAPPERS": '[{"name": "FrameStackObservation", "stack_size": 4}]'})
    assert served(settings).environment_class.recipe.observation_space.shape == (4, 4)
    with pytest.raises(ConfigurationError, match="GYMNASIUM_ENV_WRAPPERS is no JSON"):
        Settings.from_environ({"GYMNASIUM_ENV_WRAPPERS": "FlattenObservation"})


def test_every_name_is_a_wrapper_of_this_gymnasium() -> None:
    if "Taxi-v4" not in gymnasium.registry:
        pytest.skip("an older Gymnasium has fewer")
    assert all(issubclass(getattr(wrappers, name), gymnasium.Wrapper) for name in ALLOWED)
    assert list(ALLOWED) == sorted(ALLOWED)


@pytest.mark.parametrize(
    ("env_id", "rows"),
    [
        ("CartPole-v1", [STACK, CLIP]),
        (
            "CartPole-v1",
            [
                {"name": "StickyAction", "repeat_action_probability": 0.5},
                {"name": "DtypeObservation", "dtype": "float64"},
            ],
        ),
        ("Pendulum-v1", [RESCALE, {"name": "DiscretizeObservation", "bins": 5}]),
        ("FrozenLake-v1", [{"name": "DelayObservation", "delay": 1}, "FlattenObservation"]),
    ],
)
def test_a_step_of_values_is_the_step_of_models_when_wrapped(env_id: str, rows: list[Any]) -> None:
    what = served(Settings(env_id=env_id, wrappers=read_wrappers(rows)))
    space = what.environment_class.recipe.observation_space
    one, other = what.environment_class(), what.environment_class()
    actions = what.environment_class.recipe.action_space
    actions.seed(2)
    assert same(one.reset(3).observation, other.reset(3).observation)
    kept = []
    for _ in range(6):
        action = actions.sample()
        value, reward, terminated, truncated, _ = one.step_values(action)
        seen = other.step(what.action_class(action=np.asarray(action).tolist()))
        assert value in space
        assert same((value, reward, terminated or truncated), (seen.observation, seen.reward, seen.done))
        assert type(reward) is float
        kept.append((value, np.copy(value)))
        if terminated or truncated:
            break
    assert all(same(value, copy) for value, copy in kept), "no later step writes into an earlier observation"


def test_pictures_that_are_made_grey_and_stacked_have_the_spaces_that_are_told() -> None:
    odd_envs.register()
    rows = ["GrayscaleObservation", {"name": "FrameStackObservation", "stack_size": 2}]
    what = served(Settings(env_id="odd/Pictures-v0", wrappers=read_wrappers(rows)))
    spaces: Any = what.environment_class.spaces
    env = what.environment_class()
    seen = env.reset(0).observation
    assert (list(seen.shape), str(seen.dtype)) == (spaces["observation"]["shape"], "uint8")
    assert env.step_values(env.recipe.action_space.sample())[0].shape == seen.shape


def test_an_environment_built_anew_is_wrapped_anew_and_its_random_numbers_go_on() -> None:
    env = served(Settings(wrappers=read_wrappers([STACK]))).environment_class()
    local = wrappers.FrameStackObservation(gymnasium.make("CartPole-v1"), 3)
    assert same(env.reset(5).observation, local.reset(seed=5)[0])
    assert same(env.reset(None, None, sutton_barto_reward=True).observation, local.reset()[0])
    env.close()


@pytest.mark.skipif(find_spec("cv2") is not None, reason="OpenCV is installed: pictures can be resized")
def test_what_a_wrapper_needs_is_told_with_what_brings_it() -> None:
    odd_envs.register()
    with pytest.raises(ConfigurationError, match=r"pip install .*opencv-python-headless"):
        served(
            Settings(env_id="odd/Pictures-v0", wrappers=read_wrappers([{"name": "ResizeObservation", "shape": [8, 8]}]))
        )


@pytest.mark.skipif(find_spec("pygame") is None, reason="pictures of classic control need pygame")
def test_observations_can_be_pictures_of_the_environment() -> None:
    what = served(Settings(wrappers=read_wrappers(["AddRenderObservation"])))
    env = what.environment_class()
    assert what.environment_class.execution == "thread", "drawing takes milliseconds"
    assert same(env.reset(1).observation, env.render())
    assert env.step_values(0)[0] in what.environment_class.recipe.observation_space
    env.close()
