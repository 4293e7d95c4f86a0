"""The environment variables a server's process gets: the trainer's, without its pool and its secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping

from openenv_gym.providers.location import POOL_VARIABLE

TOKEN_VARIABLE = "OPENENV_GYM_TOKEN"
"""How a server is told the token it has to ask for."""

_SECRET = re.compile(r"(^|_)(TOKEN|API_?KEY|SECRET|SECRET_KEY|ACCESS_KEY|PASSWORD)$", re.IGNORECASE)

_INTERPRETERS_OWN = ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__")


def server_environ(
    inherited: Mapping[str, str], settings: Mapping[str, str], token: str | None, *, same_interpreter: bool
) -> dict[str, str]:
    """Builds the environment of a server's process.

    Args:
        inherited: The trainer's. Variables whose names end as those of secrets do (``HF_TOKEN``, ``*_API_KEY``,
            ``*_SECRET``) are left out, because environment code is not the trainer's own.
        settings: What the server was asked to have; a secret named here is given on purpose.
        token: What the server has to ask for, if anything.
        same_interpreter: Whether it runs under the trainer's interpreter; another one must not import the packages
            that ``PYTHONPATH`` names for this one.
    """
    environ = {name: value for name, value in inherited.items() if not _SECRET.search(name) and name != POOL_VARIABLE}
    if not same_interpreter:
        for name in _INTERPRETERS_OWN:
            environ.pop(name, None)
    # Else the log would come a block at a time, and the last lines of one that crashed never.
    environ["PYTHONUNBUFFERED"] = "1"
    environ.update(settings)
    environ.pop(TOKEN_VARIABLE, None)
    return environ if token is None else {**environ, TOKEN_VARIABLE: token}
