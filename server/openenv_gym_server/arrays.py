"""numpy arrays as fields of models, without importing numpy: an environment that has such a field brought it."""

from __future__ import annotations

import sys
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema


class ArrayJsonSchema(GenerateJsonSchema):
    """Describes a numpy field as the JSON array that it travels as."""

    def is_instance_schema(self, schema: core_schema.IsInstanceSchema) -> JsonSchemaValue:
        """The JSON Schema of a field of an arbitrary type."""
        if _is_array_type(schema["cls"]):
            return {"type": "array"}
        return super().is_instance_schema(schema)


def array_fields(model: type[BaseModel]) -> dict[str, Any]:
    """The fields of a model that are annotated as numpy arrays, each with its dtype or None."""
    found: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        for annotation in (info.annotation, *get_args(info.annotation)):
            if _is_array_type(get_origin(annotation) or annotation):
                found[name] = _dtype_of(annotation)
    return found


def lists_to_arrays(data: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """A copy of an action's data in which the lists of array fields are arrays.

    Raises:
        ValueError: A list is ragged or holds values that the dtype cannot take.
    """
    as_array = sys.modules["numpy"].asarray
    return {
        key: as_array(value, dtype=fields[key]) if key in fields and isinstance(value, list) else value
        for key, value in data.items()
    }


def _is_array_type(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, type) and issubclass(value, numpy.ndarray)


def _dtype_of(annotation: Any) -> Any:
    # NDArray[float32] is ndarray[shape, dtype[float32]]; dtype[Any] says nothing.
    for argument in get_args(annotation):
        if get_origin(argument) is sys.modules["numpy"].dtype:
            scalar = get_args(argument)[0]
            return scalar if isinstance(scalar, type) else None
    return None
