"""An engine asked with patience: that it restarts, or is away for some seconds, does no harm."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from docker import APIClient
from docker.errors import APIError, DockerException, NotFound
from openenv_gym_protocol.errors import OpenEnvGymError
from urllib3.exceptions import HTTPError

from openenv_gym.providers.docker.engine import open_engine
from openenv_gym.providers.docker.labels import bears_its_own_labels

FOR_EVER = math.inf

_PAUSE_SECONDS = 0.1
_CALL_SECONDS = 30.0
_Answer = TypeVar("_Answer")


class EngineAway(Exception):
    """The engine did not answer, or did not do what it was asked, for as long as patience lasted."""


class _StillThere(DockerException):
    """What was removed is listed still."""


class PatientEngine:
    """An engine and what it holds of ours; what only has labels of ours by a copy is none of it.

    Args:
        address: Where it listens, as ``DOCKER_HOST`` has it.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._opened = contextlib.ExitStack()
        self._api: APIClient | None = None
        self._opening = threading.Lock()

    def ask(self, question: Callable[[APIClient], _Answer], patience: float) -> _Answer:
        """Asks the engine until it answers.

        Args:
            question: What to ask of the SDK's client; may be called several times.
            patience: For how many seconds to ask again.

        Raises:
            NotFound: It answers that there is no such thing.
            EngineAway: It did not answer in time.
        """
        give_up = time.monotonic() + patience
        while True:
            try:
                return question(self._client())
            except NotFound:
                raise
            # OSError: what requests raises is one.
            except (DockerException, HTTPError, OSError, OpenEnvGymError) as error:
                if time.monotonic() >= give_up:
                    raise EngineAway(str(error)) from error
            time.sleep(_PAUSE_SECONDS)

    def containers(self, labels: list[str], patience: float) -> list[dict[str, Any]]:
        """What it lists of the containers with all of the labels, ended ones included; each label may have a value."""
        return self.ask(lambda api: _containers(api, labels), patience)

    def networks(self, labels: list[str], patience: float) -> list[dict[str, Any]]:
        """What it lists of the networks with all of the labels."""
        listed = self.ask(lambda api: list(api.networks(filters={"label": labels})), patience)
        return list(filter(bears_its_own_labels, listed))

    def remove_containers(self, labels: list[str], patience: float) -> bool:
        """Ends and removes the containers with all of the labels, with the volumes that nobody named.

        Returns:
            Whether there were any; now there are none.

        Raises:
            EngineAway: They could not be removed in time.
        """
        found = False

        def remove(api: APIClient) -> None:
            nonlocal found
            listed = _containers(api, labels)
            for container in listed:
                found = True
                with contextlib.suppress(NotFound):
                    api.remove_container(container["Id"], v=True, force=True)
            if listed:
                # Somebody else's removal may have been faster and not be over.
                raise _StillThere

        self.ask(remove, patience)
        return found

    def remove_unused_networks(self, labels: list[str], patience: float) -> None:
        """Removes the networks with all of the labels that no container uses."""
        for network in self.networks(labels, patience):
            with contextlib.suppress(EngineAway, NotFound):
                self.remove_network(network["Id"])

    def remove_network(self, network_id: str) -> None:
        """Removes a network, unless a container uses it."""

        def remove(api: APIClient) -> None:
            # In use: whose it is, removes it later.
            with contextlib.suppress(APIError):
                api.remove_network(network_id)

        self.ask(remove, 0.0)

    def _client(self) -> APIClient:
        with self._opening:
            if self._api is None:
                self._api = self._opened.enter_context(open_engine(self._address, _CALL_SECONDS)).api
            return self._api


def _containers(api: APIClient, labels: list[str]) -> list[dict[str, Any]]:
    return list(filter(bears_its_own_labels, api.containers(all=True, filters={"label": labels})))
