"""Folders of the engine's machine that no container is given: through them it could have the machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError

_ENGINES = (
    "/run/docker.sock",
    "/run/docker",
    "/run/containerd",
    "/run/podman",
    "/run/crio",
    # Rootless engines have their sockets there.
    "/run/user",
)
_KERNELS = ("/proc", "/sys", "/dev")


def refuse_engine_sockets(folders: Iterable[str], address: str) -> None:
    """Refuses volumes through which a container could ask an engine for anything, such as the machine's root.

    Args:
        folders: The volumes' folders on the engine's machine.
        address: The engine's, see ``engine_address``.

    Raises:
        ConfigurationError: One holds a socket of an engine, or lies where engines or the kernel have theirs.
    """
    sockets = [*_ENGINES, *([address.removeprefix("unix://")] if address.startswith("unix://") else [])]
    for folder in folders:
        for socket in sockets:
            if _overlap(folder, socket):
                raise ConfigurationError(
                    f"volumes: {folder!r} gives the container the engine's socket {socket}, and with it the machine."
                )
        for kernels in _KERNELS:
            if _overlap(folder, kernels):
                raise ConfigurationError(f"volumes: {folder!r} gives the container {kernels} of the machine.")


def refuse_engine_data(folders: Iterable[str], info: Mapping[str, Any]) -> None:
    """Refuses volumes in which an engine keeps the files of all of its containers.

    Args:
        folders: The volumes' folders on the engine's machine.
        info: What the engine says of itself.

    Raises:
        ConfigurationError: One holds them, or lies among them.
    """
    kept = [info.get("DockerRootDir"), (info.get("Containerd") or {}).get("Address")]
    for folder in folders:
        for path in filter(None, kept):
            if _overlap(folder, path):
                raise ConfigurationError(
                    f"volumes: {folder!r} gives the container what the engine keeps in {path}, and with it the machine."
                )


def _overlap(folder: str, path: str) -> bool:
    """Whether a folder holds what another path names, or lies in it."""
    pairs = [(PurePosixPath(one), PurePosixPath(other)) for one in _meant(folder) for other in _meant(path)]
    return any(one.is_relative_to(other) or other.is_relative_to(one) for one, other in pairs)


def _meant(path: str) -> tuple[str, ...]:
    """What a path may stand for: links are followed on this machine, which may not be the engine's."""
    plain = os.path.normpath(f"/{path.lstrip('/')}")
    try:
        followed = os.path.realpath(plain)
    except OSError as error:
        raise ConfigurationError(
            f"volumes: {path!r} cannot be followed to where it leads: {error.strerror}."
        ) from error
    return tuple(_without_the_old_name(each) for each in (plain, followed))


def _without_the_old_name(path: str) -> str:
    # /var/run is a link to /run wherever engines run.
    return path.removeprefix("/var") if PurePosixPath(path).is_relative_to("/var/run") else path
