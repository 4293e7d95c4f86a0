"""What a request may say: the same checks on every transport, before any code of the environment runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from openenv_gym_protocol.bodies import ResetKeys
from openenv_gym_protocol.codec import faults_of
from openenv_gym_protocol.errors import InvalidMessage
from pydantic import BaseModel, TypeAdapter, ValidationError

from openenv_gym_server.arrays import lists_to_arrays
from openenv_gym_server.definition import Definition
from openenv_gym_server.plain_models import has_own
from openenv_gym_server.traits import Method

ActionReader: TypeAlias = Callable[[dict[str, Any]], BaseModel]
"""Makes an action of its fields; raises InvalidMessage, or pydantic's ValidationError."""


def action_reader(definition: Definition) -> ActionReader:
    """How the actions of an environment are read."""
    if definition.tool_actions or definition.action_arrays:
        return partial(_read_action, definition)
    return _reader(definition.action_class)


def refused(error: ValidationError) -> InvalidMessage:
    """What a client is told of data that a model refuses."""
    return InvalidMessage("Invalid message", errors=faults_of(error))


def _read_action(definition: Definition, data: dict[str, Any]) -> BaseModel:
    model = definition.action_class
    if definition.tool_actions and isinstance(kind := data.get("type"), str):
        model = definition.tool_actions.get(kind, model)
    if definition.action_arrays and model is definition.action_class:
        data = _with_arrays(definition, data)
    return _reader(model)(data)


def _reader(model: type[BaseModel]) -> ActionReader:
    # The validator is what pydantic's model_validate asks, in half of its time.
    return model.model_validate if has_own(model, "model_validate") else model.__pydantic_validator__.validate_python


def read_reset(definition: Definition, method: Method, data: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a reset: what was sent, as far as the environment takes it.

    Args:
        definition: What is served.
        method: The environment's reset.
        data: The keys that a client sent.

    Raises:
        InvalidMessage: Wrong values of seed, episode_id or a typed option.
    """
    if not data:
        return {}  # as in most resets that lanes make by themselves
    try:
        known = ResetKeys.model_validate(data).model_dump(include={"seed", "episode_id"}, exclude_unset=True)
    except ValidationError as error:
        raise refused(error) from error
    taken = {key: value for key, value in {**data, **known}.items() if method.takes(key)}
    for key, adapter in definition.traits.option_types.items():
        if key in taken:
            taken[key] = _checked(key, taken[key], adapter)
    return taken


def _with_arrays(definition: Definition, data: dict[str, Any]) -> dict[str, Any]:
    try:
        return lists_to_arrays(data, definition.action_arrays)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidMessage(f"Invalid message: a list that is no such array: {error}") from error


def _checked(key: str, value: Any, adapter: TypeAdapter[Any]) -> Any:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        faults = [{**fault, "loc": (key, *fault["loc"])} for fault in faults_of(error)]
        raise InvalidMessage("Invalid message", errors=faults) from error
