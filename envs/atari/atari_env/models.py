"""What is said between a player and an Atari game; the fields are those of openenv's Atari environment.

A server makes its own kind of the action and the observation: with the bounds of its game's actions, and the screen
in the form that it serves.
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from openenv_gym_protocol.models import Action, Observation, State
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

ObsType: TypeAlias = Literal["rgb", "grayscale", "ram"]
"""What is observed: colours, grey levels, or the console's 128 bytes of memory."""


def in_base64(screen: Any) -> str:
    """An array's bytes, row by row, as they travel in JSON."""
    return base64.b64encode(np.ascontiguousarray(screen, np.uint8).tobytes()).decode("ascii")


def _read(screen: Any) -> Any:
    if not isinstance(screen, str):
        return np.asarray(screen, np.uint8) if isinstance(screen, list) else screen
    try:
        return np.frombuffer(base64.b64decode(screen, validate=True), np.uint8)
    except binascii.Error as error:
        raise ValueError("the screen is no base64") from error


Screen = Annotated[
    Any,
    BeforeValidator(_read),
    PlainSerializer(in_base64),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
"""An array of uint8; raw bytes in base64 on the standard wire."""


class AtariAction(Action):
    """One move of the joystick.

    The last three fields are openenv's. They choose nothing: they say which game the move is for, and one that is for
    another game than the server's settings name is refused.
    """

    action_id: int = Field(ge=0, description="The position in legal_actions, from 0")
    game_name: str | None = Field(default=None, description="The game that the move is for")
    obs_type: ObsType | None = Field(default=None, description="What is meant to be observed")
    full_action_space: bool | None = Field(default=None, description="Whether it is one of all 18 moves")


class AtariObservation(Observation):
    """What the player sees."""

    screen: Screen = Field(description="The pixels, or the memory: bytes of the shape screen_shape")
    screen_shape: list[int] = Field(default_factory=list, description="The screen's shape")
    legal_actions: list[int] = Field(default_factory=list, description="The values that action_id can have")
    lives: int = Field(default=0, description="The lives that are left; 0 in games without")
    episode_frame_number: int = Field(default=0, description="Frames since the game began")
    frame_number: int = Field(default=0, description="Frames since the ROM was loaded, at the last seeded reset")

    @model_validator(mode="after")
    def _shaped(self) -> AtariObservation:
        screen = self.screen
        if isinstance(screen, np.ndarray) and self.screen_shape and list(screen.shape) != self.screen_shape:
            if screen.size != np.prod(self.screen_shape):
                raise ValueError(f"a screen of {screen.size} bytes has not the shape {self.screen_shape}")
            # Not by assignment, which would come here again.
            self.__dict__["screen"] = screen.reshape(self.screen_shape)
        return self


class AtariState(State):
    """What is played, and where the episode stands."""

    game_name: str = "pong"
    obs_type: ObsType = "rgb"
    full_action_space: bool = False
    mode: int | None = None
    difficulty: int | None = None
    repeat_action_probability: float = 0.25
    frameskip: int = 4
    lives: int = 0
    action_meanings: list[str] = Field(default_factory=list, description="The names of the actions, by action_id")
