"""From the keywords that people write to a request for a server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.base import ServerRequest


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
        ConfigurationError: A name that is no text, a setting that is no text, or an image for a provider of processes.
    """
    options = dict(provider) if isinstance(provider, Mapping) else {}
    name = provider if isinstance(provider, str) else options.pop("name", "process" if image is None else "docker")
    if not isinstance(name, str):
        raise ConfigurationError(f"provider={{'name': ...}} must be a name such as 'process', not {name!r:.80}.")
    if name == "process" and image is not None:
        raise ConfigurationError("provider='process' runs the folder of a project, no image; 'docker' runs images.")
    for key, value in (settings or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ConfigurationError(f"settings are environment variables, text to text; {key!r}: {value!r} is not.")
    return ServerRequest(
        provider=name,
        path=None if path is None else str(Path(path).expanduser().resolve()),
        image=image,
        options=tuple(options.items()),
        settings=tuple((settings or {}).items()),
    )
