"""The keeper's loop: hears the watchdog, keeps containers, and sweeps what dead pools have left on the engine."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from openenv_gym.providers.docker.engine import is_on_this_machine
from openenv_gym.providers.docker.keeper.kept_container import (
    END_PATIENCE_SECONDS,
    IN_FLIGHT_SECONDS,
    KeptContainer,
)
from openenv_gym.providers.docker.keeper.patient_engine import FOR_EVER, EngineAway, PatientEngine
from openenv_gym.providers.docker.labels import POOL_LABEL, SERVER_LABEL, is_left_over

_LEAVE_SECONDS = END_PATIENCE_SECONDS + IN_FLIGHT_SECONDS
_REAPERS_SECONDS = 5.0
_REMOVALS_AT_ONCE = 8


class Keeper:
    """Keeps what one pool has on one engine.

    Args:
        address: The engine's.
        directory: The pool's directory.
        watchdog: A socket to the watchdog.
    """

    def __init__(self, address: str, directory: Path, watchdog: socket.socket) -> None:
        self._address = address
        self._engine = PatientEngine(address)
        self._directory = directory
        self._found_by = f"docker ps --all --filter label={POOL_LABEL}={directory.name}"
        self._watchdog = watchdog
        self._kept: dict[str, KeptContainer] = {}
        self._all: list[KeptContainer] = []
        # Held while the pool's networks are removed: nothing that may need one begins meanwhile.
        self._lock = threading.Lock()
        self._sending = threading.Lock()

    def run(self) -> None:
        """Serves until the watchdog's end; then nothing that was kept is left."""
        reaper = threading.Thread(target=self._reap, name="reaper", daemon=True)
        reaper.start()
        with self._watchdog.makefile("rb") as lines, contextlib.suppress(OSError):
            for line in lines:
                self._obey(json.loads(line))
        self._end_all()
        reaper.join(_REAPERS_SECONDS)

    def _obey(self, message: dict[str, Any]) -> None:
        kept = self._kept_named(message["server_id"])
        match message["event"]:
            case "keep":
                self._tell("kept", server_id=message["server_id"], found_by=self._found_by)
            case "follow":
                kept.follow()
            case "stop":
                kept.stop()
            case "kill":
                kept.kill(settled=message["settled"])

    def _kept_named(self, server_id: str) -> KeptContainer:
        with self._lock:
            kept = self._kept.get(server_id)
            if kept is None:
                kept = self._kept[server_id] = KeptContainer(self._engine, server_id, self._directory, self._ended)
                self._all = [*(each for each in self._all if each.is_busy), kept]
            return kept

    def _ended(self, server_id: str, exit_code: int, is_left: bool) -> None:
        with self._lock:
            self._kept.pop(server_id, None)
            if not self._kept:
                self._remove_networks()
        self._tell("exited", server_id=server_id, exit_code=exit_code, is_left=is_left)

    def _remove_networks(self) -> None:
        with contextlib.suppress(EngineAway):
            self._engine.remove_unused_networks([f"{POOL_LABEL}={self._directory.name}"], END_PATIENCE_SECONDS)

    def _end_all(self) -> None:
        give_up = time.monotonic() + _LEAVE_SECONDS
        with self._lock:
            kept = list(self._kept.values())
        for each in kept:
            each.kill(settled=False)
        for each in self._all:
            each.wait(max(0.0, give_up - time.monotonic()))
        with self._lock:
            self._remove_networks()

    def _tell(self, event: str, **data: Any) -> None:
        with self._sending, contextlib.suppress(OSError):
            # The watchdog has gone, which is heard where it is listened to.
            self._watchdog.sendall(json.dumps({"event": event, **data}).encode() + b"\n")

    def _reap(self) -> None:
        """Removes what dead pools have left, and says what an earlier keeper of this pool has."""
        here = is_on_this_machine(self._address, self._engine.ask(lambda api: dict(api.info()), FOR_EVER))
        containers = self._engine.containers([SERVER_LABEL], FOR_EVER)
        own = {each["Labels"][SERVER_LABEL] for each in containers if self._is_own(each)}
        with self._lock:
            unknown = sorted(own - self._kept.keys())
        self._tell("found", server_ids=unknown)
        with ThreadPoolExecutor(_REMOVALS_AT_ONCE) as removing:
            for each in containers:
                if self._is_left_over(each, engine_is_here=here):
                    removing.submit(self._remove_left_over, each)
        for network in self._engine.networks([SERVER_LABEL], FOR_EVER):
            if self._is_left_over(network, engine_is_here=here):
                self._engine.remove_network(network["Id"])

    def _is_own(self, listed: dict[str, Any]) -> bool:
        return bool((listed["Labels"] or {}).get(POOL_LABEL) == self._directory.name)

    def _is_left_over(self, listed: dict[str, Any], *, engine_is_here: bool) -> bool:
        labels = listed["Labels"] or {}
        return not self._is_own(listed) and is_left_over(labels, now=time.time(), engine_is_here=engine_is_here)

    def _remove_left_over(self, listed: dict[str, Any]) -> None:
        labels = [f"{name}={listed['Labels'][name]}" for name in (SERVER_LABEL, POOL_LABEL)]
        with contextlib.suppress(EngineAway):
            self._engine.remove_containers(labels, END_PATIENCE_SECONDS)


def main(directory: str) -> None:
    """Keeps the containers of a pool on the engine that ``DOCKER_HOST`` names.

    Args:
        directory: The pool's directory.
    """
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # Its life is its socket's: what ends a whole session must not end it before it has ended what it keeps.
        signal.signal(ignored, signal.SIG_IGN)
    # More connections at once than the SDK keeps open afterwards are no news.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    Keeper(os.environ["DOCKER_HOST"], Path(directory), socket.socket(fileno=0)).run()
    # Threads that wait for an engine that does not answer hold nothing that is needed.
    os._exit(0)
