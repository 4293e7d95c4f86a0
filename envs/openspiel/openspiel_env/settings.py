"""What a server serves: the only module here that reads environment variables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError, nearest

from openspiel_env.policies import POLICIES

DEFAULT_GAME = "catch"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The game that is served.

    Attributes:
        game: Its short name, or its whole text such as ``go(board_size=9)``.
        game_params: Its parameters, where they are not in its text.
        player: Which player clients are that say nothing.
        opponent: How the others move where clients say nothing.
        illegal_action: What becomes of an illegal action where clients say nothing: ``error`` or ``loss``.
    """

    game: str = DEFAULT_GAME
    game_params: dict[str, Any] = field(default_factory=dict)
    player: int = 0
    opponent: str = "random"
    illegal_action: str = "error"

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads ``OPENSPIEL_GAME``, ``_GAME_PARAMS``, ``_AGENT_PLAYER``, ``_OPPONENT_POLICY`` and ``_ILLEGAL_ACTION``.

        Raises:
            ConfigurationError: A value that cannot be, named with its variable.
        """
        read = os.environ if environ is None else environ
        player = read.get("OPENSPIEL_AGENT_PLAYER") or "0"
        if not (player.isascii() and player.isdecimal()):
            raise ConfigurationError(f"OPENSPIEL_AGENT_PLAYER={player!r} must be the number of a player: 0, 1, ...")
        opponent = read.get("OPENSPIEL_OPPONENT_POLICY") or "random"
        if opponent not in POLICIES:
            raise ConfigurationError(
                f"OPENSPIEL_OPPONENT_POLICY={opponent!r} is no way to play. {nearest(opponent, POLICIES)}"
            )
        illegal = read.get("OPENSPIEL_ILLEGAL_ACTION") or "error"
        if illegal not in ("error", "loss"):
            raise ConfigurationError(f"OPENSPIEL_ILLEGAL_ACTION={illegal!r} must be error or loss.")
        return cls(
            game=_text(read.get("OPENSPIEL_GAME") or DEFAULT_GAME),
            game_params=_object(read.get("OPENSPIEL_GAME_PARAMS") or "{}"),
            player=int(player),
            opponent=opponent,
            illegal_action=illegal,
        )


def _text(value: str) -> str:
    """A name as people write it, or as JSON, as keywords of ``gymnasium.make`` travel."""
    if not value.startswith('"'):
        return value
    try:
        return str(json.loads(value))
    except ValueError as error:
        raise ConfigurationError(f"OPENSPIEL_GAME={value!r} is no name of a game.") from error


def _object(value: str) -> dict[str, Any]:
    try:
        read = json.loads(value)
    except ValueError as error:
        raise ConfigurationError(f"OPENSPIEL_GAME_PARAMS is no JSON: {error}") from error
    if not isinstance(read, dict):
        raise ConfigurationError(f'OPENSPIEL_GAME_PARAMS is a JSON object such as {{"board_size": 9}}, not {read!r}.')
    return read
