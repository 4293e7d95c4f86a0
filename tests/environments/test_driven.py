"""By ``make test-environments``: every id of the projects that need libraries, driven as their users drive them."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode
from openenv_gym_registry.catalogue import lookup

from openenv_gym.bridge.wires import Wire
from openenv_gym.client import GenericEnvClient
from openenv_gym.testing.conformance import validate_project, validate_server
from openenv_gym.testing.conformance.folder import ProjectFolder
from tests.support.environments import BUNDLED, EXTRAS, actions_of, as_payload
from tests.support.servers import running_server

pytestmark = [pytest.mark.environments, pytest.mark.timeout(900)]

PROJECTS = sorted(EXTRAS)

IDS = [(name, each.id) for name in PROJECTS for each in (lookup(name), *lookup(name).variants)]

Interpreter = Callable[[str], Path]


@pytest.fixture
def provider(interpreter: Interpreter, project: str) -> dict[str, str]:
    return {"name": "process", "python": str(interpreter(project))}


def play(env: Any, steps: int, seed: int) -> list[tuple[Any, ...]]:
    """What some steps lead to, the first of them a reset with a seed."""
    observation, info = env.reset(seed=seed)
    seen: list[tuple[Any, ...]] = [(observation, plain(info))]
    draw = actions_of(env.action_space, seed)
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(draw(info))
        seen.append((observation, reward, terminated, truncated, plain(info)))
        if terminated or truncated:
            observation, info = env.reset()
            seen.append((observation, plain(info)))
    return seen


@pytest.mark.parametrize("project", PROJECTS)
def test_the_projects_own_tests_pass_where_its_library_is(interpreter: Interpreter, project: str) -> None:
    command = [str(interpreter(project)), "-m", "pytest", "-q", f"envs/{project}/tests", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd=BUNDLED.parent, capture_output=True, text=True, timeout=800, check=False)
    assert run.returncode == 0, run.stdout[-3000:]
    assert " skipped" not in run.stdout.splitlines()[-1]


@pytest.mark.parametrize("project", PROJECTS)
def test_a_project_conforms(interpreter: Interpreter, project: str) -> None:
    declared = ProjectFolder(BUNDLED / project).declared
    with running_server("server.app:app", cwd=BUNDLED / project, python=str(interpreter(project))) as server:
        report = validate_project(BUNDLED / project).joined(validate_server(server.base_url, declared=declared))
    assert not report.failed


# Of what the environments' own spaces are, wherever they run, it warns too.
@pytest.mark.filterwarnings("ignore:.*A Box (observation|action) space (minimum|maximum) value is:UserWarning")
@pytest.mark.filterwarnings("ignore:.*For Box action spaces, we recommend:UserWarning")
@pytest.mark.parametrize(("project", "id"), IDS)
def test_gymnasiums_checker_finds_nothing(provider: dict[str, str], project: str, id: str) -> None:
    # The checker knows no masks.
    options: dict[str, Any] = {"illegal_action": "loss"} if project == "openspiel" else {}
    env = gymnasium.make(id, provider=provider, **options)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


@pytest.mark.parametrize(("project", "id"), IDS)
def test_seed_and_actions_make_the_episode_on_both_wires(provider: dict[str, str], id: str) -> None:
    played = []
    for wire in get_args(Wire):
        env = gymnasium.make(id, provider=provider, wire=wire)
        played += [play(env, 30, seed=3), play(env, 30, seed=3)]
        env.close()
    for other in played[1:]:
        assert data_equivalence(other, played[0])


def plain(info: dict[str, Any]) -> dict[str, Any]:
    """An info whose arrays are lists: the standard wire does not say of what dtype they are."""
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in info.items()}


@pytest.mark.parametrize(("project", "id"), IDS)
def test_four_lanes_step_in_every_autoreset_mode(provider: dict[str, str], id: str) -> None:
    for wire in get_args(Wire):
        for mode in AutoresetMode:
            envs = gymnasium.make_vec(id, num_envs=4, provider=provider, wire=wire, autoreset_mode=mode)
            step_lanes(envs, mode)
            envs.close()


def step_lanes(envs: gymnasium.vector.VectorEnv[Any, Any, Any], mode: AutoresetMode) -> None:
    observations, infos = envs.reset(seed=1)
    draw = actions_of(envs.single_action_space, 1)
    for _ in range(12):
        # An info of a masked reset has nothing of the lanes that were not reset.
        known = observations if isinstance(observations, dict) and "action_mask" in observations else infos
        masks = known.get("action_mask", [None] * envs.num_envs)
        actions = [draw({} if mask is None else {"action_mask": mask}) for mask in masks]
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        assert observations in envs.observation_space
        assert np.isfinite(rewards).all()
        over = terminations | truncations
        if mode is AutoresetMode.DISABLED and over.any():
            observations, infos = envs.reset(options={"reset_mask": over})


@pytest.mark.parametrize("project", PROJECTS)
def test_the_async_client_plays_an_episode(interpreter: Interpreter, project: str) -> None:
    with running_server("server.app:app", cwd=BUNDLED / project, python=str(interpreter(project))) as server:
        assert asyncio.run(episode(server.base_url)) > 0


async def episode(base_url: str) -> int:
    """Plays until the episode is over, or for 50 steps; returns how many there were."""
    env = gymnasium.make("openenv/Remote-v0", base_url=base_url)
    draw, steps = actions_of(env.action_space, 5), 0
    async with GenericEnvClient(base_url=base_url) as client:
        result = await client.reset(seed=5)
        while not result.done and steps < 50:
            result = await client.step(as_payload(env, draw(result.metadata or {})))
            steps += 1
    env.close()
    return steps
