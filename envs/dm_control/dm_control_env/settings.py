"""What a server serves: the only module here that reads settings from environment variables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from openenv_gym_protocol.errors import ConfigurationError, nearest

ObservationKind: TypeAlias = Literal["flat", "dict", "pixels", "both"]
"""One vector, a dict of vectors, a picture, or a dict of the vector and the picture."""

PIXEL_SIZES = (16, 480)
FRAME_SKIPS = (1, 100)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is served.

    Attributes:
        domain: The suite's domain, such as ``cartpole``.
        task: One of the domain's tasks.
        observation: What observations are.
        pixel_size: The pixels of a picture's side, in observations.
        camera: The camera of all pictures, by name or number; -1 is the free one.
        frame_skip: How many control steps one action is held for.
    """

    domain: str = "cartpole"
    task: str = "balance"
    observation: ObservationKind = "flat"
    pixel_size: int = 84
    camera: str | int = 0
    frame_skip: int = 1

    @property
    def has_pixels(self) -> bool:
        """Whether observations have a picture."""
        return self.observation in ("pixels", "both")

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads ``DM_CONTROL_DOMAIN``, ``_TASK``, ``_OBSERVATION``, ``_PIXEL_SIZE``, ``_CAMERA`` and ``_FRAME_SKIP``.

        Texts may stand in quotes, as JSON has them.

        Raises:
            ConfigurationError: A value that cannot be, named with its variable.
        """
        read = os.environ if environ is None else environ
        given = {name: _plain(read[variable]) for name, variable in _VARIABLES.items() if read.get(variable)}
        kinds = get_args(ObservationKind)
        kind = given.get("observation", "flat")
        if kind not in kinds:
            raise ConfigurationError(
                f"DM_CONTROL_OBSERVATION={kind!r} is no kind of observation. {nearest(kind, kinds)}"
            )
        camera = given.get("camera", "0")
        return cls(
            domain=given.get("domain", cls.domain),
            task=given.get("task", cls.task),
            observation=kind,  # type: ignore[arg-type]  # one of them, as was just checked
            pixel_size=_whole(given, "pixel_size", cls.pixel_size, PIXEL_SIZES),
            camera=int(camera) if camera == "-1" or camera.isdecimal() else camera,
            frame_skip=_whole(given, "frame_skip", cls.frame_skip, FRAME_SKIPS),
        )


_VARIABLES = {name: f"DM_CONTROL_{name.upper()}" for name in Settings.__dataclass_fields__}


def _plain(text: str) -> str:
    if not text.startswith('"'):
        return text.strip()
    try:
        return str(json.loads(text))
    except ValueError:
        return text


def _whole(given: Mapping[str, str], name: str, default: int, bounds: tuple[int, int]) -> int:
    text = given.get(name, str(default))
    least, most = bounds
    if not text.isdecimal() or not least <= int(text) <= most:
        raise ConfigurationError(f"{_VARIABLES[name]}={text!r} must be a whole number from {least} to {most}.")
    return int(text)
