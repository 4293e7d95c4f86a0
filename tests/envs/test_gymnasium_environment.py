"""The gymnasium project plays what Gymnasium plays: the environment by itself, without a server."""

from __future__ import annotations

import base64
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium_env.environment import GymnasiumEnvironment
from gymnasium_env.serving import Served, served
from gymnasium_env.settings import Settings
from openenv_gym_protocol.errors import ConfigurationError, ExecutionError, InvalidMessage
from openenv_gym_server import create_app
from openenv_gym_server.serialisation import fields_of, take_apart
from openenv_gym_server.testing import LocalClient
from pydantic import ValidationError

from tests.support import odd_envs
from tests.support.gymnasium_values import same

CLASSIC = ("CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1")
TOY_TEXT = (
    *("Blackjack-v1", "FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v0", "CliffWalking-v1"),
    *("CliffWalkingSlippery-v1", "Taxi-v3", "Taxi-v4"),
)
IDS = [env_id for env_id in (*CLASSIC, *TOY_TEXT) if env_id in gymnasium.registry]
KEYWORDS: dict[str, dict[str, Any]] = {
    "CartPole-v1": {"sutton_barto_reward": True},
    "Pendulum-v1": {"g": 9.81},
    "Blackjack-v1": {"natural": True, "sab": False},
    "FrozenLake-v1": {"is_slippery": False},
    "FrozenLake8x8-v1": {"success_rate": 0.9, "reward_schedule": (5, -1, -0.5)},
    "CliffWalking-v1": {"is_slippery": True},
    "Taxi-v4": {"is_rainy": True, "fickle_passenger": True},
}
EPISODES, STEPS = 4, 40


def serving(env_id: str, **settings: Any) -> Served:
    return served(Settings(env_id=env_id, **settings))


def has_keywords(env_id: str) -> bool:
    """Whether this Gymnasium has the id with its keywords."""
    return env_id in IDS and KEYWORDS[env_id].keys() <= serving(env_id).environment_class.recipe.keywords.keys()


def environment(env_id: str, **settings: Any) -> GymnasiumEnvironment:
    return serving(env_id, **settings).environment_class()


def odd(name: str, **settings: Any) -> Served:
    odd_envs.register()
    return serving(f"odd/{name}-v0", **settings)


def client(what: Served) -> LocalClient:
    return LocalClient(create_app(what.environment_class, what.action_class, what.observation_class))


def sampled(space: gymnasium.Space[Any], seed: int) -> list[Any]:
    space.seed(seed)
    return [space.sample() for _ in range(EPISODES * STEPS)]


def plays_locally(env_id: str, seed: int, keywords: dict[str, Any]) -> list[Any]:
    """Plays the seeded episode and unseeded ones after it with Gymnasium's own environment, without a time limit."""
    env = gymnasium.make(env_id, max_episode_steps=-1, disable_env_checker=True, **keywords)
    actions = iter(sampled(env.action_space, seed))
    events: list[Any] = []
    for episode in range(EPISODES):
        events.append(env.reset(seed=seed if episode == 0 else None))
        for _ in range(STEPS):
            events.append(env.step(next(actions)))
            if events[-1][2]:
                break
    env.close()
    return events


def plays_ours(what: Served, seed: int, keywords: dict[str, Any]) -> list[Any]:
    """Plays the same with the project's environment."""
    env = what.environment_class()
    actions = iter(sampled(env.recipe.action_space, seed))
    events: list[Any] = []
    for episode in range(EPISODES):
        seen = env.reset(seed if episode == 0 else None, None, **keywords)
        events.append((seen.observation, seen.metadata))
        for _ in range(STEPS):
            seen = env.step(what.action_class(action=np.asarray(next(actions)).tolist()))
            events.append((seen.observation, seen.reward, seen.done, False, seen.metadata))
            if seen.done:
                break
    env.close()
    return events


@pytest.mark.parametrize("env_id", IDS)
def test_every_trajectory_is_gymnasiums_through_unseeded_resets_too(env_id: str) -> None:
    what = serving(env_id)
    for seed in (*range(25), 2**31 - 1, 2**32, 2**63):
        assert same(plays_ours(what, seed, {}), plays_locally(env_id, seed, {})), f"seed {seed}"


@pytest.mark.parametrize(("env_id", "keywords"), [item for item in KEYWORDS.items() if has_keywords(item[0])])
def test_the_constructors_keywords_are_reset_options(env_id: str, keywords: dict[str, Any]) -> None:
    what = serving(env_id)
    differs = False
    for seed in range(25):
        local = plays_locally(env_id, seed, keywords)
        assert same(plays_ours(what, seed, keywords), local), f"seed {seed}"
        differs = differs or not same(local, plays_locally(env_id, seed, {}))
    assert differs, "the seeds must reach what the keywords change"


@pytest.mark.parametrize("env_id", IDS)
def test_the_environments_own_reset_options_are_passed_on(env_id: str) -> None:
    what = serving(env_id)
    options = dict.fromkeys(what.environment_class.start_options, 0.07) | {
        name: -0.03 for name in what.environment_class.start_options if name == "low"
    }
    local = gymnasium.make(env_id, disable_env_checker=True)
    env = what.environment_class()
    for seed in range(5):
        expected = local.reset(seed=seed, options=options or None)[0]
        assert same(env.reset(seed, None, **options).observation, expected)
    assert bool(options) == (env_id in CLASSIC), "classic control has them"


def test_an_environment_is_built_at_the_first_reset_and_again_when_its_keywords_change() -> None:
    env: Any = environment("FrozenLake-v1")
    assert env._env is None

    def built(**keywords: Any) -> Any:
        env.reset(None, None, **keywords)
        return env._env

    first, again, other, other_again, default = [
        built(),
        built(),
        built(is_slippery=False),
        built(is_slippery=False),
        built(),
    ]
    assert first is again
    assert other is other_again
    assert len({id(env) for env in (first, other, default)}) == 3, "what is left out has its default again"


def test_the_random_stream_goes_on_when_the_environment_is_built_anew() -> None:
    env = environment("CartPole-v1")
    local = gymnasium.make("CartPole-v1", disable_env_checker=True)
    assert same(env.reset(5).observation, local.reset(seed=5)[0])
    for changed in (True, False, True):
        seen = env.reset(None, None, sutton_barto_reward=changed)
        assert same(seen.observation, local.reset()[0])


def test_an_environment_never_seeded_differs_from_the_next() -> None:
    def first() -> Any:
        return environment("CartPole-v1").reset().observation.tolist()

    assert first() != first()


def test_a_keyword_that_changes_the_spaces_is_refused_and_the_old_environment_stays() -> None:
    env = odd("Scripted").environment_class()
    env.reset(0)
    before = env._env
    with pytest.raises(ValueError, match="GYMNASIUM_ENV_KWARGS"):
        env.reset(None, None, wide=True)
    with pytest.raises(ValueError, match="below zero"):
        env.reset(None, None, number=-1.0)
    assert env._env is before
    assert env.reset().observation.shape == (2,)


def test_keywords_of_the_server_have_their_spaces_told_and_are_no_options() -> None:
    what = serving("FrozenLake-v1", env_kwargs={"map_name": "8x8", "is_slippery": False})
    spaces = what.environment_class.spaces
    assert spaces is not None
    assert spaces["observation"]["n"] == 64
    env = what.environment_class()
    assert not {"is_slippery", "map_name"} & set(env.recipe.keywords)
    env.reset(0)
    assert [env.step(what.action_class(action=2)).observation for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("env_id", IDS)
def test_only_numbers_and_flags_are_options(env_id: str) -> None:
    keywords = serving(env_id).environment_class.recipe.keywords
    assert not {"render_mode", "map_name", "desc"} & set(keywords)


def test_an_operator_may_allow_fewer_options() -> None:
    what = serving("Blackjack-v1", options=("sab",))
    assert set(what.environment_class.recipe.keywords) == {"sab"}
    assert serving("Blackjack-v1", options=()).environment_class.recipe.keywords == {}
    with pytest.raises(ConfigurationError, match="map_name"):
        serving("FrozenLake-v1", options=("map_name",))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"env_id": "CartPole-v9"}, "CartPole-v1"),
        ({"env_id": "Blackjack-v1", "env_kwargs": {"natrual": True}}, "natural"),
        ({"env_id": "MountanCar-v0"}, "Near it: MountainCar"),
        ({"env_id": "FrozenLake-v1", "env_kwargs": {"map_name": "9x9"}}, "cannot be made with .*'9x9'.*KeyError"),
        ({"modules": ("mine.envs",)}, r"CartPole-v1 needs the module 'mine', which \S+python\S* does not have"),
    ],
)
def test_settings_that_do_not_fit_name_what_does(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        served(Settings(**settings))


def test_an_id_with_a_name_like_no_other_is_said_to_be_near_none() -> None:
    with pytest.raises(ConfigurationError) as raised:
        serving("Nope-v0")
    assert "Near" not in raised.value.message


@pytest.mark.parametrize(
    ("env_id", "module", "told"),
    [
        ("ALE/Pong-v5", "ale_py", "pip install ale-py"),
        ("BipedalWalker-v3", "Box2D", r"gymnasium\[box2d\]"),
        ("Ant-v5", "mujoco", r"gymnasium\[mujoco\]"),
    ],
)
def test_what_an_id_needs_is_told_with_what_brings_it(env_id: str, module: str, told: str) -> None:
    if find_spec(module) is not None:
        pytest.skip(f"{module} is installed")
    settings = Settings.from_environ({"GYMNASIUM_ENV_ID": env_id})
    with pytest.raises(ConfigurationError, match=told) as raised:
        served(settings)
    # What stands above it in the server's log would be taken for the cause.
    assert raised.value.__suppress_context__


def test_wrong_options_and_actions_are_refused_before_the_environment_runs() -> None:
    with client(serving("Pendulum-v1")) as table:
        with pytest.raises(InvalidMessage):
            table.reset(g="heavy")
        table.reset(seed=1)
        for action in (3.0, [0.1, 0.2], "left", None, [True]):
            with pytest.raises(InvalidMessage):
                table.step(action=action)
        table.step(action=0.5)
        table.step(action=[0.5])


@pytest.mark.parametrize("action", [-1, 2, 0.5, True, "1", None, [0]])
def test_an_action_outside_a_discrete_space_is_refused(action: Any) -> None:
    with pytest.raises(ValidationError):
        serving("CartPole-v1").action_class(action=action)


def test_a_step_without_an_episode_says_to_reset() -> None:
    what = serving("CartPole-v1")
    with pytest.raises(RuntimeError, match="reset first"):
        what.environment_class().step(what.action_class(action=0))


def plays_values(what: Served, seed: int) -> list[Any]:
    """Plays what ``plays_locally`` plays, without the models."""
    env = what.environment_class()
    actions = iter(sampled(env.recipe.action_space, seed))
    events: list[Any] = []
    for episode in range(EPISODES):
        seen = env.reset(seed if episode == 0 else None)
        events.append((seen.observation, seen.metadata))
        for _ in range(STEPS):
            events.append(env.step_values(next(actions)))
            if events[-1][2]:
                break
    env.close()
    return events


@pytest.mark.parametrize("env_id", IDS)
def test_a_step_of_values_is_the_step_of_models(env_id: str) -> None:
    what = serving(env_id)
    space = what.environment_class.recipe.observation_space
    for seed in range(5):
        played = plays_values(what, seed)
        assert same(played, plays_ours(what, seed, {})), f"seed {seed}"
        steps = [event for event in played if len(event) == 5]
        assert all(value in space for value, *_ in steps)
        kinds = {tuple(map(type, event[1:])) for event in steps}
        assert kinds == {(float, bool, bool, dict)}, "nothing of numpy's is left"


def test_a_number_of_an_action_is_what_the_space_samples() -> None:
    what = odd("Pictures")
    env = what.environment_class()
    env.reset()
    for step in (lambda: env.step_values(1), lambda: env.step(what.action_class(action=1))):
        step()
        action = env._played.env.unwrapped.last_action  # type: ignore[attr-defined]
        assert (type(action), action) == (type(what.environment_class.recipe.action_space.sample()), 1)


@pytest.mark.parametrize(("ends", "expected"), [(False, (False, True)), (True, (True, False))])
def test_a_step_of_values_tells_the_end_of_an_episode_as_the_step_of_models_does(
    ends: bool, expected: tuple[bool, bool]
) -> None:
    env = odd("Scripted", env_kwargs={"ends": ends}, own_time_limit=not ends).environment_class()
    env.reset(0)
    told = [env.step_values(0)[2:4] for _ in range(1 if ends else 3)]
    assert told[-1] == expected
    assert "truncated" not in env.step_values(0)[4], "the flag has told it"
    assert (env.terminated, env.truncated) == (ends, True)


class FailsToStart(odd_envs.Scripted):
    """Cannot be reset with a number above zero."""

    def reset(self, **how: Any) -> Any:
        if self.number > 0:
            raise ValueError("no start")
        return super().reset(**how)


def test_a_failed_reset_of_an_environment_built_anew_leaves_no_episode() -> None:
    entry_point: Any = FailsToStart
    gymnasium.register("odd/FailsToStart-v0", entry_point=entry_point)
    try:
        env = odd("FailsToStart").environment_class()
        env.reset(0)
        env.step_values(0)
        with pytest.raises(ValueError, match="no start"):
            env.reset(None, None, number=1.0)
        with pytest.raises(RuntimeError, match="reset first"):
            env.step_values(0)
        assert env.state.step_count == 0
    finally:
        del gymnasium.registry["odd/FailsToStart-v0"]


def test_there_is_no_time_limit_unless_the_server_is_to_keep_the_ids_own() -> None:
    free, limited = odd("Scripted"), odd("Scripted", own_time_limit=True)
    for what, expected in ((free, [False] * 4), (limited, [False, False, True])):
        env = what.environment_class()
        env.reset(0)
        seen = [env.step(what.action_class(action=0)) for _ in expected]
        assert [step.done for step in seen] == expected
        assert [step.metadata.get("truncated", False) for step in seen] == expected
        assert (env.terminated, env.truncated) == (False, expected[-1])


def test_an_episode_that_ends_and_is_cut_off_at_once_counts_as_terminated() -> None:
    what = odd("Scripted", env_kwargs={"ends": True})
    env = what.environment_class()
    env.reset(0)
    seen = env.step(what.action_class(action=0))
    assert (seen.done, "truncated" in seen.metadata) == (True, False)
    assert (env.terminated, env.truncated, env.state.truncated) == (True, True, True)


def test_infos_lose_only_what_json_cannot_carry_and_say_so_once(caplog: pytest.LogCaptureFixture) -> None:
    env = odd("Scripted").environment_class()
    metadata = env.reset(0).metadata
    assert metadata.keys() == {"info.truncated", "deep"}, "an info is no sign that the episode was cut off"
    env.reset()
    assert [record.args[0] for record in caplog.records if isinstance(record.args, tuple)] == ["thing", "3"]


def test_an_infinite_number_is_told_as_null_and_a_reward_that_is_none_fails_the_step() -> None:
    with client(odd("Scripted")) as table:
        table.reset(seed=0)
        result = table.step(action=0)
        assert result.wire["observation"] == [0.0, None]
        assert result.metadata == {"none": None}
    with client(odd("NanReward")) as table:
        table.reset(seed=0)
        with pytest.raises(ExecutionError, match="nan"):
            table.step(action=0)


def test_the_state_tells_what_is_played() -> None:
    what = serving("FrozenLake-v1")
    env = what.environment_class()
    assert (env.state.env_id, env.state.step_count) == ("FrozenLake-v1", 0)
    env.reset(1, "mine", is_slippery=False)
    env.step(what.action_class(action=1))
    state = env.state
    assert (state.episode_id, state.step_count, state.keywords["is_slippery"]) == ("mine", 1, False)
    assert env.get_metadata().name == "FrozenLake-v1"


@pytest.mark.parametrize(("env_id", "expected"), [("CartPole-v1", "inline"), ("odd/Scripted-v0", "thread")])
def test_only_steps_known_to_be_short_run_inline(env_id: str, expected: str) -> None:
    odd_envs.register()
    assert serving(env_id).environment_class.execution == expected


def test_attributes_are_read_and_set_by_an_allow_list() -> None:
    env: Any = environment("CartPole-v1")
    assert env.length == 0.5, "before the first reset it has the defaults"
    with pytest.raises(RuntimeError, match="reset first"):
        env.step(serving("CartPole-v1").action_class(action=0))
    env.reset(0)
    assert env.length == 0.5
    env.length = 1
    assert env._env.unwrapped.length == 1
    assert "length" not in vars(env)
    for name in ("np_random", "lenght", "screen"):
        with pytest.raises(AttributeError, match="length"):
            getattr(env, name)
    for value in ("long", True, None):
        with pytest.raises(TypeError):
            env.length = value
    env.reset(None, None, sutton_barto_reward=True)
    assert env.length == 0.5, "it held until the environment was built anew"


@pytest.mark.parametrize("env_id", IDS)
def test_the_allowed_attributes_are_there(env_id: str) -> None:
    env = environment(env_id)
    env.reset(0)
    assert all(isinstance(getattr(env, name), int | float | str) for name in env.remote_names)


def test_a_text_picture_is_gymnasiums() -> None:
    env = environment("FrozenLake-v1")
    with pytest.raises(RuntimeError, match="reset first"):
        env.render("ansi")
    env.reset(3)
    local = gymnasium.make("FrozenLake-v1", render_mode="ansi")
    local.reset(seed=3)
    assert env.render("ansi") == local.render()
    for mode in ("human", "rgb", ""):
        if mode:
            with pytest.raises(ValueError, match="rgb_array"):
                env.render(mode)


@pytest.mark.skipif(find_spec("pygame") is not None, reason="pygame is installed: pictures can be drawn")
def test_without_what_draws_a_picture_says_what_to_install() -> None:
    env = environment("CartPole-v1")
    env.reset(0)
    with pytest.raises(RuntimeError, match="pip install"):
        env.render()


@pytest.mark.skipif(find_spec("pygame") is None, reason="pictures of classic control need pygame")
@pytest.mark.parametrize("env_id", IDS)
def test_a_picture_is_gymnasiums(env_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env, other = environment(env_id), environment(env_id)
    local = gymnasium.make(env_id, render_mode="rgb_array")
    env.reset(3)
    other.reset(3)
    local.reset(seed=3)
    np.testing.assert_array_equal(env.render(), local.render())
    other.render()
    other.close()
    assert env.render("rgb_array").dtype == np.uint8, "another session's end ends no other's pictures"
    env.close()
    local.close()


def test_pixels_are_no_base64_where_they_go_into_columns() -> None:
    what = odd("Pictures")
    observation = what.environment_class().reset(0)
    space = what.environment_class.recipe.observation_space
    in_json = take_apart(observation, allow_nonfinite_reward=False).observation["observation"]
    in_columns = fields_of(observation, as_columns=True)["observation"]
    assert isinstance(in_json, str)
    assert base64.b64decode(in_json) == in_columns.tobytes()
    assert in_columns in space
