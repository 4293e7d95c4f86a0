"""The library of games. The only module here that loads textarena."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError

from textarena_env.copies import Original
from textarena_env.randomness import OwnRandomness
from textarena_env.settings import MOST_PLAYERS, Settings
from textarena_env.tested import TESTED
from textarena_env.words import keep_offline


@cache
def library() -> Any:
    """The module textarena, which from now on asks no network for word lists.

    Raises:
        ConfigurationError: This interpreter does not have it.
    """
    try:
        import nltk

        keep_offline(nltk)
        import textarena
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"Text games need the module {error.name!r}, which {sys.executable} does not have: pip install textarena "
            "english-words wonderwords, or name an interpreter that has them."
        ) from None
    return textarena


def game_ids() -> list[str]:
    """All ids that the library has."""
    library()
    from textarena.envs.registration import ENV_REGISTRY

    return list(ENV_REGISTRY)


def build(env_id: str) -> Any:
    """Makes a game that was not begun yet.

    What the id's wrappers make of a player's messages is left out, so that messages keep their senders and
    categories; what they make of moves is kept.

    Raises:
        Exception: Whatever the game raises.
    """
    env = library().make(env_id)
    views, wrapper = library().core.ObservationWrapper, library().core.Wrapper
    while isinstance(env, views):
        env = env.env
    around = env
    while isinstance(around, wrapper):
        while isinstance(around.env, views):
            around.env = around.env.env
        around = around.env
    return env


@dataclass(frozen=True)
class Played:
    """A game that can be played here.

    Attributes:
        original: What games are made of.
        given: The number of players that the library wants to be told.
        players: The number of players that there are.
    """

    original: Original
    given: int
    players: int


def played(settings: Settings) -> Played:
    """Makes the game of the settings and begins it once, to know that it can be played here.

    Raises:
        ConfigurationError: There is no such game, it cannot run here, or not with so many players. The message says
            why, and which games near it were played.
    """
    if settings.env_id not in game_ids():
        raise ConfigurationError(f"TextArena has no game {settings.env_id!r} (TEXTARENA_ENV_ID). {_near(settings)}")
    try:
        with OwnRandomness().mine(0):
            original = Original(build(settings.env_id))
    except Exception as error:  # games raise whatever they like
        raise ConfigurationError(f"{settings.env_id} cannot run here: {_reason(error)} {_near(settings)}") from error
    known = TESTED.get(settings.env_id.partition("-v")[0])
    counts = range(1, MOST_PLAYERS + 1) if known is None else (known,)
    failure: Exception | None = None
    for players in counts if settings.num_players is None else (settings.num_players,):
        try:
            return Played(original, players, _begin(original, players))
        except Exception as error:  # as above
            failure = failure or error
    assert failure is not None  # at least one number was tried
    if settings.num_players is not None:
        raise ConfigurationError(
            f"{settings.env_id} cannot be played by {settings.num_players} (TEXTARENA_NUM_PLAYERS): {_reason(failure)}"
        ) from failure
    raise ConfigurationError(f"{settings.env_id} cannot run here: {_reason(failure)} {_near(settings)}") from failure


def _begin(original: Original, players: int) -> int:
    """Begins a game; returns how many play it."""
    with OwnRandomness().mine(0):
        game = original.fresh()
        game.reset(num_players=players, seed=0)
    return int(game.state.num_players)


def _reason(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        version = ".".join(map(str, sys.version_info[:2]))
        return f"its code needs Python 3.12 or newer, and this is {version}."
    text = str(error).strip().replace("\n", " ")
    return f"{type(error).__name__}: {text[:300]}" + ("" if text.endswith(".") else ".")


def _near(settings: Settings) -> str:
    """The nearest ids of games that are known to run, or all such games where none is near."""
    games = settings.env_id.partition("-v")[0]
    playable = [
        name for name in game_ids() if name.partition("-v")[0] in TESTED and not name.endswith(("-raw", "-train"))
    ]
    close = get_close_matches(settings.env_id, playable, 3, cutoff=0.6)
    if close:
        return f"Near it and known to run: {', '.join(close)}."
    return f"Known to run: {', '.join(sorted(name for name in TESTED if name != games))}."
