"""Who plays against the agent."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Literal, TypeAlias

from openenv_gym_protocol.errors import InvalidAction

from textarena_env.game import Game
from textarena_env.moves import PHRASES, moves_for

Kind: TypeAlias = Literal["random", "fixed", "echo", "pass"]
"""random: a legal move where one is found; fixed: given messages, in turn; echo: the agent's last one; pass: [pass]."""

_TRIES = 400
"""Moves that are tried before one is played untried."""


class Opponents:
    """The players besides the agent, in one episode.

    Args:
        kind: How they play.
        messages: What they say, in turn, if they are ``fixed``.
        game: The game's name, without version.
        seed: What random ones draw from.

    Raises:
        InvalidAction: Fixed ones have no messages, or others have some.
    """

    def __init__(self, kind: Kind, messages: Sequence[str] | None, game: str, seed: int) -> None:
        if (kind == "fixed") != bool(messages):
            raise InvalidAction(
                f"opponent={kind!r} with opponent_messages={messages!r}: messages are for 'fixed' opponents, which "
                "need at least one."
            )
        self._kind, self._messages, self._game = kind, list(messages or ()), game
        self._random = Random(seed)
        self._said = 0

    def move(self, game: Game, last: str) -> str:
        """What the player whose turn it is says.

        Args:
            game: The game.
            last: What the agent said last; empty before its first move.
        """
        match self._kind:
            case "fixed":
                self._said += 1
                return self._messages[(self._said - 1) % len(self._messages)]
            case "echo":
                return last or PHRASES[0]
            case "pass":
                return "[pass]"
        return self._legal(game)

    def _legal(self, game: Game) -> str:
        """The first of some moves in random order that the library takes; the very first where it takes none."""
        told = "\n".join(message.content for message in game.read_by(game.player))
        first: str | None = None
        for number, move in enumerate(moves_for(self._game, told, self._random)):
            first = move if first is None else first
            if number >= _TRIES:
                break
            if not game.would_refuse(move):
                return move
        return first or PHRASES[0]
