"""What is said between a player and the table."""

from __future__ import annotations

from openenv_gym_protocol.models import Action, Observation, State
from pydantic import Field


class BlackjackAction(Action):
    """One decision of the player."""

    action: int = Field(ge=0, le=1, description="0: stick, the dealer plays out; 1: hit, take another card")


class BlackjackObservation(Observation):
    """What the player sees of the table."""

    hand: tuple[int, int, int] = Field(
        description="The player's sum, the dealer's open card (1 is an ace), and 1 if an ace of the player counts 11"
    )


class BlackjackState(State):
    """The whole table, the dealer's hidden card too: for the trainer, not for the player."""

    player: list[int] = Field(default_factory=list, description="The player's cards; an ace is 1")
    dealer: list[int] = Field(default_factory=list, description="The dealer's cards, the open one first")
    natural: bool = Field(default=False, description="A win by a natural pays 1.5")
    sab: bool = Field(default=True, description="Sutton and Barto's rules: a natural wins unless the dealer has one")
