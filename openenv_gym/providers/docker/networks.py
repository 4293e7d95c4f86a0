"""The network of containers that may reach nothing: each is alone, and this machine reaches each."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openenv_gym_protocol.errors import ProviderError

from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.docker.engine import is_remote, shown_address
from openenv_gym.providers.docker.labels import NAME_LABEL, POOL_LABEL
from openenv_gym.providers.docker.options import shared_network

if TYPE_CHECKING:
    from docker import DockerClient

# An internal network has no way out but the engine's own machine; without this its containers would reach each other.
_ALONE = {"com.docker.network.bridge.enable_icc": "false"}

_SHARED_DRIVERS = ("host", "null")
_PAUSE_SECONDS = 0.02


def users_network(client: DockerClient, wanted: str) -> str:
    """The id of a network that the request names, by its name or its id.

    Raises:
        ConfigurationError: Containers in it have no address of their own.
        docker.errors.NotFound: There is none.
    """
    found = client.networks.get(wanted)
    if found.attrs.get("Driver") in _SHARED_DRIVERS:
        raise shared_network(wanted)
    return str(found.id)


def cut_off_network(client: DockerClient, labels: Mapping[str, str], directory: Path, deadline: Deadline) -> str:
    """Finds or makes the one network of this pool's containers with ``egress=False`` on an engine, and returns its id.

    It is not removed as long as something of the pool is kept on the engine.

    Args:
        client: The engine's client.
        labels: Our labels of the container that needs it, which is kept already.
        directory: The pool's.
        deadline: Until when to wait for other processes that look for it.

    Raises:
        ProviderError: Another process was looking for it all the time.
    """
    with _alone(directory / "networks.lock", deadline):
        found = client.networks.list(filters={"label": f"{POOL_LABEL}={labels[POOL_LABEL]}"})
        if found:
            return str(found[0].id)
        name = f"openenv-gym-{uuid.uuid4().hex}"
        own = {**labels, NAME_LABEL: name}
        return str(client.networks.create(name, driver="bridge", internal=True, options=_ALONE, labels=own).id)


def refuse_where_unreachable(address: str, info: Mapping[str, Any]) -> None:
    """Refuses ``egress=False`` where this machine does not reach containers at their own addresses.

    Args:
        address: The engine's.
        info: What the engine says of itself.

    Raises:
        ProviderError: It does not.
    """
    is_rootless = any("rootless" in str(option) for option in info.get("SecurityOptions") or ())
    is_in_a_machine_of_its_own = sys.platform != "linux" or info.get("OperatingSystem") == "Docker Desktop"
    if is_remote(address) or is_rootless or is_in_a_machine_of_its_own:
        raise ProviderError(
            "egress=False needs a Docker engine that runs on this machine's own network; the one at "
            f"{shown_address(address)} is remote, rootless or in a virtual machine. Use a root engine on Linux."
        )


@contextlib.contextmanager
def _alone(path: Path, deadline: Deadline) -> Iterator[None]:
    """Lets one thread of one of the pool's processes in at a time."""
    with _making, path.open("ab") as file:
        # The kind of lock that a child made by a fork does not hold on to.
        while not _locked(file.fileno()):
            if deadline.passed:
                raise ProviderError(
                    "Another process of this program was making the network of egress=False for too long."
                )
            time.sleep(_PAUSE_SECONDS)
        yield


def _locked(fd: int) -> bool:
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_making = threading.Lock()


def _renew_after_fork() -> None:
    # Another thread of the parent may have held it.
    global _making
    _making = threading.Lock()


os.register_at_fork(after_in_child=_renew_after_fork)
