"""A project's server as a child process, which ends with this one."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError, ProviderError

from openenv_gym.providers.project import Project as ProviderProject
from openenv_gym.providers.readiness import health_status
from openenv_gym.providers.server_environ import TOKEN_VARIABLE
from openenv_gym.transports.token import resolve_token
from openenv_gym_cli import output
from openenv_gym_cli.project import Project

_ATTEMPT_SECONDS = 1.0
_PAUSE_SECONDS = 0.05
_END_SECONDS = 25.0
"""The server gives requests under way 20."""

_PR_SET_PDEATHSIG = 1
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


class ServedProject:
    """A project's server.

    Args:
        project: The project.
        host: The address it listens on.
        port: The port, which is free.
        options: More options of ``python -m openenv_gym_server``.
        token: What clients have to show; None: nothing.
    """

    def __init__(self, project: Project, host: str, port: int, options: Sequence[str], token: str | None) -> None:
        reached_at = _ANYWHERE.get(host, host)
        self.base_url = f"http://{f'[{reached_at}]' if ':' in reached_at else reached_at}:{port}"
        self._project = project
        listening = ["--host", host, "--port", str(port)]
        self._command = [sys.executable, "-m", "openenv_gym_server", project.manifest.app, *listening, *options]
        self._environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self._environ.pop(TOKEN_VARIABLE, None)
        if token is not None:
            self._environ[TOKEN_VARIABLE] = token
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it."""
        self._process = subprocess.Popen(
            self._command,
            cwd=self._project.folder,
            env=self._environ,
            stdout=sys.stderr.fileno(),  # what it writes is no data
            preexec_fn=_end_with_the_parent if sys.platform == "linux" else None,
        )

    def is_ready(self) -> bool:
        """Waits until it answers; false when it has ended before it did."""
        while self._ended_within(_PAUSE_SECONDS) is None:
            if health_status(self.base_url, _ATTEMPT_SECONDS) == 200:
                return True
        return False

    def why_not(self) -> str:
        """What to say of a server that ended before it answered."""
        install = ProviderProject.read(str(self._project.folder)).install_line(sys.executable, "uvicorn")
        return (
            f"The server of {self._project.folder} ended before it was ready; why is in what it wrote above. Where a "
            f"module is missing: {install}"
        )

    def wait(self) -> int:
        """Waits for its end; returns its exit code."""
        assert self._process is not None, "it was started"
        return self._process.wait()

    def follow_changes(self) -> int:
        """Starts it anew whenever a file of its folder changes, for ever."""
        watch = _watcher()
        for changes in watch(self._project.folder, raise_interrupt=True):
            names = sorted({os.path.relpath(path, self._project.folder) for _, path in changes})
            output.note(f"{', '.join(names[:3])}{' and more' * (len(names) > 3)} changed: starting the server anew.")
            self.stop()
            self.start()
            if self.is_ready():
                output.note("The server is ready.")
            else:
                output.error(f"{self.why_not()} The next change starts it again.")
        return 0

    def stop(self) -> None:
        """Ends it and waits until it is gone."""
        if self._process is None:
            return
        self._process.terminate()
        if self._ended_within(_END_SECONDS) is None:
            self._process.kill()
            self._process.wait()

    def _ended_within(self, seconds: float) -> int | None:
        assert self._process is not None, "it was started"
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None


@contextlib.contextmanager
def until_ended(server: ServedProject) -> Iterator[None]:
    """Runs a server until the end of the block, whatever ends it."""
    try:
        server.start()
        yield
    finally:
        server.stop()


def free_port(host: str, port: int) -> int:
    """A port that can be listened on.

    Args:
        host: At which address.
        port: Which; 0: any that is free.

    Raises:
        ConfigurationError: Something listens there already, or this machine has no such address.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        with socket.create_server(address[:2], family=family) as listener:
            return int(listener.getsockname()[1])
    except OSError as error:
        raise ConfigurationError(
            f"Nothing can listen at {host} port {port}: {error.strerror or error}. --port 0 takes a port that is free."
        ) from error


def refuse_public(host: str, *, has_token: bool, insecure: bool) -> None:
    """Refuses an address that others can reach where no token is asked for.

    Raises:
        ConfigurationError: It is one.
    """
    from openenv_gym_server.pages import is_loopback

    if not (is_loopback(host) or has_token or insecure):
        raise ConfigurationError(
            f"{host} can be reached by others and no token is set: everybody could drive the environment. Set "
            f"{TOKEN_VARIABLE}, say --token, listen on 127.0.0.1, or insist with --insecure."
        )


def token_named(text: str | None) -> str | None:
    """The token that an option names: as it stands, or ``env:NAME``; without the option, that of the environment.

    Raises:
        ConfigurationError: The variable is not set, or no HTTP header can carry the token.
    """
    if text is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    return resolve_token(text)


def _end_with_the_parent() -> None:
    # The kernel does it, whatever ends this process.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _watcher() -> Any:
    try:
        from watchfiles import watch
    except ModuleNotFoundError as error:
        raise ProviderError('--reload needs watchfiles: pip install "openenv-gym[server]"') from error
    return watch
