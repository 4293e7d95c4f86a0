"""The environment by itself, without a server."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

ale_py = pytest.importorskip("ale_py")

from atari_env.environment import AtariEnvironment  # noqa: E402
from atari_env.models import AtariObservation  # noqa: E402
from atari_env.pictures import scaled  # noqa: E402
from atari_env.serving import Served, served  # noqa: E402
from atari_env.settings import Settings  # noqa: E402
from openenv_gym_protocol.errors import ConfigurationError, InvalidAction  # noqa: E402


def made(**settings: Any) -> AtariEnvironment:
    return served(Settings(**settings)).environment_class()


def played(environment: AtariEnvironment, steps: int, **options: Any) -> Iterator[Any]:
    """The screens of an episode of random actions, and what came with them."""
    random = np.random.default_rng(1)
    yield environment.reset(**options).screen.tobytes()
    for _ in range(steps):
        screen, *rest = environment.step_values(int(random.integers(4)))
        yield screen.tobytes(), rest
        if rest[1] or rest[2]:
            return


def test_the_same_seed_and_actions_give_the_same_episode_and_another_seed_another() -> None:
    first = list(played(made(game="breakout"), 60, seed=7))
    assert first == list(played(made(game="breakout"), 60, seed=7))
    assert first != list(played(made(game="breakout"), 60, seed=8))


@pytest.mark.parametrize(
    ("game", "gymnasium_id"), [("pong", "ALE/Pong-v5"), ("space_invaders", "ALE/SpaceInvaders-v5")]
)
def test_a_seed_plays_what_it_plays_in_gymnasium_through_unseeded_resets_too(game: str, gymnasium_id: str) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    gymnasium.register_envs(ale_py)
    ours, theirs = made(game=game), gymnasium.make(gymnasium_id).unwrapped
    random = np.random.default_rng(1)
    for seed in (5, None, 9):
        assert np.array_equal(ours.reset(seed=seed).screen, theirs.reset(seed=seed)[0])
        for _ in range(50):
            action = int(random.integers(6))
            screen, reward, terminated, truncated, info = ours.step_values(action)
            expected, *outcome, told = theirs.step(action)
            assert np.array_equal(screen, expected)
            assert [reward, terminated, truncated] == outcome
            assert info == {name: told[name] for name in info}


@pytest.mark.parametrize(
    ("named", "field"),
    [({"game_name": "qbert"}, "game_name"), ({"obs_type": "ram"}, "obs_type"), ({"full_action_space": True}, "full")],
)
def test_a_move_that_is_meant_for_another_game_is_refused(named: dict[str, Any], field: str) -> None:
    what = served(Settings(game="breakout", obs_type="grayscale"))
    environment = what.environment_class()
    environment.reset(seed=1)
    with pytest.raises(InvalidAction, match=field):
        environment.step(what.action_class(action_id=1, **named))
    assert environment.state.step_count == 0


@pytest.mark.parametrize(
    "named",
    [
        {"game_name": "breakout", "obs_type": "grayscale", "full_action_space": False},
        {"game_name": "pong", "obs_type": "rgb", "full_action_space": False},  # what openenv's client always sends
    ],
)
def test_a_move_that_names_what_is_served_or_openenvs_defaults_is_played(named: dict[str, Any]) -> None:
    what = served(Settings(game="breakout", obs_type="grayscale"))
    environment = what.environment_class()
    environment.reset(seed=1)
    environment.step(what.action_class(action_id=1, **named))
    assert environment.state.step_count == 1


def test_unseeded_resets_follow_from_the_seed() -> None:
    def play() -> list[Any]:
        environment = made(game="breakout")
        environment.reset(seed=3)
        return [list(played(environment, 30, noop_max=30)) for _ in range(2)]

    assert play() == play()


def test_step_and_step_values_say_the_same() -> None:
    what = served(Settings(game="breakout"))
    slow, quick = what.environment_class(), what.environment_class()
    slow.reset(seed=2)
    quick.reset(seed=2)
    for number in range(40):
        told = slow.step(what.action_class(action_id=number % 4))
        screen, reward, terminated, _, info = quick.step_values(number % 4)
        assert np.array_equal(told.screen, screen)
        assert (told.reward, told.done, told.metadata) == (reward, terminated, info)


@pytest.mark.parametrize(
    ("settings", "shape"),
    [
        ({}, (210, 160, 3)),
        ({"obs_type": "grayscale"}, (210, 160)),
        ({"obs_type": "ram", "frame_stack": 2}, (2, 128)),
        ({"obs_type": "grayscale", "screen_size": 84, "frame_stack": 4}, (4, 84, 84)),
        ({"screen_size": 84}, (84, 84, 3)),
    ],
)
def test_observations_have_the_shape_that_the_space_says(settings: dict[str, Any], shape: tuple[int, ...]) -> None:
    environment = made(**settings)
    assert environment.spaces is not None
    assert tuple(environment.spaces["observation"]["shape"]) == shape
    for screen in (environment.reset(seed=1).screen, environment.step_values(0)[0]):
        assert (screen.shape, screen.dtype) == (shape, np.uint8)


def test_a_stack_holds_the_last_screens_the_oldest_first() -> None:
    alone, stacked = (
        made(game="breakout", obs_type="grayscale"),
        made(game="breakout", obs_type="grayscale", frame_stack=3),
    )
    screens = [alone.reset(seed=1).screen]
    assert np.array_equal(stacked.reset(seed=1).screen, np.stack(screens * 3))
    for action in (1, 2, 3, 3):
        screens.append(alone.step_values(action)[0])
        seen = stacked.step_values(action)[0]
    assert np.array_equal(seen, np.stack(screens[-3:]))


def test_scaling_takes_the_mean_of_each_area() -> None:
    picture = np.array([[0, 10, 20], [30, 40, 50], [60, 70, 80]], np.uint8)
    # A new pixel covers one and a half old ones a side: (4 * 0 + 2 * 10 + 2 * 30 + 40) / 9, and so on.
    assert scaled(picture, 2).tolist() == [[13, 27], [53, 67]]
    assert scaled(np.full((210, 160, 3), 77, np.uint8), 84).tolist() == np.full((84, 84, 3), 77).tolist()


def test_with_terminal_on_life_loss_an_episode_ends_with_a_life() -> None:
    environment = made(game="breakout")
    environment.reset(seed=1, terminal_on_life_loss=True)
    for _ in range(300):
        _, _, terminated, _, info = environment.step_values(1)
        if terminated:
            break
    assert (terminated, info["lives"]) == (True, 4)
    with pytest.raises(RuntimeError, match="reset first"):
        environment.step_values(1)


def test_an_episode_is_cut_off_after_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atari_env.console.MAX_FRAMES", 40)
    environment = made()
    environment.reset(seed=1)
    ends = [environment.step_values(0)[2:4] for _ in range(10)]
    assert ends == [(False, False)] * 9 + [(False, True)]


def test_the_screen_travels_in_base64_or_as_openenvs_flat_list() -> None:
    in_text, in_list = (served(Settings(obs_type="ram", screen=form)) for form in ("base64", "list"))
    texts, lists = ([json.loads(seen.model_dump_json()) for seen in two_steps(what)] for what in (in_text, in_list))
    for text, plain in zip(texts, lists, strict=True):
        assert isinstance(text["screen"], str)
        assert len(plain["screen"]) == 128
        assert AtariObservation(**text).screen.tolist() == AtariObservation(**plain).screen.tolist() == plain["screen"]


def two_steps(what: Served) -> list[AtariObservation]:
    environment = what.environment_class()
    return [environment.reset(seed=1), environment.step(what.action_class(action_id=2))]


def test_a_client_gets_the_screen_in_its_shape() -> None:
    told = json.loads(made().reset(seed=1).model_dump_json())
    assert AtariObservation(**told).screen.shape == (210, 160, 3)
    with pytest.raises(ValueError, match="has not the shape"):
        AtariObservation(**{**told, "screen_shape": [2, 2]})


def test_an_action_outside_the_games_is_refused() -> None:
    with pytest.raises(ValueError, match="less than or equal to 5"):
        served(Settings()).action_class(action_id=6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game": "brakeout"}, "Did you mean 'breakout'"),
        ({"game": "space_invaders", "mode": 99}, "has no mode 99 .* nearest is 15"),
        ({"game": "space_invaders", "difficulty": 9}, "nearest is 1; it has 0, 1"),
    ],
)
def test_a_game_mode_or_difficulty_that_there_is_not_is_named_with_the_nearest(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        served(Settings(**settings))


def test_settings_are_json_or_plain_text() -> None:
    environ = {"ATARI_GAME": '"qbert"', "ATARI_OBS_TYPE": "ram", "ATARI_FRAMESKIP": "2", "ATARI_FRAME_STACK": "null"}
    assert Settings.from_environ(environ) == Settings(game="qbert", obs_type="ram", frameskip=2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ATARI_OBS_TYPE", "grey"),
        ("ATARI_FRAMESKIP", "0"),
        ("ATARI_SCREEN_SIZE", "84.5"),
        ("ATARI_REPEAT_ACTION_PROBABILITY", "2"),
        ("ATARI_FULL_ACTION_SPACE", "perhaps"),
        ("ATARI_SCREEN", "png"),
    ],
)
def test_a_setting_that_cannot_be_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Settings.from_environ({name: value})
