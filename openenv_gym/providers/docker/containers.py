"""Making a container, and finding the address at which its server is reached."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from openenv_gym_protocol.errors import OpenEnvGymError, ProviderError

from openenv_gym.providers.base import Owner
from openenv_gym.providers.docker.engine import engine_errors
from openenv_gym.providers.docker.settings import LOOPBACK
from openenv_gym.providers.readiness import died

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

_ANYWHERE = ("", "0.0.0.0", "::")
_END_SECONDS = 5.0


def run_container(
    client: DockerClient, address: str, settings: dict[str, Any], owner: Owner, *, image: str
) -> Container:
    """Creates and starts a container, which the owner keeps already.

    Args:
        client: The engine's client.
        address: The engine's address, for messages.
        settings: Keyword arguments of ``containers.create``.
        owner: Who keeps it.
        image: The image's name, for messages.

    Raises:
        ProviderError, ConfigurationError: The engine refuses; with the remedy.
        ServerStartError: The pool was shut down.
    """
    try:
        with engine_errors(address, f"The container of {image} could not be created"):
            container: Container = client.containers.create(**settings)
        with engine_errors(address, f"The container of {image} could not be started"):
            container.start()
    except OpenEnvGymError:
        # Removed by its keeper, perhaps, because the pool was shut down: then this says so.
        owner.exit_code()
        raise
    owner.kept_started()
    return container


def server_address(container: Container, engine: str, port: int, owner: Owner, *, image: str, published_at: str) -> str:
    """The base URL of a container's server: the published port, or the container's own address where none is.

    Args:
        container: A container that was started.
        engine: The engine's address.
        port: Where the server listens in the container.
        owner: Who keeps the container.
        image: The image's name, for messages.
        published_at: The engine's address at which the port was to be published, if at all.

    Raises:
        ServerStartError: The container has ended already; with its last log lines and its exit code.
        ProviderError: The engine gave it no address, or published it elsewhere than it was to.
    """
    from docker.errors import NotFound

    try:
        with engine_errors(engine, f"The container of {image} could not be looked up"):
            container.reload()
        refuse_other_addresses(container.attrs["NetworkSettings"], published_at)
        found = reached_at(container.attrs["NetworkSettings"], engine, port)
    except OpenEnvGymError as error:
        # Removed, because it has ended.
        if not isinstance(error.__cause__, NotFound):
            raise
        found = None
    return found or _without_address(owner, image)


def _without_address(owner: Owner, image: str) -> str:
    exit_code = owner.exit_code(_END_SECONDS)
    if exit_code is not None:
        raise died(image, owner, exit_code)
    raise ProviderError(f"The engine gave the container of {image} no address at which it can be reached.")


def refuse_other_addresses(network: Mapping[str, Any], published_at: str) -> None:
    """Refuses a container that is to be reached where it was not asked for.

    Args:
        network: The engine's ``NetworkSettings``.
        published_at: The address that was asked for.

    Raises:
        ProviderError: It is published at another.
    """
    for binding in (binding for bindings in (network.get("Ports") or {}).values() for binding in bindings or ()):
        host = binding["HostIp"]
        if host != published_at and (not host or ipaddress.ip_address(host) != ipaddress.ip_address(published_at)):
            raise ProviderError(
                f"The engine published the container at {host or 'all of its addresses'}, not at {published_at} as it "
                "was told to."
            )


def reached_at(network: Mapping[str, Any], engine: str, port: int) -> str | None:
    """The base URL of a server, by what the engine says of its container's network; None: it cannot be reached.

    Args:
        network: The engine's ``NetworkSettings``.
        engine: The engine's address.
        port: Where the server listens in the container.
    """
    for binding in (network.get("Ports") or {}).get(f"{port}/tcp") or ():
        host = binding["HostIp"]
        if host in _ANYWHERE:
            host = urlsplit(engine).hostname or LOOPBACK
        return f"http://{f'[{host}]' if ':' in host else host}:{binding['HostPort']}"
    for attached in (network.get("Networks") or {}).values():
        if attached.get("IPAddress"):
            return f"http://{attached['IPAddress']}:{port}"
    return None
