"""Waiting until a server answers, without waiting for one that has died."""

from __future__ import annotations

import http.client
import logging
import socket
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from openenv_gym_protocol.errors import ConfigurationError, ServerStartError

from openenv_gym.providers.base import Owner
from openenv_gym.providers.deadline import Deadline

_logger = logging.getLogger("openenv_gym")

LOG_LINES = 100
"""How many lines of a server's log stand in the error when it does not become ready."""

SILENCE_SECONDS = 2.0
"""After this long without a word, the log says that a server is being started."""

_REFUSAL = f"{ConfigurationError.__module__}.{ConfigurationError.__qualname__}: "
"""How a traceback's last line begins where settings were refused."""

_ATTEMPT_SECONDS = 1.0
_PAUSE_SECONDS = 0.05


def wait_until_ready(base_url: str, owner: Owner, deadline: Deadline, *, name: str) -> None:
    """Returns when the server answers ``/health`` with 200.

    Args:
        base_url: The server's address.
        owner: Knows whether it still runs, and its log.
        deadline: Until when it must answer.
        name: What is being started, for messages.

    Raises:
        ServerStartError: It ended, which is noticed at once, or did not answer in time. Its last log lines and its
            exit code are in the error.
    """
    silence = Silence(name)
    answer = "nothing"
    while not deadline.passed:
        exit_code = owner.exit_code(_PAUSE_SECONDS)
        if exit_code is not None:
            raise died(name, owner, exit_code)
        status = health_status(base_url, deadline.remaining(at_most=_ATTEMPT_SECONDS))
        if status == http.client.OK:
            return
        if status is not None:
            # An attempt that the deadline cuts short is no news.
            answer = f"status {status}"
        silence.check()
    exit_code = owner.exit_code()
    if exit_code is not None:
        raise died(name, owner, exit_code)
    logs = owner.logs(LOG_LINES)
    raise ServerStartError(
        f"The server of {name} did not become ready within {deadline.seconds:g} s: {base_url}/health answered "
        f"{answer}. Raise start_timeout if it needs longer. {_told(logs)}",
        logs=logs,
    )


def health_status(base_url: str, timeout: float) -> int | None:
    """The HTTP status of the server's ``/health``, or None when no answer came within ``timeout`` seconds."""
    address = urlsplit(base_url)
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    connection = kind(address.netloc, timeout=max(timeout, 0.01))
    try:
        connection.request("GET", f"{address.path}/health")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        # Refused, reset, too slow or no HTTP: not ready, whatever it is.
        return None
    finally:
        connection.close()


def is_dead(base_url: str, timeout: float) -> bool:
    """Whether a server that was ready refuses to answer; one that only takes longer than ``timeout`` is not dead.

    A process that was just killed may accept connections for some milliseconds, but it answers none.
    """
    address = urlsplit(base_url)
    try:
        with socket.create_connection((address.hostname or "", address.port or 80), timeout) as probe:
            probe.sendall(f"GET {address.path}/health HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
            return not probe.recv(1)
    except ConnectionError:
        return True
    except OSError:
        # It takes long, or this process has no descriptor or port left: nothing that other users should pay for.
        return False


def died(name: str, owner: Owner, exit_code: int) -> ServerStartError:
    """The error of a server whose process ended before it was ready."""
    logs = owner.logs(LOG_LINES)
    cause = refusal(logs)
    if cause is not None:
        return ServerStartError(f"The server of {name} refused to start: {cause}", logs=logs, exit_code=exit_code)
    how = f"was killed by signal {-exit_code}" if exit_code < 0 else f"ended with exit code {exit_code}"
    return ServerStartError(
        f"The server of {name} {how} before it was ready. {_told(logs)}", logs=logs, exit_code=exit_code
    )


def refusal(logs: str) -> str | None:
    """What a server said of its settings as its last words, if it refused them; the traceback above it is left out."""
    _, found, cause = logs.rpartition(_REFUSAL)
    return cause.strip() if found else None


class Silence:
    """Says once that a server is being started, when that takes long enough to wonder.

    Args:
        name: What is being started.
        clock: Seconds.
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._since = clock()
        self._said = False

    def check(self) -> None:
        """Logs, if it is time and was not said before."""
        if not self._said and self._clock() - self._since >= SILENCE_SECONDS:
            self._said = True
            _logger.info("starting server… (%s)", self._name)


def _told(logs: str) -> str:
    return f"Its last log lines:\n{logs}" if logs else "It wrote no log."
