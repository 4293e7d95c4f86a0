"""What is said between a player and a game."""

from __future__ import annotations

from typing import Annotated, Any

from openenv_gym_protocol.models import Action, Observation, State
from pydantic import BeforeValidator, Field


def _listed(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


class OpenSpielAction(Action):
    """One move."""

    action_id: int = Field(description="One of the legal actions, as the game numbers them")
    game_name: str = Field(default="", description="The game that is meant; the server's own where it is empty")
    game_params: dict[str, Any] = Field(default_factory=dict, description="The parameters of the game that is meant")


class OpenSpielObservation(Observation):
    """What the player sees when it is to move, or at the end."""

    info_state: Annotated[list[float], BeforeValidator(_listed)] = Field(
        description="The game's tensor for this player, flat: its information state if the game has one, else its "
        "observation"
    )
    action_mask: Annotated[list[int], BeforeValidator(_listed)] = Field(
        description="A 1 for each legal action and a 0 for each other one; all 0 at the end"
    )
    legal_actions: list[int] = Field(default_factory=list, description="The legal actions; none at the end")
    legal_action_names: list[str] = Field(default_factory=list, description="What the game calls each of them")
    text: str = Field(default="", description="What the player sees, as text: a board, a hand, in chess the FEN")
    game_phase: str = Field(default="playing", description="initial, playing or terminal")
    current_player_id: int = Field(default=0, description="This player, or -4 at the end")
    opponent_last_action: int | None = Field(default=None, description="The last move of another player")


class OpenSpielState(State):
    """How the episode is played."""

    game_name: str = Field(default="", description="The game's short name")
    game_params: dict[str, Any] = Field(default_factory=dict, description="All of its parameters")
    agent_player: int = Field(default=0, description="Which player this client is")
    opponent_policy: str = Field(default="random", description="How all other players move")
    num_players: int = Field(default=1, description="The players of the game, this one included")
    tensor_shape: list[int] = Field(default_factory=list, description="The shape of info_state before it was made flat")
    returns: list[float] = Field(default_factory=list, description="What each player has so far")
    skipped_deals: int = Field(
        default=0, description="Games before this one that ended before this player's first move"
    )
