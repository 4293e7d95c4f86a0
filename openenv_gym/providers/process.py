"""The process provider: an environment project in a process of its own on this machine."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from openenv_gym_protocol.errors import ConfigurationError, ProviderError, ServerStartError
from openenv_gym_protocol.json_codec import MAX_FRAME_BYTES

from openenv_gym.providers.base import OwnedServer, Owner, ServerRequest
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.options import read_options
from openenv_gym.providers.project import Project, missing_module
from openenv_gym.providers.readiness import refusal, wait_until_ready
from openenv_gym.providers.server_environ import TOKEN_VARIABLE, server_environ
from openenv_gym.providers.watchdog.owned_process import ALIVE_FD, LISTEN_FD
from openenv_gym.providers.watchdog_client import own_server

_LAUNCH = Path(__file__).with_name("launch.py")
"""What the project's interpreter runs; this process does not import it."""


@dataclass(frozen=True, kw_only=True)
class ProcessOptions:
    """What a request to the process provider may say.

    Attributes:
        python: The interpreter that has the project's dependencies. None: this process's own.
        venv: A virtual environment that has them, instead of ``python``.
        start_timeout: Seconds until the server must answer. None: as the caller of the pool says.
    """

    python: str | None = None
    venv: str | None = None
    start_timeout: float | None = None

    def __post_init__(self) -> None:
        if self.start_timeout is not None and self.start_timeout <= 0:
            raise ConfigurationError(f"start_timeout must be more than 0 seconds, not {self.start_timeout}.")


class ProcessProvider:
    """Runs ``server/app.py`` of a project under uvicorn, on a port of 127.0.0.1 that the kernel chooses.

    The process runs in the project's folder, asks for a random token, and ends with the last process of the
    process tree that uses it, whatever ends those.
    """

    owns_servers = True

    def check(self, request: ServerRequest) -> None:
        """See ``Provider.check``."""
        self._interpreter(read_options(request, ProcessOptions))
        Project.read(request.path)

    def sharing_key(self, request: ServerRequest) -> str:
        """See ``Provider.sharing_key``."""
        options = read_options(request, ProcessOptions)
        project = Project.read(request.path)
        return json.dumps(
            [request.provider, str(project.folder.resolve()), self._interpreter(options), request.settings]
        )

    def start_seconds(self, request: ServerRequest) -> float | None:
        """See ``Provider.start_seconds``."""
        return read_options(request, ProcessOptions).start_timeout

    def only_one(self, request: ServerRequest) -> str | None:  # noqa: ARG002
        """See ``Provider.only_one``."""
        return None

    def start(self, request: ServerRequest, deadline: Deadline, owner: Owner | None = None) -> OwnedServer:
        """See ``Provider.start``."""
        self.check(request)
        if owner is not None:
            return self._start(request, deadline, owner)
        own = own_server(deadline)
        try:
            return self._start(request, deadline, own)
        except BaseException:
            own.stop()
            raise

    def _start(self, request: ServerRequest, deadline: Deadline, owner: Owner) -> OwnedServer:
        project = Project.read(request.path)
        python = self._interpreter(read_options(request, ProcessOptions))
        settings = dict(request.settings)
        token = settings.get(TOKEN_VARIABLE, secrets.token_urlsafe(32)) or None
        port = owner.spawn(
            [python, str(_LAUNCH), LISTEN_FD, ALIVE_FD, project.application, str(MAX_FRAME_BYTES)],
            cwd=str(project.folder),
            env=server_environ(os.environ, settings, token, same_interpreter=python == sys.executable),
            deadline=deadline,
        )
        base_url = f"http://127.0.0.1:{port}"
        try:
            wait_until_ready(base_url, owner, deadline, name=project.name)
        except ServerStartError as error:
            # Its message holds the first one's: told once is enough.
            raise _with_remedy(error, project, python) from None
        owner.ready(base_url, token)
        return OwnedServer(base_url, token, owner)

    def _interpreter(self, options: ProcessOptions) -> str:
        if options.python is not None and options.venv is not None:
            raise ConfigurationError("python= and venv= both name the interpreter; give one of them.")
        if options.venv is not None:
            wanted = str(Path(options.venv).expanduser().absolute() / "bin" / "python")
        else:
            wanted = options.python if options.python is not None else sys.executable
        if not wanted:
            raise ProviderError("This process does not know its interpreter (sys.executable). Name one by python=.")
        found = shutil.which(str(Path(wanted).expanduser()))
        if found is None:
            raise ConfigurationError(f"{wanted} is not an interpreter that can be run.")
        # Absolute, because the server runs in another folder; not resolved, because a virtual environment's
        # interpreter is a link.
        return str(Path(found).absolute())


def _with_remedy(error: ServerStartError, project: Project, python: str) -> ServerStartError:
    missing = missing_module(error.logs) if error.exit_code is not None else None
    if missing is None or refusal(error.logs) is not None or _is_own(project, missing):
        return error
    remedy = f"{project.name} needs the module {missing!r}, which {python} does not have. Install what it needs: "
    return ServerStartError(
        f"{remedy}{project.install_line(python, missing)}\n{error.message}",
        logs=error.logs,
        exit_code=error.exit_code,
    )


def _is_own(project: Project, module: str) -> bool:
    # A module that the project itself should have is not to be had from an index.
    first = project.folder / module.partition(".")[0]
    return first.is_dir() or first.with_suffix(".py").is_file()
