"""Containers that the keeper keeps, made by the SDK alone: what the tests of it share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import docker
from docker.models.containers import Container

from openenv_gym.providers.base import Owner
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.docker.keeper_command import keeper_command
from openenv_gym.providers.docker.labels import NAME_LABEL, POOL_LABEL, owner_labels
from openenv_gym.providers.location import PoolLocation, pool_location
from openenv_gym.providers.watchdog_client import WatchdogClient, own_server
from tests.support.engine import BASE_IMAGE

PROGRAM = Path(__file__).parent / "programs" / "keeping_program.py"

SERVE = ("python3", "-u", "-m", "http.server", "8000")
STUBBORN = ("/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done")

_SECONDS = 30.0


def labels_for(server_id: str, location: PoolLocation | None = None, **changed: str) -> dict[str, str]:
    """The labels of something of a pool, this process tree's if none is given; it is called as the server is."""
    made = owner_labels(
        server_id,
        location or pool_location(),
        name=server_id,
        project="test",
        ttl=3600.0,
        now=time.time(),
        engine_is_here=True,
    )
    return {**made, **changed}


def created(client: docker.DockerClient, labels: dict[str, str], command: Sequence[str], **more: Any) -> Container:
    """A container that does not run yet."""
    return client.containers.create(
        BASE_IMAGE, list(command), init=True, labels=labels, name=labels.get(NAME_LABEL), **more
    )


def kept_by(owner: Owner) -> None:
    """Has whatever is made for an owner kept."""
    argv, env = keeper_command(None)
    owner.keep(argv, env=env, key="docker", deadline=Deadline(_SECONDS))


def kept(client: docker.DockerClient, command: Sequence[str] = SERVE, **more: Any) -> tuple[WatchdogClient, Container]:
    """A container that runs and is kept, and its owner, who has said that it answers."""
    owner, container = just_started(client, command, **more)
    owner.ready("http://127.0.0.1:1", None)
    return owner, container


def just_started(
    client: docker.DockerClient, command: Sequence[str] = SERVE, **more: Any
) -> tuple[WatchdogClient, Container]:
    """A container that runs and is kept, and its owner, for whom it is starting still."""
    owner = own_server(Deadline(_SECONDS))
    kept_by(owner)
    container = created(client, labels_for(owner.server_id), command, **more)
    container.start()
    owner.kept_started()
    return owner, container


def kept_at_once(client: docker.DockerClient, count: int) -> list[tuple[WatchdogClient, Container]]:
    """Several of them, started side by side."""
    with ThreadPoolExecutor(4) as starting:
        return list(starting.map(lambda _: kept(client), range(count)))


def names_of(client: docker.DockerClient, directory: Path) -> set[str]:
    """Names of all containers that are a pool's, ended ones included."""
    listed = client.api.containers(all=True, filters={"label": f"{POOL_LABEL}={directory.name}"})
    return {each["Names"][0].removeprefix("/") for each in listed}


def is_there(client: docker.DockerClient, container: Container) -> bool:
    """Whether the engine has a container, in whatever state."""
    return bool(client.api.containers(all=True, filters={"id": container.id}))
