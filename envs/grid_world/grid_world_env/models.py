"""What is said between a walker and the grid."""

from __future__ import annotations

import base64
import binascii
import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.models import Action, Observation, State
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema


def _written(picture: NDArray[np.uint8]) -> str:
    return base64.b64encode(picture.tobytes()).decode("ascii")


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


Picture = Annotated[
    Any,
    BeforeValidator(_read),
    PlainSerializer(_written),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
"""A square array of uint8 of shape ``(side, side, 3)``; raw bytes in base64 on the standard wire."""


class GridWorldAction(Action):
    """One move."""

    direction: int = Field(ge=0, le=3, description="0: right, 1: up, 2: left, 3: down")


class GridWorldObservation(Observation):
    """Where the walker and the target are, each as column and row from the upper left corner."""

    agent: tuple[int, int] = Field(description="The walker's column and row")
    target: tuple[int, int] = Field(description="The target's column and row")


class GridWorldPictureObservation(GridWorldObservation):
    """The same with a picture of the grid, where the server has ``GRID_WORLD_PICTURE``."""

    image: Picture = Field(description="The grid from above, 8 pixels a cell")


class GridWorldState(State):
    """The whole grid."""

    size: int = Field(default=0, description="The cells of one side")
    slip: float = Field(default=0.0, description="The chance that a move goes in a random direction")
    agent: tuple[int, int] | None = None
    target: tuple[int, int] | None = None
