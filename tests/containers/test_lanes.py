"""Lanes in containers: by id, by image, several containers at once, and what becomes of a lot that cannot start."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import gymnasium
import numpy as np
import pytest
from openenv_gym_protocol import errors

import openenv_gym
from tests.support.containers import of_this_pool
from tests.support.engine import Engine
from tests.support.pools import eventually
from tests.support.project_images import Images

pytestmark = [pytest.mark.containers, pytest.mark.timeout(600)]

SPACES_NAME = "registry.hf.space/owner-name:latest"
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "cartpole_in_containers.py"


@pytest.fixture(scope="module")
def blackjack(images: Images) -> str:
    return images.bundled("blackjack").tag


@pytest.fixture(scope="module")
def as_a_spaces(client: docker.DockerClient, blackjack: str) -> Iterator[str]:
    """The same image by the name that a Space's has in Hugging Face's registry."""
    client.images.get(blackjack).tag(SPACES_NAME)
    yield SPACES_NAME
    client.images.remove(SPACES_NAME)


def test_an_id_runs_in_containers_of_its_projects_image(engine: Engine, blackjack: str) -> None:
    options = {"name": "docker", "linger": 0}
    envs = gymnasium.make_vec("openenv/Blackjack-v0", num_envs=8, provider=options, sessions_per_server=2)
    local = gymnasium.make_vec("openenv/Blackjack-v0", num_envs=8)
    assert isinstance(envs, openenv_gym.RemoteVectorEnv)
    try:
        assert list(of_this_pool(engine)) == [], "nothing is started before the first reset"
        here, there = local.reset(seed=3)[0], envs.reset(seed=3)[0]
        assert len(set(envs.servers)) == 4
        assert [envs.servers[lane] == envs.servers[lane + 1] for lane in range(0, 8, 2)] == [True] * 4
        assert len(list(of_this_pool(engine))) == 4
        for _ in range(30):
            assert np.array_equal(np.stack(here), np.stack(there))
            actions = (here[0] < 17).astype(np.int64)
            here, there = local.step(actions)[0], envs.step(actions)[0]
    finally:
        local.close()
        envs.close()
    assert eventually(lambda: not list(of_this_pool(engine)), within=30)


def test_an_image_is_given_with_an_id_or_alone(engine: Engine, as_a_spaces: str) -> None:
    with_id = gymnasium.make("openenv/Blackjack-v0", image=as_a_spaces)
    alone = gymnasium.make("openenv/Remote-v0", image=as_a_spaces, provider={"memory": "256m"})
    assert alone.unwrapped.observation_space == with_id.unwrapped.observation_space
    for env in (with_id, alone):
        observation, _ = env.reset(seed=7)
        assert tuple(map(int, observation)) == (19, 10, 0)
        env.close()


def test_an_image_of_another_environment_is_refused_at_the_first_reset(engine: Engine, blackjack: str) -> None:
    env = gymnasium.make("openenv/CartPole-v1", image=blackjack)
    with pytest.raises(errors.SchemaMismatch):
        env.reset()
    env.close()


def test_a_project_whose_image_was_not_built_says_how_to_build_it(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "openenv.yaml").write_text("name: never_built\n", encoding="utf-8")
    with pytest.raises(errors.ProviderError, match="build_image"):
        openenv_gym.RemoteEnv(path=tmp_path, provider="docker")


def test_containers_that_cannot_start_are_one_error_and_nothing_is_left(engine: Engine, blackjack: str) -> None:
    options = {"name": "docker", "command": ["python", "-c", "raise SystemExit('no game today')"]}
    envs = gymnasium.make_vec("openenv/Blackjack-v0", num_envs=4, provider=options, sessions_per_server=1)
    with pytest.raises(errors.ServerStartError, match="no game today") as caught:
        envs.reset()
    assert caught.value.exit_code == 1
    assert eventually(lambda: not list(of_this_pool(engine)), within=30)
    envs.close()


def test_the_example_learns_cartpole_in_eight_containers(engine: Engine, images: Images) -> None:
    assert images.bundled("gymnasium").tag == "openenv-gymnasium:0.1.0"
    run = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=500, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "32 lanes in 8 containers" in run.stdout
    assert float(run.stdout.rpartition(":")[2]) > 150
