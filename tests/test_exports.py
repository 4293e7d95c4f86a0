"""The public names: each front door lists what it has, in order, and each name is there."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

FRONT_DOORS = [
    "openenv_gym",
    "openenv_gym.client",
    "openenv_gym.rollouts",
    "openenv_gym_server",
    "openenv_gym_server.rewards",
    "echo_env",
    "blackjack_env",
    "grid_world_env",
    "gymnasium_env",
    "tools_env",
    "coding_env",
    "terminal_git_env",
    "minigrid_env",
    "openspiel_env",
    "reasoning_gym_env",
    "textarena_env",
    "atari_env",
    "dm_control_env",
]

EXPECTED = {
    "openenv_gym": {"EnvClient", "GenericEnvClient", "RemoteEnv", "RemoteVectorEnv", "StepResult", "shutdown"},
    "openenv_gym.client": {"EnvClient", "GenericAction", "GenericEnvClient", "StepResult", "SyncEnvClient"},
    "openenv_gym_server": {
        "Action",
        "Environment",
        "Observation",
        "State",
        "create_app",
        "create_fastapi_app",
        "serve",
    },
}


@pytest.mark.parametrize("door", FRONT_DOORS)
def test_every_listed_name_is_there(door: str) -> None:
    module = importlib.import_module(door)
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert missing == []


@pytest.mark.parametrize("door", FRONT_DOORS)
def test_the_list_is_sorted_and_holds_no_name_twice(door: str) -> None:
    names = importlib.import_module(door).__all__
    # As ruff sorts: constants, then classes, then functions.
    order = sorted(set(names), key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert list(names) == order


@pytest.mark.parametrize("door", EXPECTED)
def test_the_names_that_users_type_are_public(door: str) -> None:
    assert EXPECTED[door] <= set(importlib.import_module(door).__all__)


@pytest.mark.parametrize("door", ["openenv_gym", "openenv_gym_server"])
def test_an_unknown_name_is_an_attribute_error(door: str) -> None:
    module = importlib.import_module(door)
    with pytest.raises(AttributeError, match="no_such_name"):
        module.no_such_name  # noqa: B018


@pytest.mark.parametrize("door", ["openenv_gym", "openenv_gym_server"])
def test_each_name_can_be_imported_first(door: str) -> None:
    names = importlib.import_module(door).__all__
    forget = "for name in [n for n in sys.modules if n.startswith('openenv_gym')]: del sys.modules[name]"
    program = "\n".join(["import sys", *(f"{forget}\nfrom {door} import {name}" for name in names)])
    subprocess.run([sys.executable, "-c", program], check=True, timeout=100)
