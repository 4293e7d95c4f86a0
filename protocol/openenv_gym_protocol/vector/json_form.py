"""Values as the standard wire's JSON has them, with arrays kept: what a value says depends on no wire.

msgpack has forms of its own for times, bytes and keys that are no text. Whoever reads the standard wire gets text in
their place, by pydantic's rules; so does who reads the vector wire.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from openenv_gym_protocol.errors import ExecutionError
from openenv_gym_protocol.json_codec import array_fallback
from openenv_gym_protocol.vector.array_data import ITEM_BYTES, ArrayData, is_array

_SCALARS = frozenset({str, int, float, bool, type(None)})
_KEPT = frozenset({*_SCALARS, ArrayData})


def json_form(value: Any) -> Any:
    """The same value in the types that JSON has, with NaN, infinities, large integers and arrays as they are.

    Raises:
        ExecutionError: JSON has no form for a part of it, or it holds itself.
    """
    try:
        return _form(value)
    except RecursionError:
        # Without the cause: its traceback has a thousand lines and says no more.
        raise ExecutionError("The value is nested too deeply, or holds itself, and cannot be sent.") from None
    except (PydanticSerializationError, TypeError, ValueError) as error:
        raise ExecutionError(f"The value cannot be sent: {error}") from error


def _form(value: Any) -> Any:
    kind = type(value)
    if kind in _KEPT:
        return value
    if kind is dict:
        return {key if type(key) is str else _key(key): _form(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        # Most lists are of numbers alone, and are not walked through.
        return list(value) if _SCALARS.issuperset(map(type, value)) else [_form(item) for item in value]
    if is_array(value) and value.dtype.name in ITEM_BYTES:
        return value
    return _by_pydantic(value)


def _key(key: Any) -> str:
    (text,) = _by_pydantic({key: None})
    return str(text)


def _by_pydantic(value: Any) -> Any:
    return from_json(to_json(value, inf_nan_mode="constants", fallback=array_fallback))
