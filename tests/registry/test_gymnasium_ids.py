"""Gymnasium's ids in ``openenv/``: what is registered, and what servers are told."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium_env.serving import served
from gymnasium_env.settings import Settings
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.gymnasium_spaces import data_to_space
from openenv_gym_registry.catalogue import Entry, catalogue
from openenv_gym_registry.gymnasium_ids import own_id, register_gymnasium, settings_of, variant_of

import openenv_gym
from tests.support.gymnasium_libraries import needs_library

NEWEST = "Taxi-v4" in gymnasium.registry
"""Whether this Gymnasium is at least 1.4, which the catalogue describes."""

VARIANTS = [
    variant
    for variant in catalogue()["gymnasium"].variants
    if variant.settings["GYMNASIUM_ENV_ID"] in gymnasium.registry
]
CLASSIC = {"CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1"}
TOY_TEXT = {
    *("Blackjack-v1", "FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "CliffWalkingSlippery-v1", "Taxi-v4"),
}
BOX2D = {
    *("LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3", "BipedalWalkerHardcore-v3", "CarRacing-v3"),
}
MUJOCO = {
    *("HalfCheetah-v5", "Ant-v5", "Hopper-v5", "Walker2d-v5", "Humanoid-v5", "Swimmer-v5", "InvertedPendulum-v5"),
    *("InvertedDoublePendulum-v5", "Reacher-v5", "Pusher-v5"),
}


@pytest.fixture(autouse=True)
def _registry_as_it_was() -> Iterator[None]:
    before = dict(gymnasium.registry)
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


def env_id_of(variant: Entry) -> str:
    return variant.settings["GYMNASIUM_ENV_ID"]


@pytest.mark.skipif(not NEWEST, reason="an older Gymnasium has other ids")
def test_all_current_ids_of_gymnasiums_own_are_there() -> None:
    folders = (".classic_control.", ".toy_text.", ".box2d.", ".mujoco.")
    specs = [spec for spec in gymnasium.registry.values() if any(f in str(spec.entry_point) for f in folders)]
    newest = {}
    for spec in sorted(specs, key=lambda spec: spec.version or 0):
        newest[spec.name] = spec.id
    assert set(map(env_id_of, VARIANTS)) == CLASSIC | TOY_TEXT | BOX2D | MUJOCO
    assert set(newest.values()) - set(map(env_id_of, VARIANTS)) == {"HumanoidStandup-v5"}


@pytest.mark.parametrize("variant", VARIANTS, ids=env_id_of)
def test_an_id_has_gymnasiums_limit_threshold_and_spaces(variant: Entry) -> None:
    needs_library(env_id_of(variant))
    theirs, ours = gymnasium.spec(env_id_of(variant)), gymnasium.spec(variant.id)
    told = ("max_episode_steps", "reward_threshold", "nondeterministic", "order_enforce", "disable_env_checker")
    assert [getattr(ours, name) for name in told] == [getattr(theirs, name) for name in told]
    local = gymnasium.make(theirs.id)
    assert variant.spaces is not None
    for kind, space in (("action", local.action_space), ("observation", local.observation_space)):
        found: Any = data_to_space(variant.spaces[kind])
        assert found == space
        if isinstance(space, gymnasium.spaces.Box):
            assert (found.low == space.low).all(), "to the last bit, where equality of spaces is only close"
            assert (found.high == space.high).all()
    modes = [mode for mode in ("rgb_array", "ansi") if mode in local.metadata["render_modes"]]
    assert (list(variant.render_modes), variant.render_fps) == (modes, local.metadata["render_fps"])


@pytest.mark.skipif(not NEWEST, reason="an older Gymnasium has other keywords")
@pytest.mark.parametrize("variant", VARIANTS, ids=env_id_of)
def test_the_catalogue_says_what_the_ids_server_says(variant: Entry) -> None:
    needs_library(env_id_of(variant))
    said = served(Settings.from_environ(settings_of(env_id_of(variant)))).environment_class
    assert variant.spaces is not None
    assert said.spaces is not None
    for kind in ("action", "observation"):
        assert data_to_space(variant.spaces[kind]) == data_to_space(said.spaces[kind])
    assert list(variant.reset_options) == [*said.recipe.keywords, *said.start_options]
    for name, keyword in said.recipe.keywords.items():
        if not isinstance(keyword.default, tuple):
            assert variant.reset_options[name]["default"] == keyword.default
    assert list(variant.info_keys) == said.info_keys
    assert (variant.seeded_stream, said.seeded_stream) == (True, True)
    assert list(variant.render_modes) == list(said.render_modes)


@pytest.mark.parametrize("variant", VARIANTS, ids=env_id_of)
def test_a_spec_survives_json_and_pickle(variant: Entry) -> None:
    spec = gymnasium.spec(variant.id)
    assert EnvSpec.from_json(spec.to_json()) == spec == pickle.loads(pickle.dumps(spec))


def test_no_bundled_id_is_called_outdated() -> None:
    for id in [id for id in gymnasium.registry if id.startswith("openenv/")]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gymnasium.envs.registration._find_spec(id)
    assert "openenv/Blackjack-v1" not in gymnasium.registry
    assert own_id("Blackjack-v1") == "openenv/Gymnasium-Blackjack-v1"
    assert own_id("Echo-v7") == "openenv/Gymnasium-Echo-v7"


def test_an_id_with_a_namespace_gets_a_dash() -> None:
    assert openenv_gym.register_gymnasium("ALE/Pong-v5", frameskip=4) == "openenv/ALE-Pong-v5"
    spec = gymnasium.spec("openenv/ALE-Pong-v5")
    assert spec.kwargs == {"env_id": "ALE/Pong-v5", "env_kwargs": {"frameskip": 4}, "own_time_limit": True}
    assert spec.max_episode_steps is None
    assert EnvSpec.from_json(spec.to_json()) == spec


def test_ids_that_this_gymnasium_does_not_have_are_left_out() -> None:
    found = {variant.id for variant in catalogue()["gymnasium"].variants if variant.id in gymnasium.registry}
    assert found == {variant.id for variant in VARIANTS}


def test_what_this_gymnasium_knows_of_an_id_is_taken_over() -> None:
    assert register_gymnasium("CartPole-v0") == "openenv/CartPole-v0"
    spec = gymnasium.spec("openenv/CartPole-v0")
    assert (spec.max_episode_steps, spec.reward_threshold, spec.kwargs) == (200, 195.0, {"env_id": "CartPole-v0"})


@pytest.mark.parametrize(("given", "expected"), [(7, 7), (-1, None)])
def test_a_time_limit_can_be_chosen(given: int, expected: int | None) -> None:
    id = register_gymnasium("CartPole-v1", id="openenv/Short-v0", max_episode_steps=given)
    assert gymnasium.spec(id).max_episode_steps == expected


def test_registering_again_changes_nothing_and_something_else_needs_another_id() -> None:
    for env_id in ("CartPole-v1", "Blackjack-v1", "ALE/Pong-v5"):
        id = register_gymnasium(env_id)
        before = gymnasium.spec(id)
        assert register_gymnasium(env_id) == id
        assert gymnasium.spec(id) is before
    others: tuple[dict[str, Any], ...] = (
        {"max_episode_steps": 3},
        {"sutton_barto_reward": True},
        {"modules": ["mine"]},
    )
    for different in others:
        with pytest.raises(ConfigurationError, match="id="):
            register_gymnasium("CartPole-v1", **different)


@pytest.mark.parametrize("env_id", ["os:system", "mine:CartPole-v1", "a/b/c", "", "a b", "../x", 3])
def test_what_is_no_id_registers_nothing(env_id: Any) -> None:
    before = dict(gymnasium.registry)
    with pytest.raises(ConfigurationError):
        register_gymnasium(env_id)
    assert gymnasium.registry == before


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
def test_keywords_that_are_no_json_are_told(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="JSON"):
        register_gymnasium("ALE/Pong-v5", mode=value)
    assert "openenv/ALE-Pong-v5" not in gymnasium.registry


def test_equal_keywords_make_equal_settings() -> None:
    one = settings_of("Taxi-v4", {"a": 1, "b": 2}, ["x", "y"])
    assert one == settings_of("Taxi-v4", {"b": 2, "a": 1}, ("x", "y"))
    assert json.loads(one["GYMNASIUM_ENV_KWARGS"]) == {"a": 1, "b": 2}
    assert Settings.from_environ(one).modules == ("x", "y")


def test_wrappers_are_settings_too_and_no_list_of_them_is_refused() -> None:
    stack = {"name": "FrameStackObservation", "stack_size": 4}
    one = settings_of("CartPole-v1", env_wrappers=["FlattenObservation", stack])
    assert one == settings_of(
        "CartPole-v1", env_wrappers=({"name": "FlattenObservation"}, dict(reversed(stack.items())))
    )
    assert [each.name for each in Settings.from_environ(one).wrappers] == ["FlattenObservation", stack["name"]]
    assert settings_of("CartPole-v1")["GYMNASIUM_ENV_WRAPPERS"] == "[]"
    for wrong in ("FlattenObservation", [4], [{"stack_size": 4}], {"name": "FlattenObservation"}):
        with pytest.raises(ConfigurationError, match="env_wrappers="):
            register_gymnasium("CartPole-v1", id="openenv/Wrapped-v0", env_wrappers=wrong)  # type: ignore[arg-type]
    id = register_gymnasium("CartPole-v1", id="openenv/Wrapped-v0", env_wrappers=[stack])
    assert gymnasium.spec(id).kwargs == {"env_id": "CartPole-v1", "env_wrappers": [stack]}
    assert EnvSpec.from_json(gymnasium.spec(id).to_json()) == gymnasium.spec(id)


def test_an_id_that_the_catalogue_lacks_is_no_variant() -> None:
    assert variant_of("ALE/Pong-v5") is None
    found = variant_of("Taxi-v4")
    assert found is not None
    assert found.id == "openenv/Taxi-v4"
