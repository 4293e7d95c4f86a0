"""What of ours runs on this machine and its engine, in one form whatever it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from openenv_gym_protocol.errors import OpenEnvGymError
from openenv_gym_registry.cache import in_words

from openenv_gym.providers.inventory import ServerProcess, command_of, end_process, server_processes
from openenv_gym.providers.location import PoolLocation
from openenv_gym_cli import output


@dataclass(frozen=True, kw_only=True)
class Running:
    """A server that runs.

    Attributes:
        id: The server's id, unique.
        kind: ``process`` or ``container``.
        name: The container's name, or the process id.
        what: The project's folder, or the image.
        state: ``running`` or what an engine says; ``left over`` where the owner has ended.
        base_url: Its address, where it has one.
        owner: The program that it was started for; empty when that is not known.
        created: When it was started, in seconds since 1970, where that is known.
        end: Ends it and waits until it is gone.
    """

    id: str
    kind: str
    name: str
    what: str
    state: str
    base_url: str | None
    owner: str
    created: float | None
    end: Callable[[], None]

    @property
    def is_left_over(self) -> bool:
        """Whether its owner has ended."""
        return self.state == LEFT_OVER

    @property
    def age(self) -> str:
        """How long ago it was started, for people."""
        return "" if self.created is None else in_words(datetime.now(UTC) - datetime.fromtimestamp(self.created, UTC))

    def to_json(self) -> dict[str, Any]:
        """What scripts read."""
        names = ("id", "kind", "name", "what", "state", "base_url", "owner", "created")
        return {name: getattr(self, name) for name in names}


LEFT_OVER = "left over"


def all_running(engine: str | None) -> list[Running]:
    """What of ours runs: processes of this user, containers of everybody on the engine.

    An engine that cannot be asked is noted beside the data, unless somebody named it.

    Raises:
        OpenEnvGymError: The engine that was named cannot be asked.
    """
    found = [_process(each) for each in server_processes()]
    try:
        from openenv_gym.providers.docker.inventory import labelled_containers

        found += [_container(each, engine) for each in labelled_containers(engine)]
    except OpenEnvGymError as error:
        if engine is not None:
            raise
        output.note(f"Containers are not listed. {error.message}")
    return found


def _process(server: ServerProcess) -> Running:
    return Running(
        id=server.server_id,
        kind="process",
        name=str(server.pid),
        what=server.folder,
        state=LEFT_OVER if server.is_left_over else "running",
        base_url=server.base_url,
        owner=_owner(server.pool),
        created=server.created,
        end=lambda: end_process(server),
    )


def _container(container: Any, engine: str | None) -> Running:
    def end() -> None:
        from openenv_gym.providers.docker.inventory import remove_container

        remove_container(container, engine)

    return Running(
        id=container.server_id,
        kind="container",
        name=container.name,
        what=container.project,
        state=LEFT_OVER if container.is_left_over else container.state,
        base_url=container.base_url,
        owner=_owner(container.pool),
        created=container.created,
        end=end,
    )


def _owner(pool: PoolLocation | None) -> str:
    if pool is None:
        return ""
    if not pool.is_here:
        return f"{pool.root_pid} of user {pool.uid}, elsewhere"
    return f"{pool.root_pid} {command_of(pool.root_pid)}".strip()
