"""From nothing to a Space that others step, by the five commands that the README shows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import environ, openenv, running_openenv
from tests.support.hub.running_spaces import running_spaces
from tests.support.hub.server import running_hub
from tests.support.hub.state import HubState
from tests.support.story import COMMANDS, PROGRAM, named

STEPPING = """
print(env.spec.id if env.spec else "", flush=True)
observation, info = env.reset(seed=3)
assert observation in env.observation_space
observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
assert observation in env.observation_space
env.close()
"""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubState]:
    with running_hub() as hub, running_spaces(hub, tmp_path / "spaces"):
        hub.people["hf_owner"] = "owner"
        yield hub


def users_of(hub: HubState, folder: Path, token: str | None = None) -> dict[str, str]:
    """The environment variables of somebody who uses that Hub."""
    folder.mkdir()
    mine = {"HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "hf"), "OPENENV_GYM_CACHE": str(folder / "cache")}
    return mine | ({"HF_TOKEN": token} if token else {})


def stepped(make_line: str, env: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A trainer that makes an environment by a line and steps it."""
    program = f"import gymnasium\n{make_line}\n{STEPPING}"
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, cwd=folder, env=environ(env), capture_output=True, text=True, timeout=100, check=False
    )


def test_the_readme_shows_five_commands() -> None:
    assert [words[0] for words in COMMANDS] == ["init", "serve", "validate", "build", "push"]


@pytest.mark.timeout(300)
def test_a_newcomer_gets_from_nothing_to_a_space_that_another_steps_by_id(hub: HubState, tmp_path: Path) -> None:
    mine = users_of(hub, tmp_path / "mine", token="hf_owner")
    home = tmp_path / "mine"

    made = openenv(*named("init"), cwd=home, env=mine)
    assert made.returncode == 0, made.stderr

    with running_openenv(*named("serve"), "--port", "0", folder=home, cwd=home, env=mine) as server:
        assert server.line().startswith("http://127.0.0.1:"), server.errors()
        mine_steps = stepped(f"env = {server.line()}", mine, home)
        assert mine_steps.returncode == 0, mine_steps.stderr
        assert server.end() == 130

    valid = openenv(*named("validate"), cwd=home, env=mine)
    assert valid.returncode == 0, valid.stdout + valid.stderr

    pushed = openenv(*named("push"), "--yes", cwd=home, env=mine)
    assert pushed.returncode == 0, pushed.stderr
    assert "RUNNING" in pushed.stderr
    (space,) = hub.repos.values()
    assert space.id == named("push")[named("push").index("--space") + 1]
    assert pushed.stdout == f"{hub.url}/spaces/{space.id}\n"

    others = users_of(hub, tmp_path / "others")
    other_steps = stepped(PROGRAM, others, tmp_path / "others")
    assert other_steps.returncode == 0, other_steps.stderr
    assert other_steps.stdout.splitlines()[-1] == "openenv/owner.my_game"
