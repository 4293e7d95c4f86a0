"""What a server serves: the environment class and the models of one game."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

import numpy as np
from openenv_gym_server.serialisation import AS_COLUMNS
from pydantic import BeforeValidator, Field, PlainSerializer, SerializationInfo, WithJsonSchema, create_model

from atari_env.console import Console
from atari_env.environment import AtariEnvironment
from atari_env.models import AtariAction, AtariObservation, in_base64
from atari_env.settings import Settings


@dataclass(frozen=True)
class Served:
    """What ``create_app`` takes."""

    environment_class: type[AtariEnvironment]
    action_class: type[AtariAction]
    observation_class: type[AtariObservation]


def served(settings: Settings) -> Served:
    """Loads the game that the settings name, to learn what it is, and makes its classes.

    Raises:
        ConfigurationError: There is no such game, or it has not the mode or difficulty of the settings.
    """
    console = Console(settings)
    shape = _shape_of(console.screen_shape, settings)
    observation_class = _observation_class(settings, shape)
    body: dict[str, Any] = {
        "__doc__": AtariEnvironment.__doc__,
        "__module__": __name__,
        "settings": settings,
        "screen_shape": shape,
        "observation_class": observation_class,
        "spaces": spaces_of(len(console.action_meanings), shape if settings.screen == "base64" else (prod(shape),)),
        "render_fps": max(60 // settings.frameskip, 1),
    }
    environment_class = type("ServedAtariEnvironment", (AtariEnvironment,), body)
    return Served(environment_class, _action_class(console.action_meanings), observation_class)


def spaces_of(actions: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """The spaces as data.

    Args:
        actions: How many actions there are.
        shape: The observation's shape.
    """
    return {
        "action": {"type": "Discrete", "n": actions, "start": 0},
        "observation": {"type": "Box", "low": 0, "high": 255, "shape": list(shape), "dtype": "uint8"},
    }


def _shape_of(screen: tuple[int, ...], settings: Settings) -> tuple[int, ...]:
    size, stack = settings.screen_size, settings.frame_stack
    one = screen if size is None else (size, size, *screen[2:])
    return one if stack is None else (stack, *one)


def _action_class(meanings: list[str]) -> type[AtariAction]:
    named = ", ".join(f"{number}: {meaning}" for number, meaning in enumerate(meanings))
    bounded = Annotated[int, Field(ge=0, le=len(meanings) - 1, description=named)]
    return create_model("AtariAction", __base__=AtariAction, action_id=(bounded, ...))


def _observation_class(settings: Settings, shape: tuple[int, ...]) -> type[AtariObservation]:
    if settings.screen == "list":
        schema: dict[str, Any] = {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}}
        write, text = _in_list, f"The bytes of shape {list(shape)} as a flat list"
    else:
        schema = {"type": "string", "contentEncoding": "base64"}
        write, text = in_base64, f"The bytes of shape {list(shape)}"

    def written(screen: Any, info: SerializationInfo) -> Any:
        as_columns = isinstance(info.context, dict) and info.context.get(AS_COLUMNS)
        return screen if as_columns else write(screen)

    form = Annotated[
        Any, BeforeValidator(_as_it_is), PlainSerializer(written), WithJsonSchema({**schema, "description": text})
    ]
    return create_model("AtariObservation", __base__=AtariObservation, screen=(form, ...))


def _as_it_is(screen: Any) -> Any:
    return screen


def _in_list(screen: Any) -> Any:
    return np.asarray(screen).reshape(-1).tolist()
