"""Several servers started at the same time, each by a thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from openenv_gym_protocol.errors import OpenEnvGymError, copied

from openenv_gym.bridge.servers.server import Server

STARTS_AT_ONCE = 8
"""Servers that are started at the same time: more of them would only wait for the machine."""

_Place = TypeVar("_Place")


class Lot(Generic[_Place]):
    """Servers that are asked for together.

    Args:
        start: Starts the server of a place.
        places: The places.
    """

    def __init__(self, start: Callable[[_Place], Server], places: Iterable[_Place]) -> None:
        self._start = start
        self._places = list(places)
        self._waiting = deque(self._places)
        self._started: dict[_Place, Server] = {}
        self._failed: dict[_Place, Exception] = {}
        self._given_up = threading.Event()
        self._lock = threading.Lock()

    def start(self) -> tuple[dict[_Place, Server], dict[_Place, OpenEnvGymError]]:
        """Starts them. Once one has failed, no other is begun; those that were on their way are waited for.

        Returns:
            Those that answer, and why the others do not: one that was not begun has the error of one that failed.
        """
        if len(self._places) == 1:
            self._work()  # on the caller's own thread, which an interrupt reaches
        else:
            self._start_on_threads()
        for error in self._failed.values():
            if not isinstance(error, OpenEnvGymError):
                self._give_up()
                raise error
        failed = {place: error for place, error in self._failed.items() if isinstance(error, OpenEnvGymError)}
        if failed:
            first = next(iter(failed.values()))
            failed |= {place: copied(first) for place in self._waiting}
        return self._started, failed

    def _start_on_threads(self) -> None:
        # Daemons: at the interpreter's end the pool ends what they start, and nobody has to wait for them.
        number = min(STARTS_AT_ONCE, len(self._places))
        threads = [threading.Thread(target=self._work, name="openenv-gym start", daemon=True) for _ in range(number)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException:  # KeyboardInterrupt: nobody will use what comes now
            self._give_up()
            raise

    def _work(self) -> None:
        while True:
            with self._lock:
                if self._failed or self._given_up.is_set() or not self._waiting:
                    return
                place = self._waiting.popleft()
            try:
                server = self._start(place)
            except Exception as error:
                with self._lock:
                    self._failed[place] = error
                continue
            with self._lock:
                if not self._given_up.is_set():
                    self._started[place] = server
                    continue
            server.release()

    def _give_up(self) -> None:
        with self._lock:
            self._given_up.set()
            started, self._started = self._started, {}
        for server in started.values():
            server.release()
