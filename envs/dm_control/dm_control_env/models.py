"""What is said between a client and a task of dm_control's suite.

A server makes its own kind of these models, with the bounds of the served task. On the standard wire a picture is raw
bytes in base64.
"""

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
    PlainSerializer(_written, when_used="unless-none"),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
"""A square array of uint8 of shape ``(side, side, 3)``; raw bytes in base64 on the standard wire."""


class DmControlAction(Action):
    """What the actuators are told."""

    values: list[float] = Field(description="A number for each actuator, within its bounds")


class DmControlObservation(Observation):
    """What a task shows, as far as the server's ``DM_CONTROL_OBSERVATION`` asks for it."""

    observations: dict[str, list[float]] = Field(
        default_factory=dict, description="The suite's own observations by name, flattened; empty with pixels alone"
    )
    vector: list[float] | None = Field(default=None, description="All of them in one row, where that is asked for")
    pixels: Picture | None = Field(default=None, description="The picture, where that is asked for")


class VectorObservation(DmControlObservation):
    """One vector."""

    vector: list[float] = Field(description="All observations, one after the other")


class DictObservation(DmControlObservation):
    """A dict of vectors."""

    observations: dict[str, list[float]] = Field(description="The suite's own observations by name, flattened")


class PixelObservation(DmControlObservation):
    """A picture."""

    pixels: Picture = Field(description="What the camera sees")


class VectorPixelObservation(VectorObservation):
    """One vector and a picture."""

    pixels: Picture = Field(description="What the camera sees")


class DmControlState(State):
    """Where the episode stands."""

    domain_name: str = Field(default="", description="The suite's domain")
    task_name: str = Field(default="", description="The domain's task")
    time: float = Field(default=0.0, description="Seconds that were simulated in the episode")
    physics_timestep: float = Field(default=0.0, description="Seconds of one step of the physics")
    control_timestep: float = Field(default=0.0, description="Seconds for which one control step lasts")
    frame_skip: int = Field(default=1, description="Control steps that one action is held for")
