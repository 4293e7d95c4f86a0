"""How the keeper of an engine's containers is run: see ``Owner.keep``."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from openenv_gym_protocol.errors import ProviderError

_KEEPER = Path(__file__).with_name("keeper") / "__main__.py"
"""Run by path; this process does not import it."""

_ADDRESS_VARIABLE = "DOCKER_HOST"

_INHERITED = (
    # How the engine is found and reached.
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "SSH_AUTH_SOCK",
    *(name for proxy in ("http_proxy", "https_proxy", "all_proxy", "no_proxy") for name in (proxy, proxy.upper())),
    # How the interpreter finds the Docker SDK, and what the SDK's own connections need.
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUSERBASE",
    "PATH",
    "HOME",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
)


def keeper_command(engine: str | None, environ: Mapping[str, str] | None = None) -> tuple[list[str], dict[str, str]]:
    """The arguments of ``Owner.keep`` for containers of an engine: the program and its environment.

    Args:
        engine: The engine's address, as ``DOCKER_HOST`` has it; None for the one that the environment names.
        environ: This process's environment; None for ``os.environ``. What the keeper does not need is not handed on.

    Raises:
        ProviderError: This process does not know its interpreter.
    """
    if not sys.executable:
        raise ProviderError("This process does not know its interpreter (sys.executable), which has to run the keeper.")
    inherited = os.environ if environ is None else environ
    env = {name: inherited[name] for name in _INHERITED if name in inherited}
    if "PYTHONPATH" in env:
        # The keeper runs in another folder.
        env["PYTHONPATH"] = os.pathsep.join(str(Path(path).absolute()) for path in env["PYTHONPATH"].split(os.pathsep))
    if engine is not None:
        env[_ADDRESS_VARIABLE] = engine
    # -P: the program's own folder is no place to import from; its modules' names are those of other packages too.
    return [sys.executable, "-P", str(_KEEPER)], env
