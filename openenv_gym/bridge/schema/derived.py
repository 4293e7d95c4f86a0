"""From JSON Schema, as pydantic 2 writes it, to spaces and their codecs.

Two views of the same model. ``"faithful"`` keeps everything: text, sequences, unions. ``"flat"`` is for numeric
trainers: one Dict level at most, numbers in float32 as far as that changes none (``exact.flat_dtype``), text and
free JSON left out; unions and lists of objects, which have no numeric form, become JSON text. Without a choice, a
model whose every leaf is numeric is flat.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from openenv_gym_protocol.errors import UnsupportedSchema
from openenv_gym_protocol.json_schema import Definitions, Schema, combined
from openenv_gym_protocol.root_field import ACTION_KEYS, OBSERVATION_KEYS

from openenv_gym.bridge.codecs.base import Codec
from openenv_gym.bridge.schema.views import Faithful, Flat

View: TypeAlias = Literal["flat", "faithful"]


def action_codec(schema: Schema, view: View | None = None) -> Codec:
    """The codec of an action's schema.

    Args:
        schema: The ``action`` of ``/schema``.
        view: ``"flat"``, ``"faithful"``, or None to choose flat when every leaf is numeric.

    Raises:
        UnsupportedSchema: No space can be derived; the message names the field.
    """
    return _derived(schema, ACTION_KEYS, "action", view, sends=True)


def observation_codec(schema: Schema, reset_schema: Schema | None = None, view: View | None = None) -> Codec:
    """The codec of the observations of steps and resets together.

    Args:
        schema: The ``observation`` of ``/schema``.
        reset_schema: Its ``reset_observation``, when it has one.
        view: As for ``action_codec``.

    Raises:
        UnsupportedSchema: No space can be derived; the message names the field.
    """
    return _derived(combined(schema, reset_schema), OBSERVATION_KEYS, "observation", view, sends=False)


def _derived(schema: Schema, reserved: frozenset[str], name: str, view: View | None, *, sends: bool) -> Codec:
    definitions = Definitions.of(schema).at(name)
    if view == "faithful":
        return Faithful().root(schema, definitions, reserved)
    builder = Flat(sends=sends)
    try:
        flat = builder.root(schema, definitions, reserved)
    except UnsupportedSchema:
        if view == "flat":
            raise
        return Faithful().root(schema, definitions, reserved)
    if view == "flat" or builder.is_numeric:
        return flat
    return Faithful().root(schema, definitions, reserved)
