"""OpenSpiel's games: which can be served, and what a player sees of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.errors import ConfigurationError

_LARGEST = 2**20
"""The elements that a tensor and a mask may have: an observation has both."""

_SEED = "rng_seed"
"""The parameter of games that draw their chance themselves."""


@dataclass(frozen=True, kw_only=True)
class ServedGame:
    """One game with its parameters.

    Attributes:
        game: OpenSpiel's object, which is shared and never changed.
        name: The game's short name.
        text: The game as text, with its parameters; players move one after another.
        players: How many there are.
        actions: How many actions there are; they are numbered from 0.
        tensor_shape: The shape of what a player sees.
        has_information_state: What a player sees is its information state, with all that it remembers; else an
            observation.
        is_seeded: The game draws its chance itself, so that each episode needs a game with a seed of its own.
        why_no_search: Why tree search cannot play it; empty where it can.
    """

    game: Any
    name: str
    text: str
    players: int
    actions: int
    tensor_shape: tuple[int, ...]
    has_information_state: bool
    is_seeded: bool
    why_no_search: str

    @property
    def params(self) -> dict[str, Any]:
        """All parameters, those with their defaults too."""
        return dict(self.game.get_parameters())

    @property
    def spaces(self) -> dict[str, Any]:
        """The spaces of a player as data."""
        size = int(np.prod(self.tensor_shape))
        seen = {"type": "Box", "low": "-inf", "high": "inf", "shape": [size], "dtype": "float32"}
        mask = {"type": "Box", "low": 0, "high": 1, "shape": [self.actions], "dtype": "int8"}
        return {
            "action": {"type": "Discrete", "n": self.actions, "start": 0},
            "observation": {"type": "Dict", "spaces": {"action_mask": mask, "info_state": seen}},
        }

    def new_state(self, random: np.random.Generator) -> Any:
        """The start of a new episode."""
        if not self.is_seeded:
            return self.game.new_initial_state()
        pyspiel: Any = import_module("pyspiel")
        params = {**self.params, _SEED: int(random.integers(2**31 - 1))}
        return pyspiel.load_game(self.name, params).new_initial_state()

    def tensor(self, state: Any, player: int) -> NDArray[np.float32]:
        """What a player sees, flat, of shape ``(size,)``."""
        read = state.information_state_tensor if self.has_information_state else state.observation_tensor
        return np.array(read(player), np.float32)

    def mask(self, legal: list[int]) -> NDArray[np.int8]:
        """Legal actions as ones among zeros, of shape ``(actions,)``."""
        mask = np.zeros(self.actions, np.int8)
        mask[legal] = 1
        return mask

    def words(self, state: Any, player: int) -> str:
        """What a player sees as text, and nothing that it does not."""
        kind = self.game.get_type()
        is_open = kind.information.name == "PERFECT_INFORMATION"
        # A player of a card game remembers; a board shows all that counts.
        if kind.provides_information_state_string and not (is_open and kind.provides_observation_string):
            return str(state.information_state_string(player))
        if kind.provides_observation_string:
            return str(state.observation_string(player))
        return str(state) if is_open else ""


def load(name: str, params: Mapping[str, Any] | None = None) -> ServedGame:
    """Loads a game to serve.

    In games whose players move at once, they move one after another, without seeing each other's moves.

    Args:
        name: Its short name, or its whole text such as ``go(board_size=9)``.
        params: Its parameters, by name; a game among them is a mapping with its ``name``.

    Raises:
        ConfigurationError: There is no such game, it does not take the parameters, or it cannot be served; the message
            says why.
    """
    game = _turn_based(_loaded(name, dict(params or {})))
    kind = game.get_type()
    is_sampled = kind.chance_mode.name == "SAMPLED_STOCHASTIC"
    _refuse(kind, game, is_sampled)
    has_information_state = bool(kind.provides_information_state_tensor)
    shape = game.information_state_tensor_shape() if has_information_state else game.observation_tensor_shape()
    served = ServedGame(
        game=game,
        name=kind.short_name,
        text=str(game),
        players=game.num_players(),
        actions=game.num_distinct_actions(),
        tensor_shape=tuple(shape),
        has_information_state=has_information_state,
        is_seeded=is_sampled,
        why_no_search=_why_no_search(kind),
    )
    size = int(np.prod(served.tensor_shape))
    for what, count in (("actions", served.actions), ("numbers in what a player sees", size)):
        if not 1 <= count <= _LARGEST:
            raise ConfigurationError(f"{served.text} has {count} {what}; from 1 to {_LARGEST} can be served.")
    _try(served)
    return served


def _try(served: ServedGame) -> None:
    """Begins an episode, and names its moves: some games find only then that their parameters cannot be.

    Raises:
        ConfigurationError: It cannot be played.
    """
    try:
        state = served.new_state(np.random.default_rng(0))
        if not state.is_chance_node() and not state.is_terminal():
            player = state.current_player()
            served.tensor(state, player)
            for action in state.legal_actions():
                state.action_to_string(player, action)
    except (RuntimeError, ValueError) as error:  # pyspiel.SpielError; text that is no UTF-8
        raise ConfigurationError(f"{served.text} cannot be played with these parameters: {error}") from None


def _loaded(name: str, params: dict[str, Any]) -> Any:
    try:
        pyspiel: Any = import_module("pyspiel")
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"OpenSpiel's games need the module {error.name!r}, which {sys.executable} does not have: pip install "
            "open-spiel, or name an interpreter that has it."
        ) from None
    short, _, arguments = name.partition("(")
    known = {kind.short_name: kind for kind in pyspiel.registered_games()}
    if short not in known:
        raise ConfigurationError(f"OpenSpiel has no game {short!r}. {_similar(short, list(known))}")
    if arguments and params:
        raise ConfigurationError(
            f"The parameters of {short} stand in game={name!r} and in game_params={params}: say them in one place."
        )
    takes = known[short].parameter_specification
    params = {key: _widened(value, takes.get(key)) for key, value in params.items()}
    try:
        return pyspiel.load_game(name, params) if params else pyspiel.load_game(name)
    except Exception as error:  # pyspiel has an error of its own, and lets those of C++ through
        given = f" with {params}" if params else ""
        takes_text = f" It takes {', '.join(sorted(takes))}." if takes else " It takes no parameters."
        raise ConfigurationError(f"{name} cannot be played{given}: {_line(error)}.{takes_text}") from error


def _turn_based(game: Any) -> Any:
    if game.get_type().dynamics.name != "SIMULTANEOUS":
        return game
    pyspiel: Any = import_module("pyspiel")
    try:
        return pyspiel.convert_to_turn_based(game)
    except Exception as error:
        raise ConfigurationError(
            f"{game} cannot be served: its players move at once, and cannot move in turn: {_line(error)}."
        ) from error


def _refuse(kind: Any, game: Any, is_sampled: bool) -> None:
    """Raises ConfigurationError for what is no game of turns with numbers to see, or cannot be repeated."""
    reason = ""
    if kind.dynamics.name == "MEAN_FIELD":
        reason = "it is a mean-field game, whose one player stands for a whole population"
    elif not (kind.provides_information_state_tensor or kind.provides_observation_tensor):
        reason = "it gives its players no tensor to see"
    elif game.num_distinct_actions() < 1:
        reason = "its actions have no numbers"
    elif is_sampled and _SEED not in game.get_parameters():
        reason = "it draws its chance itself and takes no seed, so that no episode could be repeated"
    if reason:
        raise ConfigurationError(f"{game} cannot be served: {reason}.")


def _why_no_search(kind: Any) -> str:
    if kind.information.name != "PERFECT_INFORMATION":
        return "it would look at what is hidden from the player"
    if kind.reward_model.name != "TERMINAL":
        return "it looks at how a game ends, and here rewards come before the end"
    if kind.chance_mode.name == "SAMPLED_STOCHASTIC":
        return "it has to know the chances, which this game draws itself"
    return ""


def _widened(value: Any, default: Any) -> Any:
    """A whole number as the float that a parameter is."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole and isinstance(default, float) else value


def _similar(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, 3)
    near = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
    return f"{near}pyspiel.registered_names() lists all {len(known)}."


def _line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text.rstrip(".")
