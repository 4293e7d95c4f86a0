"""A text game as a session of a server."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar, Literal
from uuid import uuid4

from openenv_gym_protocol.bodies import Metadata
from openenv_gym_server.environment import Environment, truncated

from textarena_env.game import Game, Moved
from textarena_env.library import Played
from textarena_env.models import (
    MAX_HISTORY,
    MAX_MESSAGE,
    MAX_PROMPT,
    TextArenaAction,
    TextArenaMessage,
    TextArenaObservation,
    TextArenaState,
)
from textarena_env.opponents import Kind, Opponents

AGENT = 0
"""The player that the agent is."""

_MOST_OPPONENT_MOVES = 500
"""After so many moves of opponents without one of the agent's, the episode is cut off."""

_WRITTEN = 80
"""At most so many characters does a message have as JSON besides its content."""


class TextArenaEnvironment(Environment[TextArenaAction, TextArenaObservation, TextArenaState]):
    """A game of TextArena. The agent is player 0; the others are opponents of the server's.

    The reward is what the library gives player 0 at the end, and 0 before. The same seed and actions give the same
    episode, whatever other sessions do meanwhile; an unseeded reset goes on with the seeds of the last seeded one.

    ``textarena_env.serving.served`` makes the class for one server: with its game.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    execution = "thread"  # some games think for a while
    seeded_stream = True
    info_keys: ClassVar[list[str] | None] = [
        "invalid_move",
        "invalid_moves",
        "messages_left_out",
        "opponent_invalid_moves",
        "reason",
        "turn",
    ]
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": {"type": "UnicodeText", "max_length": MAX_MESSAGE},
        "observation": {
            "type": "Dict",
            "spaces": {
                "prompt": {"type": "UnicodeText", "max_length": MAX_PROMPT},
                "messages": {"type": "JsonText", "max_length": MAX_HISTORY},
            },
        },
    }

    env_id: ClassVar[str] = ""
    num_players: ClassVar[int] = 1
    what: ClassVar[Played | None] = None
    """The game; served classes have one."""

    def __init__(self) -> None:
        super().__init__()
        assert self.what is not None  # what ``served`` makes has one
        self._game = Game(self.what.original, self.what.given)
        self._seeds: Random | None = None
        self._opponents: Opponents | None = None
        self._is_over = True
        self._shows_all = True
        self._seen = self._invalid_moves = self._opponent_invalid_moves = 0
        self._said = ""
        self._state = TextArenaState(env_id=self.env_id, num_players=self.num_players)

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        opponent: Kind = "random",
        opponent_messages: list[str] | None = None,
        history: Literal["all", "new"] = "all",
        **options: Any,
    ) -> TextArenaObservation:
        """Begins a game, up to the agent's first turn.

        Args:
            seed: What the game and its opponents draw from; without one the seeds go on, or start from entropy.
            episode_id: The episode's name; by default a random one.
            opponent: How the other players play: ``random``, ``fixed``, ``echo`` or ``pass``.
            opponent_messages: What ``fixed`` ones say, in turn.
            history: Whether observations have all messages of the episode, or those since the last observation.
            **options: None are known; the server tells clients which there are.

        Raises:
            ConfigurationError: ``fixed`` opponents have no messages, or others have some.
        """
        if seed is None:
            self._seeds = self._seeds or Random(secrets.randbits(64))
            seed = self._seeds.getrandbits(31)
        else:
            self._seeds = Random(seed)
        self._is_over = True
        self._opponents = Opponents(opponent, opponent_messages, self.env_id.partition("-v")[0], seed)
        self._game.begin(seed)
        self._is_over, self._shows_all, self._said = False, history == "all", ""
        self._seen = self._invalid_moves = self._opponent_invalid_moves = 0
        self._state = TextArenaState(
            episode_id=episode_id or str(uuid4()),
            env_id=self.env_id,
            num_players=self.num_players,
            max_turns=self._game.max_turns,
        )
        moved, is_cut_off = self._let_opponents_move(Moved(done=False, invalid=False))
        return self._told(moved, invalid=False, is_cut_off=is_cut_off, reward=None)

    def step(self, action: TextArenaAction, timeout_s: float | None = None, **options: Any) -> TextArenaObservation:
        """Plays the agent's move, and then the opponents' up to the agent's next turn.

        Raises:
            RuntimeError: No episode is being played.
        """
        if self._is_over:
            raise RuntimeError("No episode is being played: reset first.")
        self._said = action.message
        moved = self._game.play(action.message)
        self._state.step_count += 1
        invalid = moved.invalid
        self._invalid_moves += invalid
        moved, is_cut_off = self._let_opponents_move(moved)
        reward = self._game.outcome(AGENT)[0] if moved.done else 0.0
        return self._told(moved, invalid=invalid, is_cut_off=is_cut_off, reward=reward)

    @property
    def state(self) -> TextArenaState:
        """What is played, and where the episode stands."""
        return self._state

    def get_metadata(self) -> Metadata:
        """What ``/metadata`` says."""
        return Metadata(name=f"textarena {self.env_id}", description="A game of TextArena", version="0.1.0")

    def _let_opponents_move(self, moved: Moved) -> tuple[Moved, bool]:
        """Plays until it is the agent's turn or the game is over; tells whether neither came."""
        assert self._opponents is not None  # reset made them
        for _ in range(_MOST_OPPONENT_MOVES):
            if moved.done or self._game.player == AGENT:
                return moved, False
            moved = self._game.play(self._opponents.move(self._game, self._said))
            self._opponent_invalid_moves += moved.invalid
        return moved, True

    def _told(self, moved: Moved, *, invalid: bool, is_cut_off: bool, reward: float | None) -> TextArenaObservation:
        self._is_over = moved.done or is_cut_off
        told = self._game.outcome(AGENT)[1] if moved.done else {}
        info = _plain({**told, **moved.info})
        read = [message for message in self._game.read_by(AGENT) if message.category != "PROMPT"]
        messages, left_out = _newest(read if self._shows_all else read[self._seen :])
        self._seen = len(read)
        self._state.turn, self._state.last_reward, self._state.last_info = self._game.turn, reward or 0.0, info
        observation = TextArenaObservation(
            prompt=self._prompt(),
            messages=messages,
            current_player_id=AGENT if not moved.done else self._game.player,
            legal_players=list(range(self.num_players)),
            info=info,
            reward=reward,
            done=moved.done,
            metadata={
                "invalid_move": invalid,
                "invalid_moves": self._invalid_moves,
                "messages_left_out": left_out,
                "opponent_invalid_moves": self._opponent_invalid_moves,
                "reason": _reason(told, is_cut_off=is_cut_off),
                "turn": self._game.turn,
            },
        )
        return truncated(observation) if is_cut_off else observation

    def _prompt(self) -> str:
        prompts = [message.content for message in self._game.read_by(AGENT) if message.category == "PROMPT"]
        return "\n".join(prompts)


def _reason(told: dict[str, Any], *, is_cut_off: bool) -> str:
    if is_cut_off:
        return f"The opponents moved {_MOST_OPPONENT_MOVES} times without the agent's turn coming."
    return str(told.get("reason") or "")


def _newest(messages: Sequence[TextArenaMessage]) -> tuple[list[TextArenaMessage], int]:
    """As many of the newest messages as an observation holds, and how many are left out."""
    room, kept = MAX_HISTORY - 2, 0
    for message in reversed(messages):
        room -= len(json.dumps(message.content, ensure_ascii=False)) + len(message.category) + _WRITTEN
        if room < 0:
            break
        kept += 1
    return list(messages[len(messages) - kept :]), len(messages) - kept


def _plain(value: Any) -> Any:
    """A value as JSON has it; what has no such form becomes text."""
    return json.loads(json.dumps(value, default=str))
