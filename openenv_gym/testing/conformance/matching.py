"""Whether a value is what a JSON Schema, as pydantic writes it, says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import ge, gt, le, lt
from typing import Any

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}
_BOUNDS = (("minimum", ge), ("maximum", le), ("exclusiveMinimum", gt), ("exclusiveMaximum", lt))
_LENGTHS: dict[type, tuple[str, str]] = {
    str: ("minLength", "maxLength"),
    list: ("minItems", "maxItems"),
    dict: ("minProperties", "maxProperties"),
}


def mismatch(value: Any, schema: Any) -> str | None:
    """Where a value first differs from a schema.

    What the schema says beyond types, keys, choices, bounds and lengths is not looked at.

    Args:
        value: JSON data.
        schema: The schema, with its definitions under ``$defs``.

    Returns:
        The place and what is wrong there; None where nothing is.
    """
    root = schema if isinstance(schema, Mapping) else {}
    return next(_mismatches(value, schema, root, "it"), None)


def _mismatches(value: Any, schema: Any, root: Mapping[str, Any], at: str) -> Iterator[str]:
    if schema is False:
        yield f"{at} may not be there"
    if not isinstance(schema, Mapping):
        return
    referred = [_target(schema["$ref"], root)] if "$ref" in schema else []
    for part in [*referred, *schema.get("allOf", ())]:
        yield from _mismatches(value, part, root, at)
    yield from _unchosen(value, schema, root, at)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is_a(value, kind) for kind in kinds):
        yield f"{at} is {value!r:.60}, not of type {' or '.join(kinds)}"
        return
    yield from _outside(value, schema, at)
    if isinstance(value, dict):
        yield from _keys(value, schema, root, at)
    elif isinstance(value, list):
        first, rest = schema.get("prefixItems", []), schema.get("items", True)
        for place, item in enumerate(value):
            yield from _mismatches(item, first[place] if place < len(first) else rest, root, f"{at}[{place}]")


def _unchosen(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], at: str) -> Iterator[str]:
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices and all(next(_mismatches(value, each, root, at), None) for each in choices):
        yield f"{at} is {value!r:.60}, which none of {len(choices)} choices allows"
    allowed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if allowed is not None and value not in allowed:
        yield f"{at} is {value!r:.60}, not one of {allowed!r:.60}"


def _keys(value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], at: str) -> Iterator[str]:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at} has no {name!r}"
    for name, item in value.items():
        yield from _mismatches(item, properties.get(name, others), root, f"{at}.{name}")


def _outside(value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        for key, keeps in _BOUNDS:
            if key in schema and not keeps(value, schema[key]):
                yield f"{at} is {value}, against {key} {schema[key]}"
    least, most = _LENGTHS.get(type(value), ("", ""))
    if least and not schema.get(least, 0) <= len(value) <= schema.get(most, len(value)):
        yield f"{at} has the length {len(value)}, against {least} {schema.get(least, 0)}, {most} {schema.get(most)}"


def _is_a(value: Any, kind: str) -> bool:
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "integer":
        return (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
    return kind not in _TYPES or isinstance(value, _TYPES[kind])


def _target(reference: str, root: Mapping[str, Any]) -> Any:
    found: Any = root
    for name in reference.removeprefix("#").strip("/").split("/"):
        if name:
            found = found.get(name, True) if isinstance(found, Mapping) else True
    return found
