"""A model of an action from the server's JSON Schema, for environments whose own package is not here."""

from __future__ import annotations

import keyword
import re
from collections.abc import Container, Mapping
from typing import Any, Literal, Union

from openenv_gym_protocol.errors import UnsupportedSchema
from pydantic import BaseModel, ConfigDict, Field, create_model

_PLAIN: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}
_MAX_DEPTH = 16


class SchemaAction(BaseModel):
    """Base of the models that are made of a schema: fields that nobody set are not sent."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=(), populate_by_name=True)


def action_class_of(schema: Mapping[str, Any]) -> type[Any]:
    """Makes a model with the fields of a schema, their types, defaults and descriptions.

    What a type cannot say, such as bounds, is left to the server.

    Args:
        schema: The JSON Schema of an object.

    Returns:
        A class below ``SchemaAction``, whose fields no type checker can know.

    Raises:
        UnsupportedSchema: It describes no object with fields.
    """
    if not isinstance(schema.get("properties"), Mapping):
        raise UnsupportedSchema("The server's action has no fields by name: pass dictionaries to step().")
    return _Models(schema.get("$defs")).model(schema, "Action", _MAX_DEPTH)


class _Models:
    def __init__(self, definitions: Any) -> None:
        self._definitions = definitions if isinstance(definitions, Mapping) else {}
        # Definitions that name each other often would else be made more often than there is time for.
        self._made: dict[tuple[str, int], Any] = {}

    def model(self, schema: Mapping[str, Any], name: str, depth: int) -> type[SchemaAction]:
        required = _list(schema.get("required"))
        fields: dict[str, Any] = {}
        for key, told in schema["properties"].items():
            told = told if isinstance(told, Mapping) else {}
            default = ... if key in required else told.get("default")
            alias = None if (attribute := _attribute(key, fields)) == key else key
            described = Field(default, alias=alias, description=_text(told.get("description")))
            kind = self._kind(told, depth - 1)
            fields[attribute] = (kind if key in required or default is not None else kind | None, described)
        made: type[SchemaAction] = create_model(
            _class_name(schema.get("title"), name),
            __base__=SchemaAction,
            __doc__=_text(schema.get("description")),
            **fields,
        )
        return made

    def _kind(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, Mapping) or depth <= 0:
            return Any
        if isinstance(schema.get("$ref"), str):
            return self._defined(schema["$ref"].rpartition("/")[2], depth - 1)
        choices = _list(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])
        if choices and all(isinstance(choice, str | int | bool) for choice in choices):
            return Literal[tuple(choices)]
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list) and schema[word]:
                return Union[tuple(self._kind(each, depth - 1) for each in schema[word])]  # noqa: UP007  (of a tuple)
        return self._of_type(schema, depth)

    def _defined(self, name: str, depth: int) -> Any:
        if (name, depth) not in self._made:
            self._made[name, depth] = self._kind(self._definitions.get(name), depth)
        return self._made[name, depth]

    def _of_type(self, schema: Mapping[str, Any], depth: int) -> Any:
        told = schema.get("type")
        if told == "array":
            item = self._kind(schema.get("items", {}), depth - 1)
            return list[item]  # type: ignore[valid-type]
        if told == "object":
            properties = isinstance(schema.get("properties"), Mapping)
            return self.model(schema, "Part", depth - 1) if properties else dict[str, Any]
        return _PLAIN.get(told, Any) if isinstance(told, str) else Any


def _attribute(key: str, taken: Container[str]) -> str:
    """A name that a field can have: one that is Python's, pydantic's or another field's gets an underscore."""
    name = re.sub(r"\W", "_", key).lstrip("_") or "field"
    name = f"field_{name}" if name[0].isdigit() else name
    while keyword.iskeyword(name) or hasattr(SchemaAction, name) or name in taken:
        name = f"{name}_"
    return name


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _class_name(title: Any, otherwise: str) -> str:
    return title if isinstance(title, str) and title.isidentifier() else otherwise
