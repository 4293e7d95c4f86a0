"""What a server serves: the only module here that reads environment variables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from openenv_gym_protocol.errors import ConfigurationError, nearest

from atari_env.models import ObsType

_OBS_TYPES = ("rgb", "grayscale", "ram")
_SCREENS = ("base64", "list")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The game that is served, and how it is seen.

    Attributes:
        game: A ROM's name, such as ``space_invaders``.
        obs_type: ``rgb``, ``grayscale`` or ``ram``.
        frameskip: The frames that an action is held for.
        repeat_action_probability: The chance, each frame, that the console holds the previous action instead.
        full_action_space: All 18 moves of the joystick rather than those that the game knows.
        screen_size: Both sides of the picture in pixels; None: as the console draws it.
        frame_stack: How many of the last observations are one; None: the last alone, without the axis for it.
        mode: The game's own mode; None: its first.
        difficulty: The game's own difficulty; None: its first.
        screen: How the screen is written on the standard wire: ``base64``, or ``list``, openenv's flat list.
    """

    game: str = "pong"
    obs_type: ObsType = "rgb"
    frameskip: int = 4
    repeat_action_probability: float = 0.25
    full_action_space: bool = False
    screen_size: int | None = None
    frame_stack: int | None = None
    mode: int | None = None
    difficulty: int | None = None
    screen: Literal["base64", "list"] = "base64"

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads ``ATARI_GAME``, ``ATARI_OBS_TYPE`` and so on: the names of the attributes.

        Values are JSON, or plain text where text is meant.

        Raises:
            ConfigurationError: A value that cannot be, named with its variable.
        """
        read = _Reader(os.environ if environ is None else environ)
        settings = cls(
            game=read.text("ATARI_GAME", "pong"),
            obs_type=cast(ObsType, read.choice("ATARI_OBS_TYPE", "rgb", _OBS_TYPES)),
            frameskip=read.whole("ATARI_FRAMESKIP", 1, 256) or 4,
            repeat_action_probability=read.chance("ATARI_REPEAT_ACTION_PROBABILITY", 0.25),
            full_action_space=read.flag("ATARI_FULL_ACTION_SPACE"),
            screen_size=read.whole("ATARI_SCREEN_SIZE", 8, 160),
            frame_stack=read.whole("ATARI_FRAME_STACK", 2, 64),
            mode=read.whole("ATARI_MODE", 0, 255),
            difficulty=read.whole("ATARI_DIFFICULTY", 0, 255),
            screen=cast(Literal["base64", "list"], read.choice("ATARI_SCREEN", "base64", _SCREENS)),
        )
        if settings.obs_type == "ram" and settings.screen_size is not None:
            raise ConfigurationError("ATARI_SCREEN_SIZE needs pixels: the obs_type is ram. Leave one of them out.")
        return settings


class _Reader:
    """Environment variables as values; an empty one counts as not set."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def text(self, name: str, default: str) -> str:
        value = self._value(name)
        return default if value is None else str(value)

    def choice(self, name: str, default: str, known: tuple[str, ...]) -> str:
        value = self.text(name, default)
        if value not in known:
            raise ConfigurationError(f"{name}={value!r} is not known. {nearest(value, known)}")
        return value

    def whole(self, name: str, low: int, high: int) -> int | None:
        value = self._value(name)
        if value is None:
            return None
        if type(value) is not int or not low <= value <= high:
            raise ConfigurationError(f"{name}={value!r} must be a whole number from {low} to {high}.")
        return value

    def chance(self, name: str, default: float) -> float:
        value = self._value(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ConfigurationError(f"{name}={value!r} must be a number from 0 to 1.")
        return float(value)

    def flag(self, name: str) -> bool:
        value = self._value(name)
        if value is None:
            return False
        if value not in (True, False):  # 0 and 1 are among them
            raise ConfigurationError(f"{name}={value!r} must be true or false.")
        return bool(value)

    def _value(self, name: str) -> Any:
        text = self._environ.get(name, "")
        if not text:
            return None
        try:
            return json.loads(text)
        except ValueError:
            return text
