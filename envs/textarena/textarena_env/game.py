"""One game of one session, seen by the agent and by its opponents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from textarena_env.copies import Original
from textarena_env.models import TextArenaMessage
from textarena_env.randomness import OwnRandomness


@dataclass
class Moved:
    """What became of a move.

    Attributes:
        done: Whether the game is over.
        invalid: Whether the library refused the move.
        info: What the library says of the step.
    """

    done: bool
    invalid: bool
    info: dict[str, Any] = field(default_factory=dict)


class Game:
    """A game that is begun anew for every episode.

    No method disturbs another session's random numbers, or prints anything.

    Args:
        original: What it is made of.
        players: How many play.
    """

    def __init__(self, original: Original, players: int) -> None:
        self.players = players
        self._original = original
        self._randomness = OwnRandomness()
        self._env: Any = None
        self._read: dict[int, list[TextArenaMessage]] = {}

    def begin(self, seed: int) -> None:
        """Begins an episode.

        Args:
            seed: What all of its randomness comes from.
        """
        self._env = None
        with self._randomness.mine(seed):
            env = self._original.fresh()
            env.reset(num_players=self.players, seed=seed)
            # A game of two may want to be begun as one of one.
            self._env, self._read = env, {player: [] for player in range(env.state.num_players)}
            self._take_messages()

    def play(self, message: str) -> Moved:
        """The current player's move."""
        with self._randomness.mine():
            moved = _move(self._env, message)
            self._take_messages()
        return moved

    def would_refuse(self, message: str) -> bool:
        """Whether the library would refuse the current player's move. Tried on a copy."""
        with self._randomness.mine(), self._randomness.kept():
            try:
                return _move(self._original.copied(self._env), message).invalid
            except Exception:  # games raise whatever they like at moves that they do not understand
                return True

    @property
    def player(self) -> int:
        """Whose turn it is."""
        return int(self._state.current_player_id)

    @property
    def turn(self) -> int:
        """The turns that were taken."""
        return int(getattr(self._state, "turn", 0) or 0)

    @property
    def max_turns(self) -> int | None:
        """The game's own limit, if it has one."""
        limit = getattr(self._state, "max_turns", None)
        return limit if isinstance(limit, int) else None

    def read_by(self, player: int) -> list[TextArenaMessage]:
        """All that a player was told in this episode, the oldest first."""
        return self._read[player]

    def outcome(self, player: int) -> tuple[float, dict[str, Any]]:
        """A player's reward, and what the library says of the player's game; for the end of an episode."""
        rewards = getattr(self._state, "rewards", None) or {}
        told = (getattr(self._state, "game_info", None) or {}).get(player) or {}
        return float(rewards.get(player, 0.0) or 0.0), dict(told)

    @property
    def _state(self) -> Any:
        if self._env is None:
            raise RuntimeError("No episode is being played: reset first.")
        return self._env.state

    def _take_messages(self) -> None:
        """Reads what every player was told, through the game's own view for whose turn it is."""
        if not self._state.done:
            player, told = self._env.get_observation()
            self._read[int(player)] += _messages(told)
        for player, told in self._state.observations.items():
            if player in self._read and told:
                self._read[player] += _messages(told)
                self._state.observations[player] = []


def _move(env: Any, message: str) -> Moved:
    state = env.state
    player, errors = state.current_player_id, getattr(state, "error_count", 0)
    was_marked = _is_marked(state, player)
    done, info = env.step(action=message)
    state = env.state
    more_errors = getattr(state, "error_count", 0) > errors
    newly_marked = _is_marked(state, player) and not was_marked
    return Moved(bool(done), more_errors or newly_marked, dict(info or {}))


def _is_marked(state: Any, player: int) -> bool:
    """Whether the library counts an invalid move as the end of a player."""
    told = (getattr(state, "game_info", None) or {}).get(player) or {}
    return bool(told.get("invalid_move"))


def _messages(told: Any) -> list[TextArenaMessage]:
    if isinstance(told, str):
        return [TextArenaMessage(sender_id=-1, content=told, category="GAME_MESSAGE")]
    return [_message(*each) for each in told or ()]


def _message(sender: Any, content: Any, kind: Any) -> TextArenaMessage:
    if not isinstance(sender, int):  # some games give the category in the sender's place, and the game is who speaks
        sender, kind = -1, sender
    return TextArenaMessage(sender_id=sender, content=str(content), category=getattr(kind, "name", str(kind)))
