from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ConfigurationError, OpenEnvGymError, ProviderError

from openenv_gym.providers.docker.engine import (
    DEFAULT_ADDRESS,
    engine_address,
    is_on_this_machine,
    is_remote,
    open_engine,
    refused,
    shown_address,
)


def opening_fails(address: str, seconds: float = 5.0) -> str:
    """The message with which an engine cannot be opened."""
    with pytest.raises(ProviderError) as caught, open_engine(address, seconds):
        raise AssertionError("it was opened")
    return caught.value.message


@pytest.fixture
def docker_config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of the docker command's configuration, and no ``DOCKER_HOST``."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return tmp_path


def test_an_option_names_the_engine_before_the_environment_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///other.sock")
    assert engine_address("unix:///mine.sock") == "unix:///mine.sock"
    assert engine_address(None) == "unix:///other.sock"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("unix:/var/run/docker.sock", "unix:///var/run/docker.sock"),
        ("unix:////var/run/docker.sock", "unix:///var/run/docker.sock"),
        ("UNIX:///var/run/docker.sock", "unix:///var/run/docker.sock"),
        ("tcp://gpu-box:2376", "tcp://gpu-box:2376"),
        ("ssh://me@gpu-box", "ssh://me@gpu-box"),
        ("npipe:////./pipe/docker_engine", "npipe:////./pipe/docker_engine"),
    ],
)
def test_an_address_has_one_form(given: str, expected: str) -> None:
    assert engine_address(given) == expected


@pytest.mark.parametrize(
    "given",
    ["", "foo", "/var/run/x.sock", "http+unix:///x.sock", "unix:x.sock", "tcp://", "tcp://u:secret@:x", "fd://"],
)
def test_what_is_no_address_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match=r"^engine=.*is like unix:///var/run") as caught:
        engine_address(given)
    assert "secret" not in caught.value.message
    monkeypatch.setenv("DOCKER_HOST", given or "foo")
    with pytest.raises(ConfigurationError, match=r"^DOCKER_HOST="):
        engine_address(None)


def test_a_password_in_an_address_is_not_told() -> None:
    with pytest.raises(ConfigurationError) as caught:
        engine_address("tcp://me:secret@gpu-box:2376")
    assert "tcp://me:***@gpu-box:2376" in caught.value.message
    assert shown_address("ssh://me@gpu-box") == "ssh://me@gpu-box"


def test_a_socket_at_which_another_program_listens_leads_to_no_engine_of_this_machine(tmp_path: Path) -> None:
    named_like_this = {"Name": socket.gethostname()}
    with socket.socket(socket.AF_UNIX) as tunnel:
        tunnel.bind(str(tmp_path / "s"))
        tunnel.listen()
        assert not is_on_this_machine(f"unix://{tmp_path}/s", named_like_this)
    assert not is_on_this_machine(f"unix://{tmp_path}/none", named_like_this)
    assert not is_on_this_machine("tcp://127.0.0.1:2375", named_like_this)


def address_by_context(config: Path, meta: str) -> str:
    """The engine's address when the docker command's context is ``desktop``."""
    # The folder's name is the digest of the context's.
    folder = config / "contexts" / "meta" / hashlib.sha256(b"desktop").hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(meta, encoding="utf-8")
    (config / "config.json").write_text(json.dumps({"currentContext": "desktop"}), encoding="utf-8")
    return engine_address(None)


def test_without_both_the_docker_commands_context_names_it(docker_config: Path) -> None:
    assert engine_address(None) == DEFAULT_ADDRESS
    endpoints = {"docker": {"Host": "unix:///desktop.sock", "SkipTLSVerify": False}}
    meta = json.dumps({"Name": "desktop", "Metadata": {}, "Endpoints": endpoints})
    assert address_by_context(docker_config, meta) == "unix:///desktop.sock"


def test_a_context_that_cannot_be_read_is_told_with_what_does_without(docker_config: Path) -> None:
    with pytest.raises(ProviderError, match=r"desktop.*DOCKER_HOST"):
        address_by_context(docker_config, "no JSON")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("unix:///var/run/docker.sock", False),
        ("tcp://127.0.0.1:2375", False),
        ("tcp://localhost:2375", False),
        ("tcp://gpu-box:2376", True),
        ("ssh://me@gpu-box", True),
    ],
)
def test_an_engine_on_another_machine_is_known_by_its_address(address: str, *, expected: bool) -> None:
    assert is_remote(address) is expected


def test_no_engine_is_told_with_how_to_start_one(tmp_path: Path) -> None:
    message = opening_fails(f"unix://{tmp_path}/docker.sock")
    assert f"no Docker engine answers at unix://{tmp_path}/docker.sock" in message
    assert "systemctl start docker" in message
    assert "DOCKER_HOST" in message


def test_an_engine_that_refuses_connections_is_told_as_none() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert "Connection refused" in opening_fails(f"tcp://127.0.0.1:{unused.getsockname()[1]}")


def test_certificates_that_are_not_there_are_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", "/nowhere")
    assert "TLS" in opening_fails("tcp://127.0.0.1:1")


def test_an_engine_that_is_silent_is_told_as_such(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        assert "did not answer in time" in opening_fails(f"unix://{tmp_path}/s", seconds=1.0)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be somebody else")
def test_a_socket_that_is_not_for_this_user_is_told_with_its_remedy(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from openenv_gym.providers.docker.engine import open_engine\n"
        "import docker.utils, requests.exceptions, urllib3.exceptions\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try:\n"
        "    with open_engine(sys.argv[1]): pass\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error.message)\n"
    )
    address = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
        listening.listen()
        address.chmod(0o600)
        for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
            folder.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", program, f"unix://{address}"], capture_output=True, text=True, check=True, timeout=60
        )
    assert done.stdout.startswith("ProviderError This user may not use the Docker engine")
    assert "usermod -aG docker" in done.stdout


def test_without_the_sdk_the_error_names_what_to_install() -> None:
    program = (
        "import sys\n"
        "sys.modules['docker'] = None\n"
        "from openenv_gym.providers.base import ServerRequest\n"
        "from openenv_gym.providers.pool import lease\n"
        "try:\n"
        "    lease(ServerRequest(provider='docker', image='x'))\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error.message)\n"
    )
    environ = {name: value for name, value in os.environ.items() if name != "DOCKER_HOST"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("ProviderError")
    assert 'pip install "openenv-gym[docker]"' in done.stdout


@pytest.mark.parametrize(
    ("said", "kind", "remedy"),
    [
        ("mkdir /var/lib/docker/overlay2/1: no space left on device", ProviderError, "docker system df"),
        ("Bind for 127.0.0.1:80 failed: port is already allocated", ProviderError, "host_port="),
        ('Conflict. The container name "/a" is already in use by container "1"', ProviderError, "left alone"),
        ("Unknown runtime specified runcs", ConfigurationError, "docker info"),
        ("unknown or invalid runtime name: runcs", ConfigurationError, "docker info"),
        ('could not select device driver "" with capabilities: [[gpu]]', ProviderError, "NVIDIA Container Toolkit"),
        ('invalid mount config for type "bind": bind source path does not exist: /x', ConfigurationError, "volumes="),
        ("unable to find user app: no matching entries in passwd file", ConfigurationError, "user="),
        ("network mine not found", ConfigurationError, "docker network ls"),
        ("invalid reference format: repository name must be lowercase", ConfigurationError, "lower case"),
        ("could not find an available, non-overlapping IPv4 address pool", ProviderError, "docker network prune"),
        ("standard_init_linux.go: exec format error", ProviderError, "platform="),
    ],
)
def test_what_an_engine_refuses_is_told_with_its_remedy(said: str, kind: type[OpenEnvGymError], remedy: str) -> None:
    error = refused("The container could not be started", said)
    assert type(error) is kind
    assert error.message.startswith(f"The container could not be started: {said}. ")
    assert remedy in error.message


def test_what_nobody_foresaw_is_told_as_it_was_said() -> None:
    assert (
        refused("It could not be started", "the moon is full.").message == "It could not be started: the moon is full."
    )
