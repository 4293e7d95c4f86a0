"""What is said between an agent and a grid."""

from __future__ import annotations

import base64
import binascii
import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.models import Action, Observation, State
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

MISSION_LENGTH = 1024
"""Characters of the longest mission."""


def _written(picture: NDArray[np.uint8]) -> str:
    return base64.b64encode(np.ascontiguousarray(picture).tobytes()).decode("ascii")


def _read(picture: Any) -> Any:
    if not isinstance(picture, str):
        return picture
    try:
        flat = np.frombuffer(base64.b64decode(picture, validate=True), np.uint8)
    except binascii.Error as error:
        raise ValueError("the picture is no base64") from error
    side = math.isqrt(flat.size // 3)
    if side * side * 3 != flat.size:
        raise ValueError(f"{flat.size} bytes make no square picture")
    return flat.reshape(side, side, 3)


Square = Annotated[
    Any,
    BeforeValidator(_read),
    PlainSerializer(_written),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
"""A square array of uint8 of shape ``(side, side, 3)``; raw bytes in base64 on the standard wire."""


class MiniGridAction(Action):
    """One action."""

    action: int = Field(
        ge=0,
        le=6,
        description="0: turn left, 1: turn right, 2: forward, 3: pick up, 4: drop, 5: toggle what is ahead, 6: done",
    )


class MiniGridImageObservation(Observation):
    """What the agent sees, where the server has ``MINIGRID_OBSERVATION`` of ``image`` or ``rgb``."""

    image: Square = Field(description="The cells ahead as object, colour and state; of rgb, as pixels")


class MiniGridObservation(Observation):
    """What the agent sees, where it looks and what it shall do."""

    image: Square = Field(description="The cells ahead as object, colour and state, each a number")
    direction: int = Field(ge=0, le=3, description="0: right, 1: down, 2: left, 3: up")
    mission: str = Field(max_length=MISSION_LENGTH, description="What shall be done")


class MiniGridState(State):
    """Where the episode stands."""

    env_id: str = Field(default="", description="The MiniGrid id that is served")
    mission: str = ""
    max_steps: int = Field(default=0, description="The step at which the episode is cut off")
    agent: tuple[int, int] | None = Field(default=None, description="Column and row from the upper left corner")
    carrying: str | None = Field(default=None, description="Colour and kind of what the agent carries")
    grid: str | None = Field(default=None, description="The whole grid as text, a line a row")
