"""What the engine is asked to create: hardened unless a request says otherwise. Pure; needs no engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openenv_gym.providers.docker.images import ImageFacts
from openenv_gym.providers.docker.options import DockerOptions, is_known_not_to_be_root, size_in_bytes, volume_place
from openenv_gym.providers.server_environ import TOKEN_VARIABLE

DEFAULT_PORT = 8000
"""Where a server listens when neither the request, the project nor the image says so."""

LOOPBACK = "127.0.0.1"

_NOBODY = "65534:65534"
_TMPFS = "rw,noexec,nosuid,nodev,size=64m"
_OPEN_FILES = 8192
_LOG = {"type": "json-file", "config": {"max-size": "10m", "max-file": "2"}}

_NO_RESOLVER = "192.0.2.1"
"""An address that belongs to nobody. Some engines resolve names for a container that is cut off, from the engine's own
machine, when that machine's resolver is on its loopback: names would be a way out. With a resolver of the
container's own they ask from inside of it."""

_NO_PATIENCE = ["timeout:1", "attempts:1"]
"""A library that looks up a name is told soon that there is none."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What makes a container one of ours.

    Attributes:
        name: The container's name.
        labels: Our labels.
        token: What the server has to ask for, if anything.
        network: The id or name of the network it is in; None for the engine's default.
    """

    name: str
    labels: Mapping[str, str]
    token: str | None
    network: str | None = None


def container_settings(
    options: DockerOptions, settings: Mapping[str, str], image: ImageFacts, identity: Identity, port: int
) -> dict[str, Any]:
    """The keyword arguments of the SDK's ``containers.create``.

    Args:
        options: What the request says.
        settings: The server's environment variables. Nothing of this process's own environment is added.
        image: What is known of the image.
        identity: Name, labels, token and network.
        port: Where the server listens in the container.
    """
    return {
        "image": image.id,
        "name": identity.name,
        "command": options.command,
        "environment": _environment(options, settings, identity.token),
        "labels": {**options.labels, **identity.labels},
        "user": user_of(options, image),
        "detach": True,
        "use_config_proxy": False,
        # The process itself is the container's: it gets signals, and its orphans are waited for.
        "init": True,
        # A container that ended has lost its sessions: it is replaced, not run again.
        "restart_policy": {"Name": "no"},
        "log_config": _LOG,
        **_rights(options),
        **_limits(options),
        **_folders(options),
        **_network(options, identity, port),
        **_engine_choices(options),
    }


def port_of(options: DockerOptions, project_port: int | None, image: ImageFacts) -> int:
    """Where the server listens: as the request says, else the project, else the image if it exposes one port."""
    return options.port or project_port or image.port or DEFAULT_PORT


def user_of(options: DockerOptions, image: ImageFacts) -> str | None:
    """Who the server is; None for the image's own user. Nobody, when hardened and the image's might be root."""
    if options.user is None and options.is_strict and not is_known_not_to_be_root(image.user):
        return _NOBODY
    return options.user


def _environment(options: DockerOptions, settings: Mapping[str, str], token: str | None) -> dict[str, str]:
    # Unbuffered, else the last words of one that crashed would never come. Its home may be anywhere it cannot write.
    environment = {"PYTHONUNBUFFERED": "1", **({"HOME": "/tmp"} if options.is_strict else {}), **settings}
    environment.pop(TOKEN_VARIABLE, None)
    return environment if token is None else {**environment, TOKEN_VARIABLE: token}


def _rights(options: DockerOptions) -> dict[str, Any]:
    # The engine's own seccomp profile applies as long as none is named here.
    rights: dict[str, Any] = {"security_opt": ["no-new-privileges"], "privileged": False}
    return {**rights, "cap_drop": ["ALL"], "read_only": True} if options.is_strict else rights


def _limits(options: DockerOptions) -> dict[str, Any]:
    memory = size_in_bytes("memory", options.memory)
    limits: dict[str, Any] = {
        "mem_limit": memory,
        "memswap_limit": memory,
        "pids_limit": options.pids,
        "ulimits": [
            {"Name": "nofile", "Soft": _OPEN_FILES, "Hard": _OPEN_FILES},
            {"Name": "core", "Soft": 0, "Hard": 0},
        ],
    }
    if options.cpus is not None:
        limits["nano_cpus"] = int(options.cpus * 1e9)
    if options.shm_size is not None:
        limits["shm_size"] = size_in_bytes("shm_size", options.shm_size)
    if options.gpus is not None:
        limits["device_requests"] = [_gpu_request(str(options.gpus))]
    return limits


def _gpu_request(gpus: str) -> dict[str, Any]:
    request: dict[str, Any] = {"Driver": "", "Count": 0, "Capabilities": [["gpu"]], "DeviceIDs": [], "Options": {}}
    if gpus.startswith("device="):
        return {**request, "DeviceIDs": gpus.removeprefix("device=").split(",")}
    return {**request, "Count": -1 if gpus == "all" else int(gpus)}


def _folders(options: DockerOptions) -> dict[str, Any]:
    places = {source: volume_place(place) for source, place in options.volumes.items()}
    mounts = [
        # A bind by this form fails where the folder is missing; the older form makes one, which is root's.
        {"Type": "bind", "Source": source, "Target": folder, "ReadOnly": read_only}
        for source, (folder, read_only) in places.items()
    ]
    tmpfs = {folder: text or _TMPFS for folder, text in options.tmpfs.items()}
    if options.is_strict and "/tmp" not in {folder for folder, _ in places.values()}:
        tmpfs.setdefault("/tmp", _TMPFS)
    return {"mounts": mounts, "tmpfs": tmpfs}


def _network(options: DockerOptions, identity: Identity, port: int) -> dict[str, Any]:
    network = {} if identity.network is None else {"network": identity.network}
    if not options.egress:
        return {**network, "dns": [_NO_RESOLVER], "dns_opt": _NO_PATIENCE}
    return {**network, "ports": {f"{port}/tcp": (options.bind_address or LOOPBACK, options.host_port)}}


def _engine_choices(options: DockerOptions) -> dict[str, Any]:
    choices = {"runtime": options.runtime, "platform": options.platform}
    return {name: value for name, value in choices.items() if value is not None}
