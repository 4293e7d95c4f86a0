"""JSON text to values and back, as the standard wire needs it.

NaN and the infinities: a client may send them as the bare tokens that Python's json writes; a server writes
null in their place inside observations, as openenv does. numpy values enter by the encoder's hook, which asks
for ``tolist`` and so needs no numpy.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, from_json, to_json

from openenv_gym_protocol.errors import ExecutionError, InvalidJson

MAX_FRAME_BYTES = 100 * 1024 * 1024
"""The largest frame that our ends accept by default, in bytes: what openenv's client accepts."""

NonFinite = Literal["null", "constants"]
"""How NaN and the infinities are written: as null, or as the tokens NaN, Infinity and -Infinity."""

_UNWRITABLE = (PydanticSerializationError, TypeError, ValueError, UnicodeError)


def array_fallback(value: Any) -> Any:
    """Turns numpy arrays and scalars into plain values; the hook for whatever JSON cannot name.

    Raises:
        TypeError: The value has no plain form.
    """
    to_list = getattr(value, "tolist", None)
    if callable(to_list) and hasattr(value, "dtype"):
        return to_list()
    raise TypeError(f"a value of type {type(value).__module__}.{type(value).__qualname__} has no JSON form")


def encode(value: Any, *, non_finite: NonFinite = "constants") -> bytes:
    """Writes a value as compact JSON.

    Raises:
        ExecutionError: The value holds something that JSON cannot carry.
    """
    try:
        return to_json(value, inf_nan_mode=non_finite, fallback=array_fallback)
    except _UNWRITABLE as error:
        raise _unwritable(error) from error


def encode_model(model: BaseModel, *, exclude: set[str]) -> bytes:
    """Writes the fields of a model as compact JSON, as the model has them written.

    Raises:
        ExecutionError: They hold something that JSON cannot carry.
    """
    write = model.__pydantic_serializer__.to_json
    try:
        # The fallback takes a third of the time, and only fields that hold something else than they declare need it.
        return write(model, exclude=exclude)
    except _UNWRITABLE:
        try:
            return write(model, exclude=exclude, fallback=array_fallback)
        except _UNWRITABLE as error:
            raise _unwritable(error) from error


def _unwritable(error: Exception) -> ExecutionError:
    return ExecutionError(f"The value cannot be sent as JSON: {error}")


def decode(text: str | bytes) -> Any:
    """Reads JSON text; NaN and Infinity are read as the floats they name.

    Raises:
        InvalidJson: The text is not JSON, holds a lone surrogate, or is nested too deeply.
    """
    try:
        return from_json(text)
    except (ValueError, TypeError) as error:
        # TypeError: a str with a lone surrogate is no text that the parser could read.
        raise InvalidJson(f"Invalid JSON: {error}") from error
