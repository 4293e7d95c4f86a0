"""The environment by itself, without a server, beside minigrid's own."""

import os
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
pytest.importorskip("minigrid")

import gymnasium
from minigrid.wrappers import ImgObsWrapper, RGBImgPartialObsWrapper
from minigrid_env.environment import environment_of
from minigrid_env.models import MiniGridAction, MiniGridImageObservation, MiniGridObservation
from minigrid_env.settings import Settings
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.gymnasium_spaces import data_to_space
from pydantic import ValidationError

import openenv_gym.bridge.spaces.text  # noqa: F401  # UnicodeText among the spaces as data

IDS = [
    "MiniGrid-Empty-5x5-v0",
    "MiniGrid-Empty-8x8-v0",
    "MiniGrid-DoorKey-6x6-v0",
    "MiniGrid-DoorKey-8x8-v0",
    "MiniGrid-FourRooms-v0",
    "MiniGrid-LavaGapS5-v0",
    "MiniGrid-KeyCorridorS3R1-v0",
    "MiniGrid-MultiRoom-N2-S4-v0",
    "MiniGrid-GoToDoor-5x5-v0",
    "BabyAI-GoToLocal-v0",
]


def made(env_id: str, view: Any = "dict") -> Any:
    return environment_of(env_id, view)()


@pytest.mark.parametrize("env_id", IDS)
def test_episodes_are_those_of_minigrid_through_unseeded_resets_too(env_id: str) -> None:
    local, ours = gymnasium.make(env_id, disable_env_checker=True), made(env_id)
    actions = np.random.default_rng(7)
    for seed in (11, None, None):
        expected, _ = local.reset(seed=seed)
        seen = ours.reset(seed=seed)
        assert (seen.reward, seen.done) == (None, False)
        for _ in range(60):
            assert (seen.direction, seen.mission) == (expected["direction"], expected["mission"])
            np.testing.assert_array_equal(seen.image, expected["image"])
            if seen.done:
                break
            action = int(actions.integers(7))
            expected, reward, terminated, truncated, _ = local.step(action)
            seen = ours.step(MiniGridAction(action=action))
            assert (seen.reward, seen.done) == (reward, terminated or truncated)
            assert seen.metadata.get("truncated", False) == (truncated and not terminated)
    ours.close()
    local.close()


@pytest.mark.parametrize("view", ["image", "rgb"])
def test_views_are_those_of_minigrids_wrappers(view: str) -> None:
    env_id = "MiniGrid-DoorKey-6x6-v0"
    local = gymnasium.make(env_id, disable_env_checker=True)
    local = ImgObsWrapper(RGBImgPartialObsWrapper(local) if view == "rgb" else local)
    ours = made(env_id, view)
    space: Any = data_to_space(type(ours).spaces["observation"])
    assert space == local.observation_space
    expected, seen = local.reset(seed=4)[0], ours.reset(seed=4)
    for action in (0, 2, 2, 1, 3, 5, 2):
        assert type(seen) is MiniGridImageObservation
        assert seen.image in space
        np.testing.assert_array_equal(seen.image, expected)
        expected, seen = local.step(action)[0], ours.step(MiniGridAction(action=action))


def test_a_whole_observation_is_in_its_space_and_travels_as_it_is() -> None:
    ours = made("MiniGrid-DoorKey-6x6-v0")
    seen = ours.reset(seed=2)
    space: Any = data_to_space(type(ours).spaces["observation"])
    assert {"image": seen.image, "direction": np.int64(seen.direction), "mission": seen.mission}.keys() == space.keys()
    assert seen.image in space["image"]
    again = MiniGridObservation.model_validate_json(seen.model_dump_json())
    np.testing.assert_array_equal(again.image, seen.image)
    for wrong in ("!", "AAAAAAAA"):
        with pytest.raises(ValidationError):
            MiniGridObservation(image=wrong, direction=0, mission="")


def test_the_goal_pays_by_how_soon_it_is_reached() -> None:
    ours = made("MiniGrid-Empty-5x5-v0")
    ours.reset(seed=1)
    for action in (2, 2, 1, 2):
        assert ours.step(MiniGridAction(action=action)).reward == 0
    seen = ours.step(MiniGridAction(action=2))
    assert (seen.reward, seen.done, seen.metadata) == (1 - 0.9 * 5 / 100, True, {"steps_left": 95})
    with pytest.raises(RuntimeError, match="reset first"):
        ours.step(MiniGridAction(action=2))


def test_the_ids_own_limit_cuts_off_and_an_option_holds_for_one_episode() -> None:
    ours = made("MiniGrid-Empty-5x5-v0")
    for limit, option in ((3, 3), (100, None)):
        ours.reset(seed=1, max_steps=option)
        seen = [ours.step(MiniGridAction(action=0)) for _ in range(limit)]
        assert [one.done for one in seen] == [False] * (limit - 1) + [True]
        assert seen[-1].metadata == {"steps_left": 0, "truncated": True}
        assert ours.state.max_steps == limit


def test_the_state_and_pictures_show_the_whole_grid() -> None:
    ours = made("MiniGrid-DoorKey-6x6-v0")
    with pytest.raises(RuntimeError, match="reset first"):
        ours.render()
    assert ours.state.grid is None
    ours.reset(seed=1)
    before = ours.render("rgb_array")
    assert (before.shape, before.dtype) == ((192, 192, 3), np.uint8)
    ours.step(MiniGridAction(action=0))
    assert (ours.render("rgb_array") != before).any()
    assert ours.state.grid == ours.render("ansi")
    assert len(ours.render("ansi").splitlines()) == 6
    with pytest.raises(ValueError, match="human"):
        ours.render("human")


@pytest.mark.parametrize("action", [-1, 7, "forward", None, 0.5])
def test_an_action_that_is_none_is_refused(action: Any) -> None:
    with pytest.raises(ValidationError):
        MiniGridAction(action=action)


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"MINIGRID_ENV_ID": "CartPole-v1"}, "MINIGRID_ENV_ID='CartPole-v1'"),
        ({"MINIGRID_OBSERVATION": "pixels"}, "MINIGRID_OBSERVATION='pixels'"),
        ({"MINIGRID_ENV_ID": "MiniGrid-DorKey-6x6-v0"}, "Near it: MiniGrid-DoorKey-6x6-v0"),
        ({"MINIGRID_ENV_ID": "MiniGrid-:x-v0"}, "MiniGrid-:x-v0"),
    ],
)
def test_a_setting_that_cannot_be_is_named(environ: dict[str, str], message: str) -> None:
    def read() -> None:
        settings = Settings.from_environ(environ)
        environment_of(settings.env_id, settings.observation)

    with pytest.raises(ConfigurationError, match=message):
        read()


def test_settings_come_as_text_and_as_json() -> None:
    for env_id in ("MiniGrid-Unlock-v0", '"MiniGrid-Unlock-v0"'):
        told = Settings.from_environ({"MINIGRID_ENV_ID": env_id, "MINIGRID_OBSERVATION": "rgb"})
        assert told == Settings(env_id="MiniGrid-Unlock-v0", observation="rgb")
    assert Settings.from_environ({}) == Settings()
