"""Copies of games: a fresh one for every episode, and those that a move is tried on."""

from __future__ import annotations

import copy
from typing import Any

_MANY = 2000


class Original:
    """A game that was not begun, and stays so.

    Building one may take seconds, because word games read dictionaries. Copies share what is large: games only read it.

    Args:
        game: The game.
    """

    def __init__(self, game: Any) -> None:
        self._game = game
        self._large = _large_parts(game)
        for part in self._large:
            if isinstance(part, list) and all(isinstance(item, str) for item in part):
                part.sort()  # made of a set, its order would be another one in every process

    def fresh(self) -> Any:
        """A game that was not begun."""
        return self.copied(self._game)

    def copied(self, game: Any) -> Any:
        """A copy of one of its games, as it stands."""
        return copy.deepcopy(game, {id(part): part for part in self._large})


def _large_parts(game: Any) -> list[Any]:
    found: list[Any] = []
    layer: Any = game
    while layer is not None:
        for name, value in vars(layer).items():
            if name != "env" and (_is_large(value) or any(map(_is_large, getattr(value, "__dict__", {}).values()))):
                found.append(value)
        layer = vars(layer).get("env")
    return found


def _is_large(value: Any) -> bool:
    return isinstance(value, list | set | frozenset | dict | tuple) and len(value) > _MANY
