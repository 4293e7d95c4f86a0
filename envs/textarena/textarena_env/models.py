"""What is said between a player and a text game; the fields are those of openenv's textarena environment."""

from __future__ import annotations

from typing import Any

from openenv_gym_protocol.models import Action, Observation, State
from pydantic import BaseModel, ConfigDict, Field

MAX_MESSAGE = 8192
"""The characters of an action."""

MAX_PROMPT = 65_536
"""The characters of a prompt."""

MAX_HISTORY = 262_144
"""The characters of an observation's messages, as JSON."""


class TextArenaMessage(BaseModel):
    """One message."""

    model_config = ConfigDict(extra="forbid")

    sender_id: int = Field(description="The player who said it; -1 for the game")
    content: str
    category: str = Field(default="MESSAGE", description="What it is: PLAYER_ACTION, GAME_BOARD, GAME_MESSAGE, ...")


class TextArenaAction(Action):
    """One move."""

    message: str = Field(max_length=MAX_MESSAGE, description="The move, as the prompt asks for it")


class TextArenaObservation(Observation):
    """What the player reads."""

    prompt: str = Field(description="The rules of the game, the same in the whole episode")
    messages: list[TextArenaMessage] = Field(default_factory=list, description="What was said, the oldest first")
    current_player_id: int = Field(default=0, description="Whose turn it is")
    legal_players: list[int] = Field(default_factory=list, description="Who plays")
    info: dict[str, Any] = Field(default_factory=dict, description="What the library says of the step and the player")


class TextArenaState(State):
    """What is played, and where the episode stands."""

    env_id: str = ""
    num_players: int = 1
    max_turns: int | None = None
    turn: int = 0
    last_reward: float = 0.0
    last_info: dict[str, Any] = Field(default_factory=dict)
    raw_state: dict[str, Any] = Field(default_factory=dict, description="Not filled: it holds the game's secrets")
