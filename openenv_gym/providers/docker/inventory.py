"""What of ours is on an engine, for people who look after it: listing, ending, following, cleaning up."""

from __future__ import annotations

import http
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from openenv_gym.providers.docker.containers import reached_at
from openenv_gym.providers.docker.engine import (
    engine_address,
    engine_errors,
    is_on_this_machine,
    open_engine,
    shown_address,
)
from openenv_gym.providers.docker.labels import (
    CREATED_LABEL,
    PROJECT_LABEL,
    SERVER_LABEL,
    bears_its_own_labels,
    is_left_over,
    pool_of,
)
from openenv_gym.providers.location import PoolLocation

_LISTING_SECONDS = 10.0
_LONGEST_LINE = 2**16
"""Bytes; what is longer is told in pieces, because it may have no end."""

_A_LONG_LOG = 10.0**7
"""Seconds that a container may be silent."""


@dataclass(frozen=True, kw_only=True)
class LabelledContainer:
    """A container that was made for a server.

    Attributes:
        id: The engine's name for it, which is unique.
        server_id: The server's id.
        name: The container's name.
        project: What it serves: an image's name.
        state: As the engine calls it, such as ``running``.
        created: When it was made, in seconds since 1970; None when its labels do not say.
        base_url: Its address; None when it has none.
        pool: Whose it is; None when its labels do not say.
        is_left_over: Whether its owner has ended without removing it.
    """

    id: str
    server_id: str
    name: str
    project: str
    state: str
    created: float | None
    base_url: str | None
    pool: PoolLocation | None
    is_left_over: bool


@dataclass(frozen=True)
class EngineFacts:
    """An engine that answers.

    Attributes:
        address: Where, without a password.
        version: Its version.
        platform: What it runs on, such as ``linux/amd64``.
    """

    address: str
    version: str
    platform: str


def engine_facts(engine: str | None = None) -> EngineFacts:
    """Asks an engine what it is.

    Args:
        engine: Its address; None: as ``DOCKER_HOST`` or the docker command's context says.

    Raises:
        ProviderError: None answers, or the SDK is missing; with the remedy.
    """
    address = engine_address(engine)
    with open_engine(address, _LISTING_SECONDS) as client, engine_errors(address, "The engine could not be asked"):
        told = client.version()
    return EngineFacts(shown_address(address), str(told.get("Version", "")), f"{told.get('Os')}/{told.get('Arch')}")


def labelled_containers(engine: str | None = None) -> list[LabelledContainer]:
    """The containers that openenv-gym has made on an engine, ended ones too, of whichever user and program.

    Raises:
        ProviderError: The engine cannot be asked.
    """
    address = engine_address(engine)
    with open_engine(address, _LISTING_SECONDS) as client, engine_errors(address, "The engine could not be asked"):
        listed = client.api.containers(all=True, filters={"label": [SERVER_LABEL]})
        here = is_on_this_machine(address, client.info())
    return [_labelled(each, address, engine_is_here=here) for each in listed if bears_its_own_labels(each)]


def remove_container(container: LabelledContainer, engine: str | None = None) -> None:
    """Ends and removes a container that was made for a server. Idempotent.

    Raises:
        ProviderError: The engine did not do it.
    """
    from docker.errors import APIError, NotFound

    address = engine_address(engine)
    with open_engine(address) as client, engine_errors(address, f"{container.name} could not be removed"):
        try:
            client.api.remove_container(container.id, v=True, force=True)
        except NotFound:
            return
        except APIError as error:
            # Its keeper is removing it already.
            if error.status_code != http.HTTPStatus.CONFLICT:
                raise


def remove_left_over(engine: str | None = None) -> list[str]:
    """Removes the containers and networks whose owners have ended without doing so.

    Returns:
        Their names.

    Raises:
        ProviderError: The engine cannot be asked.
    """
    address = engine_address(engine)
    removed = []
    for container in labelled_containers(engine):
        if container.is_left_over:
            remove_container(container, engine)
            removed.append(container.name)
    with open_engine(address, _LISTING_SECONDS) as client, engine_errors(address, "A network could not be removed"):
        here = is_on_this_machine(address, client.info())
        for network in client.api.networks(filters={"label": [SERVER_LABEL]}):
            labels = network.get("Labels") or {}
            if bears_its_own_labels(network) and is_left_over(labels, now=time.time(), engine_is_here=here):
                client.api.remove_network(network["Id"])
                removed.append(str(network["Name"]))
    return removed


def has_image(name: str, engine: str | None = None) -> bool:
    """Whether an engine has an image.

    Raises:
        ProviderError: The engine cannot be asked.
    """
    address = engine_address(engine)
    with open_engine(address, _LISTING_SECONDS) as client, engine_errors(address, "The image could not be looked up"):
        from docker.errors import ImageNotFound

        try:
            client.images.get(name)
        except ImageNotFound:
            return False
        return True


def follow_log(container: str, engine: str | None = None) -> Iterator[str]:
    """The lines that a container writes, from its first one to its end.

    Args:
        container: Its name.
        engine: The engine's address; None: the usual one.

    Raises:
        ProviderError: The engine cannot be asked.
    """
    from docker.errors import NotFound

    address = engine_address(engine)
    with open_engine(address, _A_LONG_LOG) as client, engine_errors(address, "The log could not be followed"):
        try:
            yield from lines_of(client.api.logs(container, stream=True, follow=True))
        except NotFound:
            return  # it has ended and was removed already


def lines_of(parts: Iterable[bytes]) -> Iterator[str]:
    """The lines of what comes in parts; a very long one in pieces.

    Args:
        parts: What comes.
    """
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            lines, rest = [*lines, rest], b""
        yield from (line.decode(errors="replace").rstrip("\r") for line in lines)
    if rest:
        yield rest.decode(errors="replace")


def _labelled(listed: Mapping[str, Any], address: str, *, engine_is_here: bool) -> LabelledContainer:
    labels = listed.get("Labels") or {}
    created = labels.get(CREATED_LABEL, "")
    return LabelledContainer(
        id=str(listed["Id"]),
        server_id=labels[SERVER_LABEL],
        name=str(listed["Names"][0]).lstrip("/"),
        project=labels.get(PROJECT_LABEL, ""),
        state=str(listed.get("State", "")),
        created=float(created) if created.isdigit() else None,
        base_url=_base_url(listed, address),
        pool=pool_of(labels),
        is_left_over=is_left_over(labels, now=time.time(), engine_is_here=engine_is_here),
    )


def _base_url(listed: Mapping[str, Any], address: str) -> str | None:
    """The published address of what an engine lists, whose ports have another form than those that it inspects."""
    ports = [port for port in listed.get("Ports") or () if port.get("PublicPort") and port.get("Type") == "tcp"]
    if not ports:
        return None
    inner = int(ports[0]["PrivatePort"])
    bindings = [{"HostIp": ports[0].get("IP", ""), "HostPort": str(ports[0]["PublicPort"])}]
    return reached_at({"Ports": {f"{inner}/tcp": bindings}}, address, inner)
