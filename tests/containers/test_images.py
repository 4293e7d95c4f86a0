"""Images of environment projects: what is in them, and what runs in their containers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import docker
import gymnasium
import numpy as np
import pytest
from docker.models.containers import Container
from gymnasium.utils.env_checker import check_env

from openenv_gym.bridge.wires import Wire
from openenv_gym.providers.docker import BuiltImage
from tests.support.engine import BASE_IMAGE, Engine
from tests.support.pools import eventually
from tests.support.project_images import BUNDLED, FROM_VENDOR, Images, wheels_of

pytestmark = [pytest.mark.containers, pytest.mark.timeout(600)]

LOCAL = {"openenv/Blackjack-v0": "Blackjack-v1", "openenv/CartPole-v1": "CartPole-v1"}
"""The environment here that the one in a container must equal."""

MOST_ADDED = 120_000_000
"""Bytes that the echo image may add to its base."""


@pytest.fixture(params=get_args(Wire))
def wire(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def echo(images: Images) -> BuiltImage:
    return images.bundled("echo")


def checked(gymnasium_id: str, **keywords: Any) -> gymnasium.Env[Any, Any]:
    """An environment in a container, after Gymnasium's own checks."""
    env = gymnasium.make(gymnasium_id, provider="docker", **keywords)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # CartPole's speeds have no bounds.
        warnings.filterwarnings("ignore", message=".*infinity")
        # No picture: pygame is in an image that is built with it only.
        check_env(env.unwrapped, skip_render_check=True)
    return env


def trajectory(env: gymnasium.Env[Any, Any], steps: int = 60) -> list[Any]:
    """Observations and all that comes with them, from one seed on, through some episodes."""
    seen: list[Any] = [env.reset(seed=5)[0]]
    for number in range(steps):
        seen.append(env.step(number % 2)[:4])
        if seen[-1][2] or seen[-1][3]:
            seen.append(env.reset()[0])
    return seen


def plain(value: Any) -> Any:
    """A value without NumPy: Gymnasium's own Blackjack has Python's numbers."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return np.asarray(value).tolist()


@pytest.mark.parametrize(
    ("project", "gymnasium_id"), [("blackjack", "openenv/Blackjack-v0"), ("gymnasium", "openenv/CartPole-v1")]
)
def test_a_container_plays_what_is_played_here(images: Images, project: str, gymnasium_id: str, wire: Wire) -> None:
    images.bundled(project)
    env = checked(gymnasium_id, wire=wire)
    local = gymnasium.make(LOCAL[gymnasium_id])
    assert plain(trajectory(env)) == plain(trajectory(local))
    env.close()
    local.close()


def test_a_container_repeats_what_it_is_told(echo: BuiltImage, wire: Wire) -> None:
    env = checked("openenv/Echo-v0", wire=wire)
    env.reset(seed=1)
    observation = env.step({"tool_name": "echo_message", "arguments": {"message": "Grüße"}})[0]
    assert json.loads(observation["result"])["data"] == "Grüße"
    env.close()


def test_the_echo_image_adds_little_to_its_base(echo: BuiltImage, client: docker.DockerClient) -> None:
    base = client.images.get(BASE_IMAGE).attrs["Size"]
    assert echo.tag == "openenv-echo:0.1.0"
    assert echo.size == client.images.get(echo.tag).attrs["Size"]
    assert 0 < echo.size - base <= MOST_ADDED


@pytest.fixture
def container(echo: BuiltImage, client: docker.DockerClient) -> Iterator[Container]:
    """A server of the echo image with its own user and command, hardened, and often asked for its health."""
    running = client.containers.run(
        echo.tag,
        detach=True,
        read_only=True,
        tmpfs={"/tmp": "rw,noexec,nosuid,size=64m"},
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        healthcheck={"interval": 500_000_000},
    )
    yield running
    running.remove(force=True, v=True)


def says(container: Container, *command: str, user: str = "") -> str:
    code, output = container.exec_run(list(command), user=user)
    assert code == 0, output
    assert isinstance(output, bytes)
    return output.decode()


def test_the_health_check_of_the_image_sees_a_healthy_server(container: Container) -> None:
    def health() -> str:
        container.reload()
        return str(container.attrs["State"]["Health"]["Status"])

    assert eventually(lambda: health() == "healthy", within=60)


def test_the_echo_image_serves_mcp_clients_in_production(echo: BuiltImage, client: docker.DockerClient) -> None:
    environment = {"OPENENV_MODE": "production"}
    running = client.containers.run(echo.tag, detach=True, environment=environment)
    try:
        assert eventually(lambda: running.exec_run(["python", "-c", HEALTHY]).exit_code == 0, within=60)
        assert says(running, "python", "-c", AGENT).strip() == "Hello"
    finally:
        running.remove(force=True, v=True)


HEALTHY = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health')"

AGENT = """
import asyncio, mcp

async def play():
    async with mcp.Client("http://127.0.0.1:8000/mcp") as client:
        result = await client.call_tool("echo_message", {"message": "Hello"})
        print(result.structured_content["result"])

asyncio.run(play())
"""


def test_the_server_is_nobody_in_particular_and_all_that_it_needs_fits(container: Container) -> None:
    assert says(container, "id", "-u").strip() == "1000"
    assert says(container, "python", "-c", "import sys; print(sys.prefix)").strip() == "/opt/venv"
    # The system's pip, with the environment's interpreter: there is no pip in the environment itself.
    assert "No broken requirements" in says(container, "python3", "-c", PIP_CHECK)
    files = json.loads(says(container, "python", "-c", FILES))
    assert files == {"vendor": False, "wheels": [], "compiled": 0, "ours": True}


PIP_CHECK = (
    "import subprocess, sys; "
    "print(subprocess.run(['/usr/bin/python3', '-m', 'pip', '--python', '/opt/venv/bin/python', 'check'], "
    "capture_output=True, text=True, check=True).stdout)"
)

FILES = (
    "import json, os, pathlib; app, venv = pathlib.Path('/app'), pathlib.Path('/opt/venv'); "
    "print(json.dumps({'vendor': (app / 'vendor').exists(), "
    "'wheels': [str(path) for root in (app, venv, pathlib.Path('/build')) for path in root.rglob('*.whl')], "
    "'compiled': sum(1 for root in (app, venv) for _ in root.rglob('*.pyc')), "
    "'ours': any(venv.rglob('openenv_gym_server/__init__.py'))}))"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the echo project, to be changed."""
    return Path(shutil.copytree(BUNDLED / "echo", tmp_path / "echo", ignore=shutil.ignore_patterns("__pycache__")))


def layers(client: docker.DockerClient, image: str) -> list[str]:
    """The layers of an image by their contents, the lowest first."""
    found: list[str] = client.images.get(image).attrs["RootFS"]["Layers"]
    return found


def test_another_code_builds_on_the_same_dependencies(
    images: Images, echo: BuiltImage, project: Path, client: docker.DockerClient
) -> None:
    module = project / "echo_env" / "environment.py"
    module.write_text(module.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    lines: list[str] = []
    changed = images.build(project, tag="openenv-echo:changed", on_output=lines.append)
    installing = next(number for number, line in enumerate(lines) if line.startswith("Step") and "pip" in line)
    assert lines[installing + 1].strip() == "---> Using cache"
    before, after = layers(client, echo.tag), layers(client, changed.tag)
    assert changed.id != echo.id
    assert after[:-1] == before[:-1]
    assert after[-1] != before[-1]


def test_nobody_elses_right_to_read_is_needed_to_serve(
    images: Images, echo: BuiltImage, project: Path, client: docker.DockerClient
) -> None:
    (project / "echo_env" / "app.py").chmod(0o600)
    (project / "server").chmod(0o700)
    private = images.build(project, tag="openenv-echo:private")
    # Packed as everybody's, so nothing is built anew.
    assert layers(client, private.tag) == layers(client, echo.tag)


def test_buildkit_builds_the_same_project(
    engine: Engine, images: Images, echo: BuiltImage, project: Path, client: docker.DockerClient
) -> None:
    """The ``docker`` command sends the folder as it is, so the wheels lie in it."""
    (project / "vendor").mkdir()
    for wheel in [*wheels_of(project), images.own_wheel]:
        shutil.copy(wheel, project / "vendor")
    (project / "echo_env" / "app.py").chmod(0o600)
    arguments = {**FROM_VENDOR, "BASE_IMAGE": BASE_IMAGE}
    command = [docker_command(), "--host", engine.address, "build", "--file", str(project / "server" / "Dockerfile")]
    for name, value in arguments.items():
        command += ["--build-arg", f"{name}={value}"]
    command += ["--tag", "openenv-echo:buildkit", "--progress", "plain", str(project)]
    environment = {**os.environ, "DOCKER_BUILDKIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    by_buildkit, by_us = (client.images.get(tag).attrs["Config"] for tag in ("openenv-echo:buildkit", echo.tag))
    for key in ("Cmd", "User", "WorkingDir", "ExposedPorts", "Healthcheck"):
        assert by_buildkit[key] == by_us[key]
    env = gymnasium.make("openenv/Echo-v0", provider="docker", image="openenv-echo:buildkit")
    env.reset(seed=1)
    env.close()


def docker_command() -> str:
    """The engine's own client, which has BuildKit built in; a later one on the path may need a plug-in for it."""
    found = next((path for path in ("/usr/bin/docker", shutil.which("docker")) if path and Path(path).exists()), None)
    assert found is not None
    return found


@pytest.mark.parametrize("hardening", ["strict", "compat"])
def test_openenvs_own_server_is_stepped_in_a_container(stock_image: str, hardening: str) -> None:
    provider = {"name": "docker", "hardening": hardening, "pull": "never"}
    env = gymnasium.make("openenv/Remote-v0", image=stock_image, provider=provider)
    observation, _ = env.reset(seed=3)
    assert observation["count"] == 3
    action = np.full_like(env.action_space.sample(), 3)
    steps = [env.step(action)[:3] for _ in range(3)]
    assert [(int(after["count"]), reward, terminated) for after, reward, terminated in steps] == [
        (6, 1.5, False),
        (9, 1.5, False),
        (12, 1.5, True),
    ]
    env.close()


def test_the_stock_image_has_the_real_openenv(stock_image: str, client: docker.DockerClient) -> None:
    program = "import importlib.metadata; print(importlib.metadata.version('openenv'))"
    assert client.containers.run(stock_image, ["python", "-c", program], remove=True) == b"0.10.0\n"
    assert client.images.get(stock_image).attrs["Config"]["User"] == ""
