"""What a server serves: the environment class and the models of one Gymnasium id."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from gymnasium import Space
from gymnasium.spaces import Discrete
from openenv_gym_protocol.gymnasium_spaces import space_to_data
from openenv_gym_server.serialisation import AS_COLUMNS, leaves_arrays
from pydantic import BeforeValidator, PlainSerializer, SerializationInfo, WithJsonSchema, create_model

from gymnasium_env.environment import GymnasiumEnvironment
from gymnasium_env.known import Family
from gymnasium_env.models import GymnasiumAction, GymnasiumObservation
from gymnasium_env.recipe import Recipe
from gymnasium_env.settings import Settings
from gymnasium_env.space_forms import reader_of, schema_of, writer_of


@dataclass(frozen=True)
class Served:
    """What ``create_app`` takes."""

    environment_class: type[GymnasiumEnvironment]
    action_class: type[GymnasiumAction]
    observation_class: type[GymnasiumObservation]


def served(settings: Settings) -> Served:
    """Reads what the settings name, and makes its classes.

    An environment is built, and closed, to learn its spaces.

    Raises:
        ConfigurationError: The id is not registered, the settings do not fit it, or a space has no form as data.
    """
    recipe = Recipe(settings)
    known = recipe.family or Family()
    observation_class = _observation_class(recipe.observation_space)
    body: dict[str, Any] = {
        "__doc__": GymnasiumEnvironment.__doc__,
        "__module__": __name__,
        "execution": "inline" if recipe.is_short else "thread",
        "recipe": recipe,
        "observation_class": observation_class,
        "number_class": recipe.action_space.dtype.type if isinstance(recipe.action_space, Discrete) else int,
        "spaces": {
            "action": space_to_data(recipe.action_space),
            "observation": space_to_data(recipe.observation_space),
        },
        "start_options": known.start_options,
        "info_keys": None if recipe.family is None else list(known.info_keys),
        "render_modes": recipe.render_modes,
        "render_fps": recipe.render_fps,
        "remote_names": known.attributes,
        "reset": _reset(recipe, known.start_options),
        "reset_values": GymnasiumEnvironment.reset_values,
    }
    environment_class = type("ServedGymnasiumEnvironment", (GymnasiumEnvironment,), body)
    return Served(environment_class, _action_class(recipe.action_space), observation_class)


def _reset(recipe: Recipe, start_options: tuple[str, ...]) -> Callable[..., GymnasiumObservation]:
    """A reset whose signature names the options: the server reads from it what clients may send, and its types."""

    def reset(self: GymnasiumEnvironment, *args: Any, **options: Any) -> GymnasiumObservation:
        return GymnasiumEnvironment.reset(self, *args, **options)

    reset.__doc__ = GymnasiumEnvironment.reset.__doc__
    named: dict[str, tuple[Any, Any]] = {
        name: (keyword.annotation, keyword.default) for name, keyword in recipe.keywords.items()
    }
    named.update({name: (float | None, None) for name in start_options})
    first = inspect.signature(GymnasiumEnvironment.reset).parameters
    parameters = [first[name] for name in ("self", "seed", "episode_id")]
    for name, (annotation, default) in named.items():
        only = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, only, default=default, annotation=annotation))
        reset.__annotations__[name] = annotation
    reset.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return reset


def _action_class(space: Space[Any]) -> type[GymnasiumAction]:
    schema = WithJsonSchema({**schema_of(space, pixels=False), "description": str(space)})
    form = Annotated[Any, BeforeValidator(reader_of(space)), schema]
    return create_model("GymnasiumAction", __base__=GymnasiumAction, action=(form, ...))


def _observation_class(space: Space[Any]) -> type[GymnasiumObservation]:
    in_json, in_python, in_columns = (
        writer_of(space, arrays=arrays, pixels=pixels)
        for arrays, pixels in ((False, False), (True, False), (True, True))
    )

    @leaves_arrays
    def write(value: Any, info: SerializationInfo) -> Any:
        if info.mode == "json":
            return in_json(value)
        as_columns = isinstance(info.context, dict) and info.context.get(AS_COLUMNS)
        return in_columns(value) if as_columns else in_python(value)

    schema = WithJsonSchema({**schema_of(space, pixels=True), "description": str(space)})
    form = Annotated[Any, PlainSerializer(write), schema]
    return create_model("GymnasiumObservation", __base__=GymnasiumObservation, observation=(form, ...))
