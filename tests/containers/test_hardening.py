"""What a container may do, as the engine says it and as it is found inside."""

from __future__ import annotations

import json
import logging
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import docker
import pytest

from openenv_gym.providers.docker.labels import POOL_LABEL, SERVER_LABEL
from openenv_gym.providers.location import pool_location
from tests.support.containers import OBEDIENT_IMAGE, inside, inspected, obedient, started

pytestmark = [pytest.mark.containers, pytest.mark.usefixtures("server_image")]

STATUS = """
lines = (line.split(":", 1) for line in open("/proc/self/status"))
result = {name: value.strip() for name, value in lines}
"""


def test_the_engine_says_that_it_is_hardened(client: docker.DockerClient) -> None:
    host = inspected(client, started(obedient()))["HostConfig"]
    assert host["CapDrop"] == ["ALL"]
    assert host["CapAdd"] is None
    # No other seccomp profile than the engine's own, no AppArmor taken away.
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["ReadonlyRootfs"] is True
    assert host["Privileged"] is False
    assert host["Memory"] == host["MemorySwap"] == 1 << 30
    assert host["PidsLimit"] == 256
    assert host["Tmpfs"] == {"/tmp": "rw,noexec,nosuid,nodev,size=64m"}
    assert host["Init"] is True
    assert host["RestartPolicy"]["Name"] == "no"
    assert host["LogConfig"] == {"Type": "json-file", "Config": {"max-size": "10m", "max-file": "2"}}
    assert host["Binds"] is None
    assert {host["NetworkMode"], host["PidMode"], host["IpcMode"]} <= {"default", "bridge", "", "private"}


def test_inside_it_is_nobody_without_capabilities_under_seccomp() -> None:
    status = inside(started(obedient()), STATUS)
    assert status["Uid"].split() == ["65534"] * 4
    assert status["Gid"].split() == ["65534"] * 4
    assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == int(status["CapBnd"], 16) == 0
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"


def test_inside_its_root_cannot_be_written_to() -> None:
    server = started(obedient())
    for path in ("/x", "/app/x", "/etc/x", "/var/tmp/x"):
        assert "Read-only file system" in inside(server, f"open({path!r}, 'w')")


def test_inside_tmp_can_be_written_to_but_runs_nothing_and_is_small() -> None:
    server = started(obedient())
    assert inside(server, "open('/tmp/x', 'w').write('#!/bin/sh\\n'); result = 'written'") == "written"
    run = "import os, subprocess; os.chmod('/tmp/x', 0o755); subprocess.run(['/tmp/x'])"
    assert inside(server, run).startswith("PermissionError")
    assert "No space left" in inside(server, "open('/tmp/y', 'wb').write(bytes(65 << 20))")


def test_inside_memory_and_processes_end_where_they_should() -> None:
    server = started(obedient(options={"memory": "128m", "pids": 32}))
    fork = """
import os
made = []
try:
    for _ in range(64):
        made.append(os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "30"))
except OSError as error:
    result = type(error).__name__
for pid in made:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
"""
    assert inside(server, fork) == "BlockingIOError"
    hungry = """
import subprocess, sys
result = subprocess.run([sys.executable, "-c", "b'x' * (256 << 20)"]).returncode
"""
    assert inside(server, hungry) == -9


def test_inside_files_are_limited_and_a_crash_leaves_no_memory_image() -> None:
    limits = "from resource import *; result = [getrlimit(RLIMIT_NOFILE), getrlimit(RLIMIT_CORE)]"
    assert inside(started(obedient()), limits) == [[8192, 8192], [0, 0]]


def test_nothing_of_this_processs_environment_is_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_very_secret")
    monkeypatch.setenv("LEVEL_OF_THE_TRAINER", "9")
    server = started(obedient(LEVEL="3"))
    environ = inside(server, "import os; result = dict(os.environ)")
    assert environ["LEVEL"] == "3"
    assert "hf_very_secret" not in json.dumps(environ)
    assert set(environ) <= {"PATH", "HOSTNAME", "HOME", "PYTHONUNBUFFERED", "LEVEL", "OPENENV_GYM_TOKEN", "LC_CTYPE"}


def test_the_token_is_in_the_environment_not_in_arguments_logs_or_labels(
    client: docker.DockerClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        server = started(obedient())
    assert server.token
    assert inside(server, "import os; result = os.environ['OPENENV_GYM_TOKEN']") == server.token
    facts = inspected(client, server)
    assert [each for each in facts["Config"].pop("Env") if server.token in each] == [
        f"OPENENV_GYM_TOKEN={server.token}"
    ]
    assert server.token not in json.dumps(facts)
    assert server.token not in server.logs()
    assert server.token not in caplog.text
    assert server.token not in repr(server)
    commands = "import pathlib; result = [p.read_text() for p in pathlib.Path('/proc').glob('[0-9]*/cmdline')]"
    assert server.token not in json.dumps(inside(server, commands))


def test_every_container_has_a_token_and_a_name_of_its_own() -> None:
    first, second = started(obedient()), started(obedient())
    assert first.token != second.token
    assert first.container != second.container


def test_it_is_published_on_loopback_only(client: docker.DockerClient) -> None:
    server = started(obedient())
    network = inspected(client, server)["NetworkSettings"]
    port = urlsplit(server.base_url).port
    assert network["Ports"] == {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(port)}]}
    # At another of this machine's addresses nothing listens.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((network["Gateway"], port), timeout=5)


def test_the_images_digest_is_recorded(client: docker.DockerClient) -> None:
    server = started(obedient())
    assert server.image_id == server.image_digest == client.images.get(OBEDIENT_IMAGE).id
    assert inspected(client, server)["Image"] == server.image_id


def test_labels_say_whose_it_is_beside_the_requests_own(client: docker.DockerClient) -> None:
    server = started(obedient(options={"labels": {"team": "rl"}, "ttl": 60}))
    labels = inspected(client, server)["Config"]["Labels"]
    assert labels["team"] == "rl"
    assert labels[SERVER_LABEL] == server.owner.server_id
    assert labels[POOL_LABEL] == pool_location().directory.name
    assert labels["openenv-gym.ttl"] == "60"
    assert labels["openenv-gym.project"] == OBEDIENT_IMAGE
    assert labels["openenv-gym.name"] == server.container
    assert labels["openenv-gym.machine"] == "shared", "the tests' engine runs here"


def test_a_volume_is_read_only_unless_it_says_otherwise(tmp_path: Path) -> None:
    modes = {"silent": "", "read": ":ro", "write": ":rw"}
    for name in modes:
        (tmp_path / name).mkdir()
        (tmp_path / name / "level").write_text("a maze", encoding="utf-8")
        (tmp_path / name).chmod(0o777)
    volumes = {str(tmp_path / name): f"/{name}{mode}" for name, mode in modes.items()}
    server = started(obedient(options={"volumes": volumes}))
    for name in modes:
        assert inside(server, f"result = open('/{name}/level').read()") == "a maze"
    for name in ("silent", "read"):
        assert "Read-only file system" in inside(server, f"open('/{name}/new', 'w')")
    assert inside(server, "result = open('/write/new', 'w').mode") == "w"


def test_more_folders_in_memory_processors_and_a_command_are_given_on_request(client: docker.DockerClient) -> None:
    command = ["python3", "-c", "import runpy; runpy.run_path('/app/server.py', run_name='__main__')"]
    options: dict[str, Any] = {"tmpfs": {"/cache": ""}, "cpus": 0.5, "shm_size": "32m", "command": command}
    server = started(obedient(options=options))
    assert inside(server, "result = open('/cache/x', 'w').mode") == "w"
    facts = inspected(client, server)
    assert facts["HostConfig"]["NanoCpus"] == 500_000_000
    assert facts["HostConfig"]["ShmSize"] == 32 << 20
    assert facts["Config"]["Cmd"] == command


def test_compat_lets_an_image_be_root_and_write_and_keeps_the_limits(client: docker.DockerClient) -> None:
    server = started(obedient(options={"hardening": "compat"}))
    status = inside(server, STATUS)
    assert status["Uid"].split() == ["0"] * 4
    assert int(status["CapEff"], 16) != 0
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert inside(server, "result = open('/app/x', 'w').mode") == "w"
    host = inspected(client, server)["HostConfig"]
    assert (host["Memory"], host["MemorySwap"], host["PidsLimit"]) == (1 << 30, 1 << 30, 256)
    assert host["Privileged"] is False


def test_a_user_of_the_request_is_who_runs() -> None:
    assert inside(
        started(obedient(options={"user": "1234:1235"})), "import os; result = [os.getuid(), os.getgid()]"
    ) == [1234, 1235]


def test_the_port_of_the_request_is_published(client: docker.DockerClient) -> None:
    server = started(obedient(options={"port": 9001}, SERVER_PORT="9001"))
    assert list(inspected(client, server)["HostConfig"]["PortBindings"]) == ["9001/tcp"]
