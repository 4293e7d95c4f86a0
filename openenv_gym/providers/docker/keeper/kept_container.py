"""One server's container, from before it is made until it is gone."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from docker import APIClient
from docker.errors import NotFound

from openenv_gym.providers.docker.keeper.patient_engine import FOR_EVER, EngineAway, PatientEngine
from openenv_gym.providers.docker.labels import POOL_LABEL, SERVER_LABEL
from openenv_gym.providers.watchdog.bounded_log import BoundedLog, earlier
from openenv_gym.providers.watchdog.servers import GRACE_SECONDS

KILLED_EXIT_CODE = 137
"""How a container ends that is killed; said also of one that somebody else has removed."""

END_PATIENCE_SECONDS = 20.0
"""For how long an engine that is away is asked to end a container, which then is left to a later keeper."""

IN_FLIGHT_SECONDS = 8.0
"""For how long a container is looked for that may still be made, by a request whose sender has been killed."""

_LOOK_SECONDS = 0.5
_LOG_SECONDS = 2.0
"""How long the last of a log may take to come once its container has ended."""

_LOG_PAUSE_SECONDS = 2.0
_LAST_LINES = 10_000
_WAIT_SECONDS = 60
"""A call that waits for a container's end is renewed this often, should its engine's machine have vanished."""


class KeptContainer:
    """A container that has to end, whatever happens.

    Args:
        engine: The engine that makes it.
        server_id: The server, which names the log too.
        directory: The pool's directory.
        on_end: Called once, from a thread of its own, when nothing of the server is left or it is given up: with the
            server, the exit code and whether it is left.
    """

    def __init__(
        self, engine: PatientEngine, server_id: str, directory: Path, on_end: Callable[[str, int, bool], None]
    ) -> None:
        self._engine = engine
        self._server_id = server_id
        self._labels = [f"{SERVER_LABEL}={server_id}", f"{POOL_LABEL}={directory.name}"]
        self._log_path = directory / f"{server_id}.log"
        self._on_end = on_end
        self._report = threading.Lock()
        self._has_ended = threading.Event()
        self._was_seen = False
        self._is_left = False
        self._is_followed = False
        self._is_killed = False
        self._threads: list[threading.Thread] = []

    def follow(self) -> None:
        """It runs: copies its log, and sees to its removal once it has ended."""
        if not self._is_followed:
            self._is_followed = True
            self._begin(self._follow)

    def stop(self) -> None:
        """Asks it to end; it is removed when it has, or when its grace is over."""
        self._begin(self._stop)

    def kill(self, *, settled: bool) -> None:
        """Ends and removes it. Said again, it changes nothing.

        Args:
            settled: Whether none can be made any more where there is none now.
        """
        if not self._is_killed:
            self._is_killed = True
            self._begin(lambda: self._kill(settled or self._is_followed))

    @property
    def is_busy(self) -> bool:
        """Whether it has not ended, or something is being done about it still."""
        return not self._has_ended.is_set() or any(thread.is_alive() for thread in self._threads)

    def wait(self, seconds: float) -> None:
        """Waits until nothing is being done any more."""
        give_up = time.monotonic() + seconds
        for thread in list(self._threads):
            thread.join(max(0.0, give_up - time.monotonic()))

    def _begin(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name=f"container of {self._server_id}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _follow(self) -> None:
        try:
            container_id = self._find(FOR_EVER)
            copying = threading.Thread(target=self._follow_log, args=(container_id,), daemon=True)
            copying.start()
            facts, was_restarted = self._wait_for_end(container_id)
        except NotFound:
            self._remove(KILLED_EXIT_CODE)
            return
        self._has_ended.set()
        copying.join(_LOG_SECONDS)
        # An engine stops following before it has told the last of what a container wrote that ended quickly.
        self._copy_log(lambda api: api.logs(container_id, stream=True, follow=False, tail=_LAST_LINES))
        self._add_to_log(_last_line(facts, was_restarted=was_restarted))
        self._remove(KILLED_EXIT_CODE if was_restarted else int(facts["State"]["ExitCode"]))

    def _stop(self) -> None:
        with contextlib.suppress(NotFound, EngineAway):
            container_id = self._find(END_PATIENCE_SECONDS)
            self._engine.ask(lambda api: api.stop(container_id, timeout=int(GRACE_SECONDS)), END_PATIENCE_SECONDS)
        if not self._is_followed:
            # Else it is removed when the last of its log has come.
            self._remove(KILLED_EXIT_CODE)

    def _kill(self, settled: bool) -> None:
        give_up = time.monotonic() + IN_FLIGHT_SECONDS
        if settled:
            self._remove(KILLED_EXIT_CODE)
        # Whoever made it may have given up because its engine was slow: even then it may still come.
        while not self._is_gone() and time.monotonic() < give_up:
            time.sleep(_LOOK_SECONDS)
        self._ended(KILLED_EXIT_CODE)

    def _is_gone(self) -> bool:
        try:
            self._was_seen |= self._engine.remove_containers(self._labels, END_PATIENCE_SECONDS)
            self._is_left = False
        except EngineAway:
            # A later keeper finds it by its labels.
            self._is_left = True
        return self._was_seen and not self._is_left

    def _remove(self, exit_code: int) -> None:
        self._is_gone()
        self._ended(exit_code)

    def _ended(self, exit_code: int) -> None:
        self._has_ended.set()
        if self._report.acquire(blocking=False):
            # Never released: it ends once.
            self._on_end(self._server_id, exit_code, self._is_left)

    def _find(self, patience: float) -> str:
        listed = self._engine.containers(self._labels, patience)
        if not listed:
            raise NotFound(f"no container of server {self._server_id}")
        self._was_seen = True
        return str(listed[0]["Id"])

    def _wait_for_end(self, container_id: str) -> tuple[dict[str, Any], bool]:
        """Waits until it does not run, or runs anew: that one has lost its sessions, and perhaps its port.

        Returns:
            What the engine says of it then, and whether it runs anew.

        Raises:
            NotFound: It was removed.
        """
        started: str | None = None
        while True:
            facts = self._engine.ask(lambda api: dict(api.inspect_container(container_id)), FOR_EVER)
            state = facts["State"]
            started = started or state["StartedAt"]
            runs_anew = state["Running"] and state["StartedAt"] != started
            # Given up while the engine was away: nobody waits for its end any more.
            if not state["Running"] or runs_anew or self._has_ended.is_set():
                return facts, bool(runs_anew)
            with contextlib.suppress(EngineAway):
                # Away: whether it runs still is asked above, until there is an answer.
                self._engine.ask(lambda api: api.wait(container_id, timeout=_WAIT_SECONDS), 0.0)

    def _follow_log(self, container_id: str) -> None:
        # Again and from its beginning when the engine went away in the middle.
        while not self._has_ended.is_set():
            self._copy_log(lambda api: api.logs(container_id, stream=True, follow=True))
            self._has_ended.wait(_LOG_PAUSE_SECONDS)

    def _copy_log(self, stream_of: Callable[[APIClient], Iterable[bytes]]) -> None:
        # A log is never worth a server, whatever is wrong with it.
        with contextlib.suppress(Exception):
            stream = self._engine.ask(stream_of, END_PATIENCE_SECONDS)
            for path in (earlier(self._log_path), self._log_path):
                path.unlink(missing_ok=True)
            with contextlib.closing(BoundedLog(self._log_path)) as log:
                for data in stream:
                    log.write(data)

    def _add_to_log(self, line: str) -> None:
        if line:
            with contextlib.suppress(OSError), self._log_path.open("a", encoding="utf-8") as log:
                log.write(f"openenv-gym: {line}\n")


def _last_line(facts: dict[str, Any], *, was_restarted: bool) -> str:
    if was_restarted:
        return "the container was restarted by somebody else, by which its sessions are lost"
    if facts["State"]["OOMKilled"]:
        return f"the container ran out of its memory ({size_text(facts['HostConfig']['Memory'])})"
    return ""


def size_text(size_bytes: int) -> str:
    """A size as the option ``memory`` has it, such as ``1g``."""
    for unit, factor in (("g", 1024**3), ("m", 1024**2), ("k", 1024)):
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor}{unit}"
    return f"{size_bytes} bytes"
