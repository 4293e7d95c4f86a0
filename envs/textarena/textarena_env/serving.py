"""What a server serves: the environment class of one game."""

from __future__ import annotations

from typing import Any

from textarena_env.environment import TextArenaEnvironment
from textarena_env.library import played
from textarena_env.settings import Settings


def served(settings: Settings) -> type[TextArenaEnvironment]:
    """Begins the game that the settings name once, and makes its class.

    Raises:
        ConfigurationError: There is no such game, it cannot run here, or not with so many players.
    """
    what = played(settings)
    body: dict[str, Any] = {
        "__doc__": TextArenaEnvironment.__doc__,
        "__module__": __name__,
        "env_id": settings.env_id,
        "what": what,
        "num_players": what.players,
    }
    return type("ServedTextArenaEnvironment", (TextArenaEnvironment,), body)
