"""What ``gymnasium.make`` and ``gymnasium.make_vec`` give for our ids, end to end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from openenv_gym_protocol.errors import ConfigurationError, UnknownOption
from openenv_gym_registry.make import place
from openenv_gym_registry.projects import bundled_project
from openenv_gym_registry.registration import register_local

import openenv_gym
from tests.support.pools import PROJECTS
from tests.support.servers import running_server

ECHO_HI = {"tool_name": "echo_message", "arguments": {"message": "hi"}}


@pytest.fixture(scope="module", autouse=True)
def _servers_end_with_the_module() -> Iterator[None]:
    yield
    openenv_gym.shutdown()


@pytest.fixture
def local_echo(tmp_path: Path) -> Iterator[Path]:
    """A copy of the echo project under another id and with a time limit."""
    folder = tmp_path / "parrot"
    shutil.copytree(bundled_project("echo"), folder, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    manifest = (folder / "openenv.yaml").read_text(encoding="utf-8")
    manifest = manifest.replace("id: openenv/Echo-v0", "id: openenv/Parrot-v2\n  max_episode_steps: 3")
    (folder / "openenv.yaml").write_text(manifest, encoding="utf-8")
    before = dict(gymnasium.registry)
    yield folder
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


def run_python(code: str) -> str:
    """Runs code in a fresh interpreter, with a pool of its own; returns what it printed."""
    environ = {name: value for name, value in os.environ.items() if name != "OPENENV_GYM_POOL"}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environ)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def trajectory(env: gymnasium.Env[Any, Any], episodes: int = 15) -> list[Any]:
    """Plays one seeded episode and unseeded ones after it."""
    chooses = np.random.default_rng(0)
    seen: list[Any] = []
    for episode in range(episodes):
        hand, _ = env.reset(seed=11 if episode == 0 else None)
        seen.append(tuple(int(part) for part in hand))
        over = False
        while not over:
            hand, reward, over, truncated, _ = env.step(int(chooses.integers(2)))
            seen.append((tuple(int(part) for part in hand), reward, over, truncated))
    env.close()
    return seen


@pytest.mark.requirement("E3", "E5")
@pytest.mark.parametrize("id", ["openenv/Blackjack-v0", "openenv/Echo-v0", "openenv/GridWorld-v0"])
def test_check_env_has_nothing_to_say(id: str) -> None:
    env = gymnasium.make(id)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


@pytest.mark.parametrize("rules", [{}, {"sab": False, "natural": True}])
def test_blackjack_is_gymnasiums_through_unseeded_resets_too(rules: dict[str, bool]) -> None:
    local = trajectory(gymnasium.make("Blackjack-v1", **rules))
    assert trajectory(gymnasium.make("openenv/Blackjack-v0", **rules)) == local


def test_the_vector_environment_is_that_of_gymnasium_step_by_step() -> None:
    theirs = gymnasium.make_vec("Blackjack-v1", num_envs=3, vectorization_mode="sync")
    ours = gymnasium.make_vec("openenv/Blackjack-v0", num_envs=3)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    theirs.action_space.seed(4)
    expected, found = theirs.reset(seed=8)[0], ours.reset(seed=8)[0]
    for _ in range(40):
        np.testing.assert_array_equal(np.stack(found), np.stack(expected))
        actions = theirs.action_space.sample()
        expected, *flags, _ = theirs.step(actions)
        found, *ours_flags, _ = ours.step(actions)
        np.testing.assert_array_equal(ours_flags, flags)
    theirs.close()
    ours.close()


def test_an_echo_comes_back_as_json_text() -> None:
    env = gymnasium.make("openenv/Echo-v0")
    observation, info = env.reset(seed=1)
    assert observation == {"result": "null", "error": "null"}
    assert info["message"] == "Echo environment ready!"
    observation, reward, terminated, truncated, _ = env.step(ECHO_HI)
    assert '"data":"hi"' in observation["result"]
    assert (observation["error"], reward, terminated, truncated) == ("null", 0.0, False, False)
    observation, *_ = env.step({"tool_name": "nope", "arguments": {"message": ""}})
    assert "tool_not_found" in observation["error"]
    env.close()


@pytest.mark.requirement("E10")
def test_construction_starts_nothing_and_knows_the_spaces() -> None:
    printed = run_python(
        "import gymnasium, openenv_gym, os, psutil\n"
        "env = gymnasium.make('openenv/Blackjack-v0')\n"
        "envs = gymnasium.make_vec('openenv/Blackjack-v0', num_envs=2)\n"
        "assert env.observation_space == gymnasium.make('Blackjack-v1').observation_space\n"
        "print(len(psutil.Process().children(recursive=True)), 'OPENENV_GYM_POOL' in os.environ)\n"
        "env.close(); envs.close()\n"
    )
    assert printed == "0 False"


@pytest.mark.requirement("P1")
def test_the_id_with_its_module_needs_no_import() -> None:
    printed = run_python(
        "import gymnasium\n"
        "env = gymnasium.make('openenv_gym:openenv/Echo-v0')\n"
        "print(env.reset(seed=1)[0])\n"
        "env.close()\n"
    )
    assert printed == "{'result': 'null', 'error': 'null'}"


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_an_unknown_keyword_is_pythons_own_error_before_anything_starts(make: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'"):
        make("openenv/Blackjack-v0", frameskip=1)


@pytest.mark.parametrize(
    "id", ["openenv/Blackjack-v0", "openenv/CartPole-v1", "openenv/Gymnasium-v0", "openenv/GridWorld-v0"]
)
def test_an_error_calls_an_environment_by_its_id(id: str) -> None:
    with pytest.raises(UnknownOption, match=f"^{id} got an unexpected keyword argument 'frameskip'"):
        gymnasium.make(id, frameskip=1)


@pytest.fixture
def guess(tmp_path: Path) -> Iterator[Path]:
    """A project of somebody's own, with one reset option."""
    before = dict(gymnasium.registry)
    folder = tmp_path / "guess"
    shutil.copytree(PROJECTS / "guess", folder)
    yield folder
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


def ways(project: Path) -> list[Any]:
    """Everything that makes an environment of a folder."""
    local = register_local(project)
    return [
        partial(gymnasium.make, local),
        partial(gymnasium.make, "openenv/Remote-v0", path=str(project)),
        partial(gymnasium.make_vec, local),
        partial(openenv_gym.RemoteEnv, path=project),
        partial(openenv_gym.RemoteVectorEnv, path=project),
    ]


def test_an_option_that_a_project_does_not_list_is_told_how_to_be_written(guess: Path) -> None:
    for make in ways(guess):
        with pytest.raises(UnknownOption, match=r"unexpected keyword argument 'target'.*reset_options=\{'target': 2\}"):
            make(target=2)
    for make in ways(guess)[:2]:
        env = make(reset_options={"target": 2})
        env.reset(seed=1)
        assert env.step(2)[1] == 1.0
        env.close()


def test_an_option_that_a_project_lists_is_a_keyword(guess: Path) -> None:
    with (guess / "openenv.yaml").open("a", encoding="utf-8") as manifest:
        manifest.write("x-openenv-gym:\n  reset_options:\n    target: {type: integer}\n")
    for make in ways(guess):
        with pytest.raises(UnknownOption, match=r"'targt'.*'target'"):
            make(targt=2)
    for make in ways(guess)[:4]:
        env = make(target=2)
        env.reset(seed=1)
        assert float(np.squeeze(env.step(np.array([[2]]) if hasattr(env, "num_envs") else 2)[1])) == 1.0
        env.close()
    with_settings = openenv_gym.RemoteEnv(path=guess, settings={"GUESS_HINTS": "1"}, target=3)
    with_settings.reset(seed=1)
    assert with_settings.step(3)[1] == 1.0
    with_settings.close()


def test_what_a_project_says_of_an_option_holds_at_a_reset_too(guess: Path) -> None:
    with (guess / "openenv.yaml").open("a", encoding="utf-8") as manifest:
        manifest.write("x-openenv-gym:\n  reset_options:\n    target: {type: integer, minimum: 1}\n")
    for make in ways(guess):
        with pytest.raises(ConfigurationError, match="target= must be a whole number from 1, not -1"):
            make(target=-1)
    env = ways(guess)[0]()
    with pytest.raises(ConfigurationError, match="target= must be a whole number from 1, not -1"):
        env.reset(options={"target": -1})
    env.close()


def test_a_server_that_runs_checks_its_options_at_construction() -> None:
    with running_server("server.app:app", cwd=bundled_project("blackjack")) as server:
        for make in (openenv_gym.RemoteEnv, openenv_gym.RemoteVectorEnv):
            with pytest.raises(ConfigurationError, match="natural= must be true or false, not 'banana'"):
                make(server.base_url, natural="banana")


@pytest.mark.parametrize(
    ("id", "keywords", "meant"),
    [
        ("openenv/Gymnasium-v0", {"envid": "CartPole-v1"}, "env_id"),
        ("openenv/FrozenLake-v1", {"mapname": "8x8"}, "map_name"),
        ("openenv/GridWorld-v0", {"siz": 3}, "size"),
    ],
)
def test_every_keyword_of_an_id_is_suggested(id: str, keywords: dict[str, Any], meant: str) -> None:
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(UnknownOption, match=f"Did you mean '{meant}'"):
            make(id, **keywords)


def test_a_keyword_of_the_vector_environment_says_how_gymnasiums_own_is_told() -> None:
    with pytest.raises(UnknownOption, match=r"vectorization_mode='sync'.*vector_kwargs=\{'autoreset_mode'"):
        gymnasium.make_vec("openenv/Blackjack-v0", 2, vectorization_mode="sync", autoreset_mode="Disabled")


def test_a_window_that_cannot_be_is_told_in_the_callers_word() -> None:
    with (
        pytest.warns(UserWarning, match="HumanRendering"),
        pytest.raises(UnknownOption, match=r"in place of 'human'.*renders nothing"),
    ):
        gymnasium.make("openenv/Blackjack-v0", render_mode="human")


@pytest.fixture
def silent_grid(tmp_path: Path) -> Iterator[Path]:
    """The grid world, with a manifest that says nothing of what it renders."""
    before = dict(gymnasium.registry)
    folder = tmp_path / "silent_grid"
    shutil.copytree(bundled_project("grid_world"), folder, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    manifest = (folder / "openenv.yaml").read_text(encoding="utf-8").partition("x-openenv-gym:")[0]
    (folder / "openenv.yaml").write_text(manifest, encoding="utf-8")
    yield folder
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_what_nobody_says_of_rendering_the_server_is_asked(make: Any, silent_grid: Path) -> None:
    with running_server("server.app:app", cwd=bundled_project("grid_world")) as server:
        for id, keywords in (
            ("openenv/Remote-v0", {"base_url": server.base_url}),
            ("openenv/Remote-v0", {"path": str(silent_grid)}),
            (register_local(silent_grid, id="openenv/SilentGrid-v0"), {}),
        ):
            env = make(id, render_mode="ansi", **keywords)
            assert env.metadata["render_modes"] == ["rgb_array", "ansi"]
            assert env.metadata["render_fps"] == 4
            env.reset(seed=1)
            drawn = env.render()
            assert (drawn if isinstance(drawn, str) else drawn[0]).count("A") == 1
            env.close()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Gymnasium's own, of the same
                with pytest.raises(UnknownOption, match=r"'depth_array'.*ansi, rgb_array"):
                    make(id, render_mode="depth_array", **keywords)


def test_a_server_that_renders_nothing_is_believed() -> None:
    with running_server("server.app:app", cwd=bundled_project("blackjack")) as server:
        env = gymnasium.make("openenv/Remote-v0", base_url=server.base_url)
        assert env.metadata["render_modes"] == []
        env.close()
        with pytest.raises(UnknownOption, match="renders nothing"):
            gymnasium.make("openenv/Remote-v0", base_url=server.base_url, render_mode="rgb_array")


def test_a_wrong_manifest_is_refused_in_the_same_words_everywhere(guess: Path) -> None:
    made = ways(guess)
    with (guess / "openenv.yaml").open("a", encoding="utf-8") as manifest:
        manifest.write("x-openenv-gym: {reset_option: {}}\n")
    told = set()
    for make in [*made, partial(register_local, guess)]:
        with pytest.raises(ConfigurationError, match="reset_options") as caught:
            make()
        told.add(str(caught.value))
    assert len(told) == 1


def test_a_misspelt_reset_option_names_the_right_one() -> None:
    with pytest.raises(UnknownOption, match="'natural'"):
        gymnasium.make("openenv/Blackjack-v0", naturel=True)


@pytest.mark.requirement("spec")
def test_specs_of_made_environments_can_be_made_again() -> None:
    env = gymnasium.make("openenv/Blackjack-v0", natural=True, sab=False)
    assert env.spec is not None
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert trajectory(again, 3) == trajectory(env, 3)


def test_an_address_of_a_server_beats_the_bundled_project() -> None:
    with running_server("server.app:app", cwd=bundled_project("blackjack")) as server:
        env = gymnasium.make("openenv/Blackjack-v0", base_url=server.base_url)
        hand, _ = env.reset(seed=11)
        assert tuple(map(int, hand)) == trajectory(gymnasium.make("Blackjack-v1"), 1)[0]
        env.close()


def test_an_image_is_that_of_the_project_and_needs_a_provider_of_images() -> None:
    assert place({"image": "table:1"}, "folder", {}) == {"image": "table:1", "path": "folder"}
    assert place({"base_url": "http://one:1"}, "folder", {}) == {"base_url": "http://one:1"}
    with pytest.raises(ConfigurationError, match="docker"):
        gymnasium.make("openenv/Blackjack-v0", image="table:1", provider="process")
    with pytest.raises(ConfigurationError, match="base_url and image"):
        openenv_gym.RemoteEnv(base_url="http://one:1", image="table:1")


def test_remote_needs_to_be_told_where() -> None:
    with pytest.raises(ConfigurationError, match="base_url"):
        gymnasium.make("openenv/Remote-v0")


def test_remote_plays_a_folder() -> None:
    env = gymnasium.make("openenv/Remote-v0", path=str(bundled_project("blackjack")))
    assert trajectory(env, 3) == trajectory(gymnasium.make("Blackjack-v1"), 3)


def test_a_registered_folder_is_played_with_its_time_limit(local_echo: Path) -> None:
    id = register_local(local_echo)
    assert id == "openenv/Parrot-v2"
    env = gymnasium.make(id)
    env.reset(seed=1)
    assert [env.step(ECHO_HI)[3] for _ in range(3)] == [False, False, True]
    env.close()


def test_a_registered_folder_has_its_time_limit_as_a_vector_environment(local_echo: Path) -> None:
    envs = gymnasium.make_vec(register_local(local_echo), num_envs=2)
    envs.reset(seed=1)
    # As Gymnasium batches this space: a dictionary of batches.
    actions = {"tool_name": ("echo_message",) * 2, "arguments": {"message": ("a", "b")}}
    truncations = [envs.step(actions)[3].tolist() for _ in range(3)]
    assert truncations == [[False, False], [False, False], [True, True]]
    envs.close()


def test_a_bundled_project_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("openenv_gym_registry.projects._PACKAGE", tmp_path / "registry" / "openenv_gym_registry")
    with pytest.raises(ConfigurationError, match="pip install"):
        gymnasium.make("openenv/Blackjack-v0")
