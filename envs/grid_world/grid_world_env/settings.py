"""What a server serves: the only module here that reads environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from openenv_gym_protocol.errors import ConfigurationError

_LARGEST = 64


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The grid that is served.

    Attributes:
        size: The cells of one side.
        picture: Whether observations have a picture.
    """

    size: int = 5
    picture: bool = False

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads ``GRID_WORLD_SIZE`` and ``GRID_WORLD_PICTURE``.

        Raises:
            ConfigurationError: A value that cannot be, named with its variable.
        """
        read = os.environ if environ is None else environ
        size, picture = read.get("GRID_WORLD_SIZE") or "5", (read.get("GRID_WORLD_PICTURE") or "false").lower()
        if not size.isdecimal() or not 2 <= int(size) <= _LARGEST:
            raise ConfigurationError(f"GRID_WORLD_SIZE={size!r} must be a whole number from 2 to {_LARGEST}.")
        if picture not in ("0", "1", "false", "true"):
            raise ConfigurationError(f"GRID_WORLD_PICTURE={picture!r} must be true or false.")
        return cls(size=int(size), picture=picture in ("1", "true"))
