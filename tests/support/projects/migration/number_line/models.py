"""What is sent to the walk and what it shows."""

from openenv.core.env_server.types import Action, Observation
from pydantic import Field


class NumberLineAction(Action):
    """How far to go, to the right or to the left."""

    move: int = Field(..., ge=-2, le=2, description="Places to go; negative ones lead to the left")


class NumberLineObservation(Observation):
    """Where the walker stands, and how far the goal is."""

    place: int = Field(default=0, ge=-50, le=50, description="The place on the line")
    distance: int = Field(default=0, ge=0, le=100, description="Places to the goal")
