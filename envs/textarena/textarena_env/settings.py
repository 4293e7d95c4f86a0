"""What a server serves: the only module here that reads environment variables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from openenv_gym_protocol.errors import ConfigurationError

DEFAULT_ID = "GuessTheNumber-v0"

MOST_PLAYERS = 15


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The game that is served.

    Attributes:
        env_id: One of TextArena's ids.
        num_players: How many play, the agent among them; None: as few as the game takes.
    """

    env_id: str = DEFAULT_ID
    num_players: int | None = None

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads ``TEXTARENA_ENV_ID`` and ``TEXTARENA_NUM_PLAYERS``.

        Raises:
            ConfigurationError: A value that cannot be, named with its variable.
        """
        read = os.environ if environ is None else environ
        env_id, players = read.get("TEXTARENA_ENV_ID", ""), read.get("TEXTARENA_NUM_PLAYERS", "")
        return cls(env_id=_text(env_id) or DEFAULT_ID, num_players=_count(players))


def _text(value: str) -> str:
    """A plain text, or one as JSON, as keywords arrive."""
    try:
        told = json.loads(value)
    except ValueError:
        return value
    return told if isinstance(told, str) else value


def _count(value: str) -> int | None:
    if value in ("", "null"):
        return None
    if not value.isdecimal() or not 1 <= int(value) <= MOST_PLAYERS:
        raise ConfigurationError(f"TEXTARENA_NUM_PLAYERS={value!r} must be a whole number from 1 to {MOST_PLAYERS}.")
    return int(value)
