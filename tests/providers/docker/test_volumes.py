"""What no container is given of the machine, wherever it lies and whatever it is called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.docker.volumes import refuse_engine_data, refuse_engine_sockets

HERE = "unix:///var/run/docker.sock"


@pytest.mark.parametrize(
    "folder",
    [
        *("/var/run/docker.sock", "/run/docker.sock", "/var/run", "/run", "/", "/var/../run", "//run"),
        *("/run/containerd", "/run/containerd/containerd.sock", "/var/run/docker/containerd", "/run/docker"),
        *("/run/user/1000/docker.sock", "/run/user", "/run/podman/podman.sock", "/run/crio"),
    ],
)
def test_an_engines_socket_is_given_to_no_container(folder: str) -> None:
    with pytest.raises(ConfigurationError, match="socket"):
        refuse_engine_sockets([folder], "tcp://127.0.0.1:2375")


@pytest.mark.parametrize("folder", ["/proc", "/proc/1/root", "/sys", "/sys/fs/cgroup", "/dev", "/dev/shm"])
def test_the_kernels_folders_are_given_to_none_either(folder: str) -> None:
    with pytest.raises(ConfigurationError, match="volumes"):
        refuse_engine_sockets([folder], HERE)


def test_nor_is_a_socket_elsewhere_also_not_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "engine")
    for folder in ("engine", "link"):
        with pytest.raises(ConfigurationError, match=folder):
            refuse_engine_sockets([str(tmp_path / folder)], f"unix://{tmp_path}/engine/docker.sock")


def test_a_link_into_the_kernels_folders_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc")
    with pytest.raises(ConfigurationError, match="/proc"):
        refuse_engine_sockets([str(tmp_path / "link" / "sys")], HERE)


def test_what_cannot_be_followed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def realpath(path: str) -> str:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os.path, "realpath", realpath)
    with pytest.raises(ConfigurationError, match="Permission denied"):
        refuse_engine_sockets([str(tmp_path)], HERE)


@pytest.mark.parametrize("folder", ["/srv/docker", "/srv", "/srv/docker/volumes/x/_data", "/srv/own/containerd.sock"])
def test_what_an_engine_keeps_is_given_to_no_container(folder: str) -> None:
    info = {"DockerRootDir": "/srv/docker", "Containerd": {"Address": "/srv/own/containerd.sock"}}
    with pytest.raises(ConfigurationError, match="what the engine keeps"):
        refuse_engine_data([folder], info)


def test_other_folders_are_no_danger(tmp_path: Path) -> None:
    folders = ["/var/lib/levels", "/srv/dockers", "/running", "/devices", str(tmp_path)]
    refuse_engine_sockets(folders, HERE)
    refuse_engine_data(folders, {"DockerRootDir": "/srv/docker"})
    refuse_engine_data(folders, {})
