"""The grid world through ``gymnasium.make`` and ``gymnasium.make_vec``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from grid_world_env import GridWorldAction, GridWorldEnv
from gymnasium.vector import AutoresetMode
from openenv_gym_protocol.errors import ConfigurationError, ExecutionError
from openenv_gym_registry.projects import bundled_project

import openenv_gym
from tests.support.gymnasium_values import same
from tests.support.servers import running_server


@pytest.fixture(scope="module", autouse=True)
def _servers_end_with_the_module() -> Iterator[None]:
    yield
    openenv_gym.shutdown()


@pytest.mark.parametrize("picture", [False, True])
@pytest.mark.parametrize("wire", ["vector", "standard"])
@pytest.mark.parametrize("mode", AutoresetMode)
def test_every_lane_is_what_it_is_alone(mode: AutoresetMode, wire: str, picture: bool) -> None:
    options: dict[str, Any] = {"slip": 0.2, "max_episode_steps": 15, "picture": picture}
    alone = gymnasium.make_vec(
        "openenv/GridWorld-v0",
        3,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        wire="standard",
        **options,
    )
    ours = gymnasium.make_vec("openenv/GridWorld-v0", 3, autoreset_mode=mode, wire=wire, **options)
    assert ours.observation_space == alone.observation_space
    alone.action_space.seed(1)
    assert same(ours.reset(seed=5), alone.reset(seed=5))
    for _ in range(40):
        actions = alone.action_space.sample()
        expected, found = alone.step(actions), ours.step(actions)
        assert same(found, expected)
        if mode is AutoresetMode.DISABLED and (ended := expected[2] | expected[3]).any():
            masks = [{"reset_mask": ended.copy()} for _ in range(2)]
            assert same(ours.reset(options=masks[0]), alone.reset(options=masks[1]))
    alone.close()
    ours.close()


def test_an_episode_is_cut_off_after_a_hundred_steps() -> None:
    env = gymnasium.make("openenv/GridWorld-v0")
    places, _ = env.reset(seed=2)
    away = 0 if places["target"][0] < places["agent"][0] else 2
    ends = [env.step(away)[2:4] for _ in range(100)]
    env.close()
    assert places["target"][0] != places["agent"][0], "the seed must start the two in different columns"
    assert ends == [(False, False)] * 99 + [(False, True)]


def test_pictures_and_another_size_are_there_on_request() -> None:
    env = gymnasium.make("openenv/GridWorld-v0", picture=True, size=6, slip=0.5)
    assert isinstance(env.observation_space, gymnasium.spaces.Dict)
    assert env.observation_space["image"].shape == (48, 48, 3)
    observation, info = env.reset(seed=1)
    assert observation in env.observation_space
    assert info["distance"] == np.abs(observation["agent"] - observation["target"]).sum()
    assert env.unwrapped.state()["slip"] == 0.5  # type: ignore[attr-defined]  # RemoteEnv's
    env.close()


@pytest.mark.parametrize(
    ("keywords", "told"),
    [
        ({"size": 0}, "size= must be a whole number from 2 to 64, not 0"),
        ({"size": "big"}, "size= must be a whole number from 2 to 64"),
        ({"picture": 3}, "picture= must be true or false"),
        ({"slip": 2}, "slip= must be a number from 0 to 1"),
        ({"slip": 2, "size": 6}, "slip= must be a number from 0 to 1"),
        ({"reset_options": {"slip": -1}}, "slip= must be a number from 0 to 1"),
    ],
)
def test_a_value_that_cannot_be_is_named_before_anything_starts(keywords: dict[str, Any], told: str) -> None:
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(ConfigurationError, match=f"^openenv/GridWorld-v0: {told}"):
            make("openenv/GridWorld-v0", **keywords)


def test_a_value_that_cannot_be_is_refused_at_a_reset_and_the_episode_goes_on() -> None:
    env = gymnasium.make("openenv/GridWorld-v0")
    env.reset(seed=2)
    with pytest.raises(ConfigurationError, match=r"slip= must be a number from 0 to 1, not 1\.5"):
        env.reset(options={"slip": 1.5})
    assert env.unwrapped.state()["step_count"] == 0  # type: ignore[attr-defined]  # RemoteEnv's
    env.step(0)
    env.close()


def test_an_image_is_the_name_of_one_as_for_every_id() -> None:
    with pytest.raises(ConfigurationError, match="image= must be the name of an image"):
        gymnasium.make("openenv/GridWorld-v0", image=True)


def test_a_copy_under_another_name_has_the_same_keywords(tmp_path: Path) -> None:
    folder = tmp_path / "maze"
    shutil.copytree(bundled_project("grid_world"), folder, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    manifest = (folder / "openenv.yaml").read_text(encoding="utf-8")
    described = "size: {variable: GRID_WORLD_SIZE, type: integer, minimum: 2, maximum: 64}"
    assert described in manifest
    (folder / "openenv.yaml").write_text(manifest.replace(described, "size: GRID_WORLD_SIZE"), encoding="utf-8")
    before = dict(gymnasium.registry)
    try:
        id = openenv_gym.register_local(folder, id="openenv/Maze-v0")
        env = gymnasium.make(id, size=3, slip=0.5)
        assert env.observation_space == gymnasium.make("openenv/GridWorld-v0", size=3).observation_space
        env.reset(seed=1)
        assert env.unwrapped.state()["slip"] == 0.5  # type: ignore[attr-defined]  # RemoteEnv's
        env.close()
        with pytest.raises(ConfigurationError, match="JSON"):
            gymnasium.make(id, size=object())
    finally:
        gymnasium.registry.clear()
        gymnasium.registry.update(before)


def test_a_game_is_played_in_the_grids_models() -> None:
    with running_server("server.app:app", cwd=bundled_project("grid_world")) as server:
        with GridWorldEnv(base_url=server.base_url).sync() as grid:
            with pytest.raises(ExecutionError, match="reset first"):
                grid.step(GridWorldAction(direction=0))
            agent = grid.reset(seed=3, slip=0.5).observation.agent
            assert grid.state().agent == agent
            assert grid.step(GridWorldAction(direction=1)).reward in (0.0, 1.0)
        # The keywords that make a server cannot reach one that runs.
        gymnasium.make("openenv/GridWorld-v0", base_url=server.base_url).close()
        with pytest.raises(ConfigurationError, match="GRID_WORLD_SIZE"):
            gymnasium.make("openenv/GridWorld-v0", base_url=server.base_url, size=6)
