"""What cannot be run: one clear message with the remedy, and no container is left (the fixture looks)."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import docker
import pytest
from openenv_gym_protocol.errors import ConfigurationError, OpenEnvGymError, ProviderError, ServerStartError

from openenv_gym.providers import pool
from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.docker import DockerProvider
from tests.support.containers import OBEDIENT_IMAGE, obedient, of_this_pool, started, tar_of
from tests.support.engine import Engine
from tests.support.loopback import served
from tests.support.pools import eventually

pytestmark = [pytest.mark.containers, pytest.mark.usefixtures("server_image")]


def refused(kind: type[OpenEnvGymError], options: dict[str, Any] | None = None, **settings: str) -> str:
    """The message with which a server that does as it is told is not started."""
    with pytest.raises(kind) as caught:
        started(obedient(options=options, **settings))
    assert type(caught.value) is kind
    return caught.value.message


def requested(image: str, **options: Any) -> ServerRequest:
    """A request for an image."""
    return ServerRequest(provider="docker", image=image, options=tuple(options.items()))


def test_no_engine(tmp_path: Path) -> None:
    message = refused(ProviderError, {"engine": f"unix://{tmp_path}/none"})
    assert "no Docker engine answers" in message
    assert "systemctl start docker" in message


def test_an_image_that_is_missing_and_may_not_be_fetched() -> None:
    with pytest.raises(ProviderError, match=r"has no image 'openenv-none:1'.*docker load"):
        started(requested("openenv-none:1", pull="never"))


def test_the_image_of_a_project_that_was_not_built(tmp_path: Path) -> None:
    (tmp_path / "openenv.yaml").write_text("name: maze_env\nversion: '3'\n", encoding="utf-8")
    with pytest.raises(ProviderError) as caught:
        started(ServerRequest(provider="docker", path=str(tmp_path)))
    assert f"build_image({str(tmp_path)!r})" in caught.value.message
    assert "maze" in caught.value.message


class Refusing(BaseHTTPRequestHandler):
    """A registry that answers every request for an image with one status, as registries do or without a word."""

    status = 500
    code = ""

    def do_GET(self) -> None:
        """An answer, or none."""
        self.send_response(200 if self.path == "/v2/" else self.status)
        if self.status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="here"')
        body = json.dumps({"errors": [{"code": self.code, "message": self.code.lower()}]}) if self.code else ""
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@contextmanager
def registry(status: int, code: str) -> Iterator[str]:
    """The address of a registry on loopback."""
    answers = type("Registry", (Refusing,), {"status": status, "code": code})
    with served(ThreadingHTTPServer(("127.0.0.1", 0), answers)) as address:
        yield address


@pytest.mark.parametrize(
    ("status", "code", "remedy"),
    [
        (401, "UNAUTHORIZED", "`docker login {}`"),
        (403, "DENIED", "`docker login {}`"),
        (403, "", "`docker login {}`"),
        (404, "MANIFEST_UNKNOWN", "check the spelling"),
        (404, "", "check the spelling"),
        (500, "", "pull='never'"),
    ],
)
def test_a_pull_that_is_refused(status: int, code: str, remedy: str) -> None:
    with registry(status, code) as address, pytest.raises(ProviderError) as caught:
        started(requested(f"{address}/team/echo:1"))
    assert f"The image {address}/team/echo:1 could not be fetched" in caught.value.message
    assert remedy.format(address) in caught.value.message


def test_a_registry_that_cannot_be_reached() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(ProviderError, match=r"could not be fetched.*refused.*pull='never'"):
            started(requested(f"127.0.0.1:{unused.getsockname()[1]}/echo:1"))


def test_an_image_that_is_there_is_fetched_anew_only_on_request(client: docker.DockerClient) -> None:
    with registry(404, "MANIFEST_UNKNOWN") as address:
        client.images.get(OBEDIENT_IMAGE).tag(f"{address}/obedient", "1")
        try:
            started(requested(f"{address}/obedient:1")).stop()
            with pytest.raises(ProviderError, match="could not be fetched"):
                started(requested(f"{address}/obedient:1", pull="always"))
        finally:
            client.images.remove(f"{address}/obedient:1")


def test_an_image_that_is_there_for_another_platform_is_fetched_for_the_one_asked_for(
    client: docker.DockerClient,
) -> None:
    with registry(404, "MANIFEST_UNKNOWN") as address:
        client.images.get(OBEDIENT_IMAGE).tag(f"{address}/obedient", "1")
        try:
            with pytest.raises(ProviderError, match="could not be fetched"):
                started(requested(f"{address}/obedient:1", platform="linux/arm64"))
        finally:
            client.images.remove(f"{address}/obedient:1")


def test_a_registry_that_is_silent_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        request = requested(f"127.0.0.1:{silent.getsockname()[1]}/echo:1")
        with pytest.raises(ProviderError, match=r"could not be fetched within 4 s\..*docker pull"):
            DockerProvider().start(request, Deadline(4.0))


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        message = refused(ProviderError, {"host_port": taken.getsockname()[1]})
    assert "The port is taken. Leave host_port= out" in message


def test_a_container_that_ends_at_once() -> None:
    with pytest.raises(ServerStartError) as caught:
        started(obedient(SERVER_EXIT="7"))
    assert caught.value.exit_code == 7
    assert "these are my last words" in caught.value.logs
    assert "ended with exit code 7" in caught.value.message
    assert "these are my last words" in caught.value.message


def test_a_command_that_is_not_in_the_image() -> None:
    with pytest.raises(ServerStartError, match="no-such-program"):
        started(obedient(options={"command": ["no-such-program"]}))


def test_an_image_for_a_platform_that_was_not_asked_for() -> None:
    assert "Build or pull it for this one" in refused(ProviderError, {"platform": "linux/arm64"})


def test_a_program_for_another_platform(client: docker.DockerClient) -> None:
    # The header of an executable for a machine that is none; its shell is no other.
    program = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xff\xff" + bytes(64)
    client.api.import_image_from_data(tar_of(program, "server", "bin/sh"), repository="openenv-gym-foreign", tag="test")
    with pytest.raises(ServerStartError, match=r"openenv-gym-foreign:test says it is for linux/.*cannot run"):
        started(requested("openenv-gym-foreign:test", pull="never", command=["/server"]))


def test_a_server_that_is_never_healthy() -> None:
    with pytest.raises(ServerStartError) as caught:
        DockerProvider().start(obedient(SERVER_HEALTH="503"), Deadline(12.0))
    assert "did not become ready within 12 s" in caught.value.message
    assert "status 503" in caught.value.message
    assert "has to listen" not in caught.value.message
    assert '"GET /health HTTP/1.1" 503' in caught.value.message  # the end of the log


def test_a_server_that_listens_elsewhere() -> None:
    with pytest.raises(ServerStartError, match=r"listen at 0\.0\.0\.0:8000 in the container; port="):
        DockerProvider().start(obedient(SERVER_PORT="8001"), Deadline(12.0))


def test_a_name_that_is_taken_leaves_the_other_container_alone(client: docker.DockerClient) -> None:
    other = client.containers.create(OBEDIENT_IMAGE, name="openenv-gym-test-of-a-clash")
    try:
        message = refused(ProviderError, {"container_name": "openenv-gym-test-of-a-clash"})
        assert "left alone" in message
        assert "docker rm -f" in message
        pool.shutdown()
        assert client.containers.get("openenv-gym-test-of-a-clash").id == other.id
    finally:
        other.remove()


def test_a_runtime_that_the_engine_does_not_have() -> None:
    message = refused(ConfigurationError, {"runtime": "runcs"})
    assert "runcs" in message
    assert "docker info" in message


def test_gpus_where_there_are_none() -> None:
    assert "NVIDIA Container Toolkit" in refused(ProviderError, {"gpus": "all"})


def test_a_volume_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    message = refused(ConfigurationError, {"volumes": {str(tmp_path / "levels"): "/levels"}})
    assert str(tmp_path / "levels") in message
    assert list(tmp_path.iterdir()) == []


def test_a_network_that_is_not_there() -> None:
    assert "docker network ls" in refused(ConfigurationError, {"network": "no-such-network"})


def test_a_network_that_is_the_machines_own_by_whatever_name(client: docker.DockerClient) -> None:
    host = next(each for each in client.networks.list(names=["host"]) if each.name == "host")
    assert host.id
    for name in (host.id, host.id[:12]):
        assert "no address of the container's own" in refused(ConfigurationError, {"network": name})


def test_a_volume_among_the_engines_own_files(client: docker.DockerClient) -> None:
    root = client.info()["DockerRootDir"]
    assert "what the engine keeps" in refused(ConfigurationError, {"volumes": {f"{root}/containers": "/x"}})


def test_a_user_that_the_image_does_not_have() -> None:
    assert "has no user of that name" in refused(ConfigurationError, {"user": "nobody-knows"})


def test_an_image_name_that_is_none() -> None:
    with pytest.raises(ConfigurationError, match="lower case"):
        started(requested("Echo Image"))


def test_a_folder_that_a_hardened_container_may_not_write_to() -> None:
    command = ["python3", "-c", "open('/app/cache', 'w')"]
    message = refused(ServerStartError, {"command": command})
    assert re.search(r"runs hardened.*tmpfs=.*hardening=\"compat\"", message)


def test_neither_image_nor_path_or_a_path_that_is_no_folder() -> None:
    with pytest.raises(ConfigurationError, match=r"image=.*path="):
        started(ServerRequest(provider="docker"))
    with pytest.raises(ConfigurationError, match="/nowhere is not a folder"):
        started(ServerRequest(provider="docker", path="/nowhere"))


def test_an_engine_elsewhere_needs_to_be_told_where_to_publish() -> None:
    message = refused(ConfigurationError, {"engine": "tcp://gpu-box:2376"})
    assert "bind_address=" in message


def test_a_failed_start_through_the_pool_leaves_nothing_either(engine: Engine) -> None:
    with pytest.raises(ServerStartError, match="last words"):
        pool.lease(obedient(SERVER_EXIT="7"))
    assert eventually(lambda: list(of_this_pool(engine)) == [])
