"""Gymnasium's own environments through a server, compared with themselves step by step."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from openenv_gym_protocol.errors import (
    ConfigurationError,
    ExecutionError,
    InvalidObservation,
    SchemaMismatch,
    ServerStartError,
    UnknownOption,
)
from openenv_gym_registry.catalogue import catalogue
from openenv_gym_registry.gymnasium_ids import register_gymnasium
from openenv_gym_registry.projects import bundled_project

import openenv_gym
from tests.support import odd_envs
from tests.support.gymnasium_libraries import library_of
from tests.support.gymnasium_values import same, same_infos, without_ours
from tests.support.servers import running_server

NEWEST = "Taxi-v4" in gymnasium.registry
"""Whether this Gymnasium is at least 1.4, which the catalogue describes."""

IDS = {
    variant.settings["GYMNASIUM_ENV_ID"]: variant.id
    for variant in catalogue()["gymnasium"].variants
    if variant.settings["GYMNASIUM_ENV_ID"] in gymnasium.registry
    # The others are driven where their libraries are.
    and library_of(variant.settings["GYMNASIUM_ENV_ID"]) is None
}
WIRES = ("vector", "standard")
SUPPORT = {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
"""The setting with which a server finds ``tests.support.odd_envs``."""


@pytest.fixture(scope="module", autouse=True)
def _servers_end_with_the_module() -> Iterator[None]:
    yield
    openenv_gym.shutdown()


@pytest.fixture
def registry() -> Iterator[None]:
    odd_envs.register()
    before = dict(gymnasium.registry)
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


def warnings_of_check_env(id: str, **keywords: Any) -> set[str]:
    """What Gymnasium's checker warns of. Pictures are left out: local ones need a library."""
    env = gymnasium.make(id, **keywords)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env.unwrapped, skip_render_check=True)
    env.close()
    return {str(warning.message) for warning in caught}


@pytest.mark.requirement("E3", "E5", "E6")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("env_id", IDS)
def test_check_env_warns_of_nothing_that_it_does_not_warn_of_locally(env_id: str, wire: str) -> None:
    assert warnings_of_check_env(IDS[env_id], wire=wire) == warnings_of_check_env(env_id)


def trajectory(id: str, seed: int, episodes: int = 3, **keywords: Any) -> list[Any]:
    """Plays one seeded episode and unseeded ones after it, with the id's time limit but at most 60 steps each."""
    env = gymnasium.make(id, **keywords)
    env.action_space.seed(seed)
    events: list[Any] = []
    for episode in range(episodes):
        observation, info = env.reset(seed=seed if episode == 0 else None)
        assert observation in env.observation_space
        events.append((observation, without_ours(info)))
        for _ in range(60):
            *step, info = env.step(env.action_space.sample())
            events.append((*step, without_ours(info)))
            if step[2] or step[3]:
                break
    env.close()
    return events


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("env_id", IDS)
def test_every_step_is_gymnasiums_own(env_id: str, wire: str) -> None:
    for seed in (0, 1, 2, 2**40):
        ours, theirs = trajectory(IDS[env_id], seed, wire=wire), trajectory(env_id, seed)
        assert same(ours, theirs), f"seed {seed}"
    for left, right in zip(ours, theirs, strict=True):
        np.testing.assert_equal(np.asarray(left[0]).dtype, np.asarray(right[0]).dtype)
        assert left[-1].keys() == right[-1].keys()


def test_an_episode_is_cut_off_at_the_ids_own_limit() -> None:
    env = gymnasium.make("openenv/MountainCar-v0")
    env.reset(seed=0)
    ends = [env.step(1)[2:4] for _ in range(200)]
    env.close()
    assert ends == [(False, False)] * 199 + [(False, True)]


@pytest.mark.requirement("V2", "vector/spaces")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("env_id", IDS)
def test_every_lane_is_that_of_gymnasiums_vector_environment(env_id: str, mode: AutoresetMode, wire: str) -> None:
    theirs = gymnasium.make_vec(
        env_id, 4, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, max_episode_steps=25
    )
    ours = gymnasium.make_vec(IDS[env_id], 4, autoreset_mode=mode, max_episode_steps=25, wire=wire)
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    theirs.action_space.seed(1)
    for _ in plays(theirs, ours, mode):
        actions = theirs.action_space.sample()
        expected, found = theirs.step(actions), ours.step(actions)
        assert same(found[:4], expected[:4])
        assert [array.dtype for array in found[1:4]] == [array.dtype for array in expected[1:4]]
        assert same_infos(found[4], expected[4])
        if mode is AutoresetMode.DISABLED and (ended := expected[2] | expected[3]).any():
            begun, ours_begun = (envs.reset(options={"reset_mask": ended.copy()}) for envs in (theirs, ours))
            assert same(ours_begun[0], begun[0])
            assert same_infos(ours_begun[1], begun[1])
    theirs.close()
    ours.close()


def plays(theirs: Any, ours: Any, mode: AutoresetMode) -> Iterator[int]:
    """Resets both, and gives as many steps as reach the time limit twice."""
    expected, found = theirs.reset(seed=[3, 1, 4, 1]), ours.reset(seed=[3, 1, 4, 1])
    assert same(found[0], expected[0])
    assert same_infos(found[1], expected[1])
    yield from range(56)


@pytest.mark.parametrize(
    ("env_id", "keywords"),
    [
        ("FrozenLake-v1", {"is_slippery": False}),
        ("FrozenLake-v1", {"map_name": "8x8"}),
        ("FrozenLake-v1", {"desc": ["SFF", "FHF", "FFG"]}),
        ("CartPole-v1", {"sutton_barto_reward": True}),
        *(
            [
                ("FrozenLake-v1", {"map_name": "8x8", "is_slippery": False, "reward_schedule": [2, -1, 0]}),
                ("Taxi-v4", {"is_rainy": True}),
            ]
            if NEWEST
            else []
        ),
    ],
)
def test_keywords_are_gymnasiums_own(env_id: str, keywords: dict[str, Any]) -> None:
    ours, theirs = gymnasium.make(IDS[env_id], **keywords), gymnasium.make(env_id, **keywords)
    assert ours.observation_space == theirs.observation_space
    for env in (ours, theirs):
        env.close()
    assert same(trajectory(IDS[env_id], 3, **keywords), trajectory(env_id, 3, **keywords))
    assert same(
        trajectory("openenv/Gymnasium-v0", 3, env_id=env_id, env_kwargs=keywords, max_episode_steps=60),
        trajectory(env_id, 3, max_episode_steps=60, **keywords),
    )


def test_lanes_have_keywords_that_change_the_spaces_too() -> None:
    ours = gymnasium.make_vec("openenv/FrozenLake-v1", 2, map_name="8x8", is_slippery=False)
    assert ours.single_observation_space == gymnasium.spaces.Discrete(64)
    ours.reset(seed=1)
    assert ours.step(np.array([1, 2]))[0].tolist() == [8, 1]
    ours.close()


def test_an_array_of_the_info_keeps_its_dtype_on_the_vector_wire() -> None:
    env_id = "Taxi-v4" if NEWEST else "Taxi-v3"
    env, local = gymnasium.make(IDS[env_id], wire="vector"), gymnasium.make(env_id)
    mask, expected = env.reset(seed=1)[1]["action_mask"], local.reset(seed=1)[1]["action_mask"]
    assert (mask.dtype, mask.tolist()) == (expected.dtype, expected.tolist())
    action = env.action_space.sample(mask)
    assert env.step(action)[4]["action_mask"].dtype == np.int8
    env.close()
    many = gymnasium.make_vec(IDS[env_id], 2, wire="vector")
    assert many.reset(seed=1)[1]["action_mask"].dtype == np.int8
    many.close()


def test_a_reset_option_holds_once() -> None:
    env = gymnasium.make("openenv/CartPole-v1")
    local = gymnasium.make("CartPole-v1")
    for options in ({"low": -0.2, "high": 0.1}, None):
        expected = local.reset(seed=4, options=options)[0]
        np.testing.assert_array_equal(env.reset(seed=4, options=options)[0], expected)
    env.close()


def test_an_id_known_to_nobody_here_keeps_its_limit_in_the_server(registry: None) -> None:
    env = gymnasium.make(
        "openenv/Gymnasium-v0", env_id="odd/Pictures-v0", modules=["tests.support.odd_envs"], settings=SUPPORT
    )
    assert env.observation_space == odd_envs.PIXELS
    env.reset(seed=1)
    assert [env.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
    env.close()


@pytest.mark.parametrize(("given", "expected"), [(None, 3), (5, 5), (-1, None)])
def test_make_vecs_limit_goes_before_the_ids_own(registry: None, given: int | None, expected: int | None) -> None:
    envs = gymnasium.make_vec(
        "openenv/Gymnasium-v0",
        2,
        env_id="odd/Pictures-v0",
        modules=["tests.support.odd_envs"],
        settings=SUPPORT,
        max_episode_steps=given,
    )
    envs.reset(seed=1)
    cut_off = [bool(envs.step(np.zeros(2, int))[3].all()) for _ in range(7)]
    envs.close()
    assert (cut_off.index(True) + 1 if True in cut_off else None) == expected


def test_without_the_ids_own_limit_gymnasiums_is_all_there_is() -> None:
    env = gymnasium.make("openenv/Gymnasium-v0", env_id="MountainCar-v0", own_time_limit=False, max_episode_steps=203)
    env.reset(seed=0)
    ends = [env.step(1)[2:4] for _ in range(203)]
    env.close()
    assert ends == [(False, False)] * 202 + [(False, True)]


@pytest.mark.parametrize(
    ("id", "keywords"),
    [
        ("openenv/FrozenLake-v1", {"map_name": "8x8"}),
        ("openenv/Gymnasium-v0", {"env_id": "FrozenLake-v1"}),
        ("openenv/Gymnasium-v0", {"env_id": "FrozenLake-v1", "env_kwargs": {"map_name": "8x8"}}),
    ],
)
def test_what_an_id_renders_is_its_own_and_not_the_projects(id: str, keywords: dict[str, Any]) -> None:
    env = gymnasium.make(id, render_mode="ansi", **keywords)
    assert env.metadata["render_modes"] == ["rgb_array", "ansi"]
    assert env.metadata["render_fps"] == 4
    env.reset(seed=1)
    assert str(env.render()).count("S") == 1
    env.close()


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"modules": "os"}, "modules= must be a list of names"),
        ({"modules": 5}, "modules= must be a list of names"),
        ({"modules": ["os", 5]}, "modules= must be a list of names"),
        ({"env_kwargs": [1]}, "env_kwargs= must be a dict"),
        ({"env_id": "FrozenLake-v1", "map_name": "9x9"}, "map_name= must be one of '4x4', '8x8'"),
        ({"env_id": "FrozenLake-v1", "reward_schedule": (1, 2)}, "reward_schedule= must be a list of 3"),
        ({"low": "x"}, "low= must be a number or None"),
    ],
)
def test_a_keyword_that_cannot_be_is_named_before_anything_starts(keywords: dict[str, Any], told: str) -> None:
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(ConfigurationError, match=told):
            make("openenv/Gymnasium-v0", **keywords)
    if "modules" in keywords:
        with pytest.raises(ConfigurationError, match=told):
            register_gymnasium("CartPole-v1", id="openenv/Mine-v0", **keywords)


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"env_id": "Nope-v0"}, r"refused to start: 'Nope-v0' is not registered\. Modules"),
        ({"env_id": "MountanCar-v0"}, r"refused to start: .*Near it: MountainCar"),
        (
            {"env_id": "CartPole-v1", "env_kwargs": {"foo": 1}},
            r"has no keyword 'foo'\. Known: sutton_barto_reward\.",
        ),
        ({"env_id": "CartPole-v1", "modules": ["nomod"], "env_kwargs": {"low": 1}}, "needs the module 'nomod'"),
    ],
)
def test_a_server_that_refuses_its_settings_says_why_and_nothing_else(keywords: dict[str, Any], told: str) -> None:
    with pytest.raises(ServerStartError, match=told) as raised:
        gymnasium.make("openenv/Gymnasium-v0", **keywords)
    assert "Traceback" not in str(raised.value)
    assert "Traceback" in raised.value.logs


@pytest.mark.parametrize("wire", WIRES)
def test_a_registered_id_plays_every_space_as_it_is_locally(registry: None, wire: str) -> None:
    id = register_gymnasium("odd/Nested-v0", modules=["tests.support.odd_envs"])
    assert id == "openenv/odd-Nested-v0"
    assert gymnasium.spec(id).max_episode_steps == 3
    for seed in range(5):
        assert same(trajectory(id, seed, settings=SUPPORT, wire=wire), trajectory("odd/Nested-v0", seed))


def test_an_infinite_observation_arrives_as_it_is_or_is_an_error_where_json_has_no_infinity(registry: None) -> None:
    for wire in WIRES:
        env = gymnasium.make(
            "openenv/Gymnasium-v0",
            env_id="odd/Scripted-v0",
            modules=["tests.support.odd_envs"],
            settings=SUPPORT,
            wire=wire,
        )
        env.reset(seed=1)
        if wire == "vector":
            assert same(env.step(0)[0], [0.0, np.inf])
        else:
            with pytest.raises(InvalidObservation, match="observation"):
                env.step(0)
        env.close()


def test_a_server_that_runs_says_itself_what_it_serves() -> None:
    with running_server(
        "server.app:app", cwd=bundled_project("gymnasium"), env={"GYMNASIUM_ENV_ID": "MountainCar-v0"}
    ) as server:
        env = gymnasium.make("openenv/Gymnasium-v0", base_url=server.base_url)
        assert env.observation_space == gymnasium.make("MountainCar-v0").observation_space
        env.close()
        wrong = gymnasium.make("openenv/CartPole-v1", base_url=server.base_url)
        with pytest.raises(SchemaMismatch):
            wrong.reset()
        for keywords in ({"env_kwargs": {"goal_velocity": 1}}, {"env_id": "FrozenLake-v1", "map_name": "8x8"}):
            with pytest.raises(ConfigurationError, match="base_url"):
                gymnasium.make("openenv/Gymnasium-v0", base_url=server.base_url, **keywords)


def pictures(id: str, mode: str) -> list[Any]:
    """What is drawn after each of some steps."""
    env = gymnasium.make(id, render_mode=mode)
    env.reset(seed=4)
    env.action_space.seed(4)
    drawn = []
    for _ in range(5):
        env.step(env.action_space.sample())
        drawn.append(env.render())
    env.close()
    return drawn


@pytest.mark.parametrize(
    "env_id", [env_id for env_id in IDS if "ansi" in gymnasium.make(env_id).metadata["render_modes"]]
)
def test_texts_are_gymnasiums_own(env_id: str) -> None:
    assert pictures(IDS[env_id], "ansi") == pictures(env_id, "ansi")


@pytest.mark.skipif(find_spec("pygame") is None, reason="pictures of these environments need pygame")
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1"])
def test_pictures_are_gymnasiums_own(env_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    assert same(pictures(IDS[env_id], "rgb_array"), pictures(env_id, "rgb_array"))


@pytest.mark.skipif(find_spec("pygame") is not None, reason="pygame is installed: pictures can be drawn")
def test_without_what_draws_a_picture_is_an_error_that_says_what_to_install() -> None:
    env = gymnasium.make("openenv/CartPole-v1", render_mode="rgb_array")
    env.reset(seed=1)
    with pytest.raises(ExecutionError, match="pip install"):
        env.render()
    assert env.step(0)[1] == 1.0, "the episode goes on"
    env.close()


def test_attributes_of_each_lane_are_read_and_set() -> None:
    envs: Any = gymnasium.make_vec("openenv/CartPole-v1", 2)
    envs.reset(seed=1)
    assert envs.get_attr("length") == (0.5, 0.5)
    envs.set_attr("length", [1.0, 2.0])
    assert envs.get_attr("length") == (1.0, 2.0)
    with pytest.raises(AttributeError):
        envs.get_attr("np_randomness")
    envs.close()


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.parametrize("id", ["openenv/CartPole-v1", "openenv/Gymnasium-v0", "openenv/FrozenLake-v1"])
def test_an_unknown_keyword_is_pythons_own_error(make: Any, id: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'"):
        make(id, frameskip=1)


def test_a_misspelt_keyword_names_the_right_one() -> None:
    with pytest.raises(UnknownOption, match="'is_slippery'"):
        gymnasium.make("openenv/FrozenLake-v1", is_slipery=True)


def test_a_module_in_an_id_is_refused_before_anything_starts() -> None:
    with pytest.raises(ConfigurationError, match="modules="):
        gymnasium.make("openenv/Gymnasium-v0", env_id="os:system")
