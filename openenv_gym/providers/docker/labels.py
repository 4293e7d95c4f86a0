"""The labels by which a container or a network says whose it is, and the rule by which it is left over.

Standard library only, and no engine is asked: the rule is the same for whoever finds a labelled thing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openenv_gym.providers.location import PoolLocation

SERVER_LABEL = "openenv-gym.server"
"""The server's id, which is unique."""

POOL_LABEL = "openenv-gym.pool"
"""The name of the pool's directory, which names the user, the root process and where its id counts."""

BOOT_LABEL = "openenv-gym.boot"
"""The boot of the machine on which the pool's root runs."""

CREATED_LABEL = "openenv-gym.created"
"""When the thing was made, in seconds since 1970 by the clock of the machine on which the root runs."""

TTL_LABEL = "openenv-gym.ttl"
"""For how many seconds it is nobody's business where its owner cannot be looked for."""

PROJECT_LABEL = "openenv-gym.project"
"""What is served: for people who read ``docker ps``."""

NAME_LABEL = "openenv-gym.name"
"""The thing's own name: an image that somebody makes of a container hands its labels on to containers of others."""

MACHINE_LABEL = "openenv-gym.machine"
"""``shared`` where the root is certainly on the engine's own machine."""

_SHARED = "shared"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def owner_labels(
    server_id: str,
    location: PoolLocation,
    *,
    name: str,
    project: str,
    ttl: float,
    now: float,
    engine_is_here: bool,
) -> dict[str, str]:
    """The labels of what is made for a server.

    Args:
        server_id: The server, see ``Owner.server_id``.
        location: The pool of the process tree that uses it.
        name: The thing's own name.
        project: What is served.
        ttl: Seconds after which it is left over where its owner cannot be looked for: on another machine, or in
            another process id namespace.
        now: Seconds since 1970.
        engine_is_here: Whether the engine certainly runs on this machine.
    """
    return {
        SERVER_LABEL: server_id,
        POOL_LABEL: location.directory.name,
        BOOT_LABEL: boot_id(),
        CREATED_LABEL: str(int(now)),
        TTL_LABEL: str(int(ttl)),
        PROJECT_LABEL: project,
        NAME_LABEL: name,
        MACHINE_LABEL: _SHARED if engine_is_here else "",
    }


def bears_its_own_labels(listed: Mapping[str, Any]) -> bool:
    """Whether a container or network has the labels that were made for it, and not for one that it was copied from.

    Args:
        listed: What an engine lists of it.
    """
    labels = listed.get("Labels") or {}
    # Of a container, with a slash in front; of a network, one only.
    names = [*(listed.get("Names") or ()), listed.get("Name")]
    name = labels.get(NAME_LABEL)
    return bool(name) and any(each in (name, f"/{name}") for each in names)


def is_left_over(labels: Mapping[str, str], *, now: float, engine_is_here: bool) -> bool:
    """Whether the owner of a labelled thing has ended without removing it.

    What has no such labels, or is another user's, never is.

    Args:
        labels: All labels of a container or network.
        now: Seconds since 1970.
        engine_is_here: Whether the engine certainly runs on this machine, and so ends with it. That the root did so
            too is in the labels.
    """
    location = pool_of(labels)
    if location is None or location.uid != os.getuid():
        return False
    if location.is_here:
        return not location.root_is_running()
    boot, here = labels.get(BOOT_LABEL, ""), boot_id()
    shares_a_machine = engine_is_here and labels.get(MACHINE_LABEL) == _SHARED
    if shares_a_machine and boot and here and boot != here:
        return True
    return _ends_at(labels) < now


def pool_of(labels: Mapping[str, str]) -> PoolLocation | None:
    """The pool that a labelled thing belongs to, or None when the labels do not say.

    Its folder is not in the labels: the location serves to look for the root only.
    """
    name = labels.get(POOL_LABEL, "")
    return PoolLocation.parse(Path("/", name)) if SERVER_LABEL in labels and name else None


def boot_id() -> str:
    """Names the boot of this machine; empty where the system has no such name."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _ends_at(labels: Mapping[str, str]) -> float:
    try:
        return float(labels[CREATED_LABEL]) + float(labels[TTL_LABEL])
    except (KeyError, ValueError):
        # Not written by us as it stands: nothing is concluded from it.
        return float("inf")
