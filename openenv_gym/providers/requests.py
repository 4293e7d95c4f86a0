"""From the keywords that people write to a request for a server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.server_environ import TOKEN_VARIABLE
from openenv_gym.transports.token import is_header_value


def server_request(
    *,
    path: str | os.PathLike[str] | None,
    image: str | None,
    provider: str | Mapping[str, Any] | None,
    settings: Mapping[str, str] | None,
) -> ServerRequest:
    """Reads what is to be run, and by whom.

    Args:
        path: The folder of an environment project.
        image: The name of an image; with ``path`` too, the image is of that project.
        provider: A provider's name, or its options, with its name under ``name``. None or no name: an image is run by
            ``docker``, a folder by ``process``.
        settings: Environment variables of the server.

    Raises:
        ConfigurationError: A name that is no text, a setting that is no environment variable, or an image for a
            provider of processes.
    """
    options = dict(provider) if isinstance(provider, Mapping) else {}
    name = provider if isinstance(provider, str) else options.pop("name", "process" if image is None else "docker")
    if not isinstance(name, str):
        raise ConfigurationError(f"provider={{'name': ...}} must be a name such as 'process', not {name!r:.80}.")
    if name == "process" and image is not None:
        raise ConfigurationError("provider='process' runs the folder of a project, no image; 'docker' runs images.")
    for key, value in (settings or {}).items():
        _check_setting(key, value)
    return ServerRequest(
        provider=name,
        path=None if path is None else str(Path(path).expanduser().resolve()),
        image=image,
        options=tuple(options.items()),
        settings=tuple((settings or {}).items()),
    )


def _check_setting(name: Any, value: Any) -> None:
    """Refuses what no environment can have. A value may be a secret and is never told."""
    if not isinstance(name, str) or not isinstance(value, str):
        raise ConfigurationError(f"settings are environment variables, text to text; {name!r:.80} is not.")
    if not name or "=" in name or "\0" in name:
        # What follows may be the value.
        shown = name.partition("=")[0].partition("\0")[0]
        raise ConfigurationError(
            f"settings: no environment variable can be called {shown!r:.80}...: '=' is for values."
        )
    if "\0" in value:
        raise ConfigurationError(
            f"settings: the value of {name!r:.80} has a NUL, which no environment variable can have."
        )
    if name == TOKEN_VARIABLE and value and not is_header_value(value):
        raise ConfigurationError(f"settings: {name} has characters that no HTTP header may carry.")
