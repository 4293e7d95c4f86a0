"""Values of keywords, compared with the JSON Schema that is told of each, so that a wrong one is never sent.

What a schema says beyond types, choices, bounds and lengths is left to the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from operator import ge, gt, le, lt
from typing import Any

import numpy as np
from openenv_gym_protocol.errors import ConfigurationError

_JSON = (bool, int, float, str, list, Mapping, type(None))


def check_values(owner: str, values: Mapping[str, Any], schemas: Mapping[str, Any]) -> None:
    """Refuses values that their schemas exclude; names without a schema pass.

    Args:
        owner: What the message begins with, such as the environment's id.
        values: The values by name.
        schemas: A JSON Schema a name.

    Raises:
        ConfigurationError: It names the first keyword with a wrong value and says what it should be.
    """
    for name, value in values.items():
        schema = schemas.get(name)
        if not isinstance(schema, Mapping) or _fits(_plain(value), schema):
            continue
        raise ConfigurationError(
            f"{owner}: {name}= must be {_spelt(schema)}, not {value!r:.80}.{_meant(value, schema)}"
        )


def _meant(value: Any, schema: Mapping[str, Any]) -> str:
    """The choice that was probably meant, as a sentence with a space before it."""
    choices = [each for each in schema.get("enum", ()) if isinstance(each, str)]
    close = get_close_matches(value, choices, 1) if isinstance(value, str) else []
    return f" Did you mean {close[0]!r}?" if close else ""


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    if not isinstance(value, _JSON):
        return True  # a time or bytes, say, which has its form on the wire
    if "default" in schema and value is None and schema["default"] is None:
        return True  # what an author wrote as the default can be given
    if "anyOf" in schema:
        return any(_fits(value, branch) for branch in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    if "const" in schema:
        return bool(value == schema["const"])
    kinds = _kinds(schema)
    if kinds and not any(_is_a(value, kind) for kind in kinds):
        return False
    return _is_within(value, schema)


def _is_a(value: Any, kind: str) -> bool:
    if kind == "boolean":
        # 0 and 1 are flags to Python, and to the servers.
        return isinstance(value, bool) or (isinstance(value, int | float) and value in (0, 1))
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    types = {"number": int | float, "string": str, "array": list, "object": Mapping, "null": type(None)}
    return kind not in types or isinstance(value, types[kind])


def _is_within(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value keeps the bounds of its own type."""
    if isinstance(value, int | float):
        bounds = (("minimum", ge), ("maximum", le), ("exclusiveMinimum", gt), ("exclusiveMaximum", lt))
        return all(keeps(value, schema[key]) for key, keeps in bounds if key in schema)
    if isinstance(value, str):
        return bool(schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)))
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            return False
        first = schema.get("prefixItems", [])
        rest = schema.get("items", {})
        return all(_fits(each, first[at] if at < len(first) else rest) for at, each in enumerate(value))
    return True


def _spelt(schema: Mapping[str, Any]) -> str:
    """A schema in words, such as ``a number from 0 to 1``."""
    if "anyOf" in schema:
        return " or ".join(_spelt(branch) for branch in schema["anyOf"])
    if "enum" in schema:
        return "one of " + ", ".join(repr(choice) for choice in schema["enum"])
    if "const" in schema:
        return repr(schema["const"])
    words = {"boolean": "true or false", "integer": "a whole number", "number": "a number", "string": "a text"}
    words |= {"array": _length(schema), "object": "a mapping", "null": "None"}
    return " or ".join(words.get(kind, kind) for kind in _kinds(schema)) + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    named = (
        ("minimum", "from"),
        ("exclusiveMinimum", "over"),
        ("maximum", "to" if "minimum" in schema else "up to"),
        ("exclusiveMaximum", "below"),
        ("minLength", "of at least"),
        ("maxLength", "of at most"),
    )
    return "".join(f" {word} {schema[key]}" for key, word in named if key in schema)


def _length(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is None and most is None:
        return "a list"
    if least == most:
        return f"a list of {least}"
    return "a list of " + " and ".join(
        f"{word} {count}" for word, count in (("at least", least), ("at most", most)) if count is not None
    )


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    told = schema.get("type", [])
    return [told] if isinstance(told, str) else list(told)


def _plain(value: Any) -> Any:
    """Numpy's values and tuples as what JSON has for them."""
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
