"""The network of containers that may reach nothing: each is alone, and this machine reaches each."""

from __future__ import annotations

import os
import sys
import threading
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openenv_gym_protocol.errors import ProviderError

from openenv_gym.providers.docker.engine import is_remote
from openenv_gym.providers.docker.labels import POOL_LABEL

if TYPE_CHECKING:
    from docker import DockerClient

# An internal network has no way out but the engine's own machine; without this its containers would reach each other.
_ALONE = {"com.docker.network.bridge.enable_icc": "false"}


def cut_off_network(client: DockerClient, labels: Mapping[str, str]) -> str:
    """Finds or makes the network of this pool's containers with ``egress=False``, and returns its id.

    Two processes that need it at the same moment may make two: either serves, and the pool's end removes both.

    Args:
        client: The engine's client.
        labels: Our labels of the container that needs it.
    """
    with _making:
        found = client.networks.list(filters={"label": f"{POOL_LABEL}={labels[POOL_LABEL]}"})
        if found:
            return str(found[0].id)
        made = client.networks.create(
            f"openenv-gym-{uuid.uuid4().hex}", driver="bridge", internal=True, options=_ALONE, labels=dict(labels)
        )
        return str(made.id)


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
            f"egress=False needs a Docker engine that runs on this machine's own network; the one at {address} is "
            "remote, rootless or in a virtual machine. Use a root engine on Linux."
        )


_making = threading.Lock()


def _renew_after_fork() -> None:
    # Another thread of the parent may have held it.
    global _making
    _making = threading.Lock()


os.register_at_fork(after_in_child=_renew_after_fork)
