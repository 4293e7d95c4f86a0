"""The body of ``GET /schema``."""

from __future__ import annotations

import inspect
from typing import Any

from openenv_gym_protocol.bodies import Schemas
from pydantic import BaseModel

from openenv_gym_server.arrays import ArrayJsonSchema
from openenv_gym_server.definition import Definition
from openenv_gym_server.traits import Traits, option_adapter


def schemas_of(definition: Definition) -> dict[str, Any]:
    """Describes an environment: openenv's four schemas, and this project's extensions where they say something.

    Raises:
        ValidationError: The environment's ``spaces`` do not have the two keys.
    """
    traits = definition.traits
    body = Schemas.model_validate(
        {
            "action": _schema(definition.action_class),
            "observation": _schema(definition.observation_class),
            "state": _schema(definition.state_class),
            "reset_observation": _schema(definition.reset_observation_class),
            "x-gymnasium-spaces": traits.spaces,
            "x-reset-options": _reset_options(traits),
            "x-info-keys": traits.info_keys,
            "x-render-modes": list(traits.render_modes) or None,
            "x-render-fps": traits.render_fps if traits.render_modes else None,
            "x-openenv-gym": {"seeded_stream": traits.seeded_stream, "seed_supported": traits.seed_supported},
        }
    )
    dumped = body.model_dump(by_alias=True)
    return {key: value for key, value in dumped.items() if value is not None}


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(schema_generator=ArrayJsonSchema)


def _reset_options(traits: Traits) -> dict[str, Any] | None:
    if traits.reset_parameters is None:
        return None
    return {parameter.name: _option(parameter, traits) for parameter in traits.reset_parameters}


def _option(parameter: inspect.Parameter, traits: Traits) -> dict[str, Any]:
    adapter = traits.option_types.get(parameter.name)
    if adapter is None and not isinstance(parameter.annotation, str | type(inspect.Parameter.empty)):
        adapter = option_adapter(parameter.annotation)
    try:
        schema: dict[str, Any] = {} if adapter is None else adapter.json_schema()
    except Exception:  # pydantic raises many kinds for types that JSON Schema cannot describe
        schema = {}
    if _is_plain(parameter.default):
        schema["default"] = parameter.default
    return schema


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)
