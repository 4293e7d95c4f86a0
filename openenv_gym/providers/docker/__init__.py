"""Servers in Docker containers. The names below are loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openenv_gym.providers.docker.build import BuiltImage, build_image
    from openenv_gym.providers.docker.options import DockerOptions
    from openenv_gym.providers.docker.provider import ContainerServer, DockerProvider
    from openenv_gym.providers.docker.tags import image_tag

__all__ = ["BuiltImage", "ContainerServer", "DockerOptions", "DockerProvider", "build_image", "image_tag"]

_HOMES = {
    "BuiltImage": "openenv_gym.providers.docker.build",
    "build_image": "openenv_gym.providers.docker.build",
    "ContainerServer": "openenv_gym.providers.docker.provider",
    "DockerOptions": "openenv_gym.providers.docker.options",
    "DockerProvider": "openenv_gym.providers.docker.provider",
    "image_tag": "openenv_gym.providers.docker.tags",
}
"""The module that defines each public name: the keeper's process needs the labels and no provider."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
