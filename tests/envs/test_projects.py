"""What every bundled environment project has, says and does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from difflib import ndiff
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from openenv_gym_protocol.gymnasium_spaces import data_to_space, space_to_data
from openenv_gym_registry.manifest import Manifest, read_manifest
from openenv_gym_registry.projects import projects_root

from openenv_gym.bridge.env import RemoteEnv
from tests.support.environments import EXTRAS, python_of
from tests.support.servers import running_server
from tests.support.venvs import VenvUnavailable
from tests.support.wire import record_request

PROJECTS = sorted(path.parent.name for path in projects_root().glob("*/openenv.yaml"))

NEED_A_LIBRARY = EXTRAS.keys() - {"gymnasium"}
"""Projects whose servers run with an interpreter of their own only; what they say is tested where that is there."""

ON_GYMNASIUM = {"gymnasium", "minigrid", "atari"}
"""Projects whose own library stands on Gymnasium."""

OF_ITS_OWN = re.compile(
    r"\+ (#.*|ENV [A-Z_]+=\w+"
    r"|RUN apt-get update && apt-get install --yes --no-install-recommends [\w.+ -]+ && rm -rf /var/lib/apt/lists/\*)"
)
"""What a project's Dockerfile may have besides: packages of Debian's, and settings."""

each_project = pytest.mark.parametrize("name", PROJECTS)
each_server = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.environments] if name in NEED_A_LIBRARY else []) for name in PROJECTS],
)


def folder_of(name: str) -> Path:
    return projects_root() / name


def manifest_of(name: str) -> Manifest:
    return read_manifest(folder_of(name))


@each_project
def test_a_project_has_every_file_that_tools_look_for(name: str) -> None:
    expected = [
        "README.md",
        "openenv.yaml",
        "pyproject.toml",
        "server/app.py",
        "server/Dockerfile",
        f"{name}_env/__init__.py",
        f"{name}_env/app.py",
        f"{name}_env/client.py",
        f"{name}_env/environment.py",
        f"{name}_env/models.py",
        f"{name}_env/py.typed",
        "tests",
    ]
    assert [path for path in expected if not (folder_of(name) / path).exists()] == []


@each_project
def test_all_projects_have_one_dockerfile_and_ignore_the_same(name: str) -> None:
    # They must build alone, so each has a copy.
    ignored, dockerfile = (
        ((folder_of(name) / file).read_text("utf-8"), (folder_of("echo") / file).read_text("utf-8"))
        for file in (".dockerignore", "server/Dockerfile")
    )
    assert ignored[0] == ignored[1]
    changes = [line for line in ndiff(dockerfile[1].splitlines(), dockerfile[0].splitlines()) if line[0] in "+-"]
    assert [line for line in changes if not OF_ITS_OWN.fullmatch(line)] == []


@each_project
def test_a_dockerfile_needs_no_buildkit_and_runs_nothing_that_it_downloads(name: str) -> None:
    text = (folder_of(name) / "server" / "Dockerfile").read_text(encoding="utf-8")
    for refused in ("--mount", "<<", "syntax=", "curl", "wget", "ADD ", "git+"):
        assert refused not in text
    assert "ARG BASE_IMAGE=python:3.12-slim\n" in text
    command = next(line for line in text.splitlines() if line.startswith("CMD "))
    started = ["uvicorn", manifest_of(name).app, "--host", "0.0.0.0", "--port", str(manifest_of(name).port)]
    assert json.loads(command.removeprefix("CMD ")) == [*started, "--ws-per-message-deflate", "false"]
    user = next(line for line in text.splitlines() if line.startswith("USER "))
    assert user == "USER 1000:1000"


@each_project
def test_the_distribution_is_named_after_the_project_and_declares_it(name: str) -> None:
    project = tomllib.loads((folder_of(name) / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == f"openenv-gym-{name}"
    assert project["version"] == manifest_of(name).version
    assert project["entry-points"]["openenv_gym.environments"] == {name: f"{name}_env"}


@each_project
def test_the_manifest_has_a_validation_block_and_a_bundled_id(name: str) -> None:
    manifest = manifest_of(name)
    assert manifest.validation is not None
    assert manifest.gymnasium_id.startswith("openenv/")
    assert manifest.description


@each_server
def test_the_manifest_says_what_the_server_says(name: str) -> None:
    told = manifest_of(name).gymnasium
    with running_server("server.app:app", cwd=folder_of(name), python=python_for(name)) as server:
        schema = record_request(server.base_url, "GET", "/schema")["body"]
    assert told.spaces is not None
    for kind, declared in told.spaces.model_dump().items():
        assert data_to_space(declared) == data_to_space(schema["x-gymnasium-spaces"][kind])
    assert (schema["x-info-keys"], schema["x-openenv-gym"]) == (
        told.info_keys,
        {"seeded_stream": told.seeded_stream, "seed_supported": told.seed_supported},
    )
    options = schema.get("x-reset-options") or {}
    assert {key: value.get("default") for key, value in options.items()} == {
        key: value.get("default") for key, value in told.reset_options.items()
    }


@each_server
def test_the_info_of_every_reset_and_step_has_the_same_keys(name: str) -> None:
    with running_server("server.app:app", cwd=folder_of(name), python=python_for(name)) as server:
        env = RemoteEnv(server.base_url)
        env.action_space.seed(1)
        keys = set()
        for episode in range(2):
            _, info = env.reset(seed=episode)
            keys.add(tuple(sorted(info)))
            keys.add(tuple(sorted(env.step(env.action_space.sample())[4])))
        env.close()
    assert keys == {tuple(sorted([*manifest_of(name).gymnasium.info_keys, "reward_missing", "seed_applied"]))}


@each_project
def test_the_declared_spaces_are_written_in_their_one_form(name: str) -> None:
    spaces = manifest_of(name).gymnasium.spaces
    assert spaces is not None
    for declared in (spaces.action, spaces.observation):
        assert data_to_space(space_to_data(data_to_space(declared))) == data_to_space(declared)


@each_project
@pytest.mark.parametrize("side", ["models", "client"])
def test_what_a_client_imports_needs_no_server_kit(name: str, side: str) -> None:
    imports = f"import {name}_env, sys; {name}_env.models"
    if side == "client":
        imports = f"from {name}_env import *; import sys"
    assert loaded(name, imports, ("openenv_gym_server", "fastapi", "uvicorn")) == ""


@each_server
def test_the_servers_side_needs_no_gymnasium_but_where_it_plays_gymnasiums_own(name: str) -> None:
    unwanted = ("openenv_gym", "httpx") if name in ON_GYMNASIUM else ("gymnasium", "openenv_gym", "httpx")
    assert loaded(name, f"import {name}_env.environment, sys", unwanted, python_for(name)) == ""


@each_project
def test_the_projects_public_names_are_those_it_lists(name: str) -> None:
    package: Any = import_module(f"{name}_env")
    assert package.__all__ == sorted(package.__all__)
    assert all(hasattr(package, public) for public in package.__all__)
    assert not hasattr(package, "nothing")


def python_for(name: str) -> str:
    """The interpreter that can serve a project."""
    try:
        return str(python_of(name)) if name in NEED_A_LIBRARY else sys.executable
    except VenvUnavailable as error:
        pytest.skip(str(error))


def loaded(name: str, imports: str, unwanted: tuple[str, ...], python: str = sys.executable) -> str:
    """Runs imports in a fresh interpreter; returns which of some modules they loaded."""
    code = f"{imports}; print(*[m for m in {unwanted!r} if m in sys.modules])"
    run = subprocess.run(
        [python, "-c", code], cwd=folder_of(name), capture_output=True, text=True, timeout=60, check=True
    )
    return run.stdout.strip()
