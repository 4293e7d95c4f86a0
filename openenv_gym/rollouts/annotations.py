"""JSON Schema as Python's annotations: what reads functions to describe them to a model needs those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Union

_PLAIN: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
_MAX_DEPTH = 16
_MAX_PARTS = 10_000
"""Parts of a schema that are looked at: references can make more of a few lines than anybody has time for."""


def annotation_of(schema: Any, definitions: Mapping[str, Any] | None = None) -> Any:
    """The annotation that says what a schema says, as far as annotations can.

    ``str``, ``int``, ``float``, ``bool``, ``Literal`` for choices, ``list[...]``, ``dict[str, ...]``, ``Optional`` and
    ``Union``. An object with fields is a ``dict``, whose fields ``described`` tells; what is not known is ``Any``.

    Args:
        schema: The schema.
        definitions: What its references lead to, by name.
    """
    return _annotation(schema, definitions or {}, _MAX_DEPTH, iter(range(_MAX_PARTS)))


def described(schema: Any, definitions: Mapping[str, Any] | None = None) -> str:
    """What a schema says in words and its annotation cannot: its description, its bounds and its fields."""
    told = _resolved(schema, definitions or {}, _MAX_DEPTH)
    parts = [_one_line(told.get("description") or told.get("title") or "")]
    parts.append(_bounds(told))
    parts.append(_fields(told, definitions or {}))
    if told.get("default") is not None:
        parts.append(f"Default: {told['default']!r}.")
    return " ".join(part for part in parts if part)


def mapping_of(value: Any) -> Mapping[str, Any]:
    """A part of a schema that has to be an object; nothing is in it where it is none."""
    return value if isinstance(value, Mapping) else {}


def required_of(schema: Mapping[str, Any]) -> list[str]:
    """The names that a schema requires, each once; none where it does not say so in a list."""
    named = schema.get("required")
    names = named if isinstance(named, list | tuple) else ()
    return list(dict.fromkeys(each for each in names if isinstance(each, str)))


def _annotation(schema: Any, definitions: Mapping[str, Any], depth: int, parts: Iterator[int]) -> Any:
    told = _resolved(schema, definitions, depth)
    if not told or depth <= 0 or next(parts, None) is None:
        return Any
    choices = told["enum"] if isinstance(told.get("enum"), list) else [told["const"]] if "const" in told else []
    if choices and all(each is None or isinstance(each, str | int | bool) for each in choices):
        return Literal[tuple(choices)]
    for word in ("anyOf", "oneOf"):
        if isinstance(told.get(word), list) and told[word]:
            return _union([_annotation(each, definitions, depth - 1, parts) for each in told[word]])
    kind = told.get("type")
    if isinstance(kind, list):
        return _union([_annotation({**told, "type": each}, definitions, depth - 1, parts) for each in kind])
    if kind == "array":
        item = _annotation(told.get("items"), definitions, depth - 1, parts)
        return list if item is Any else list[item]  # type: ignore[valid-type]
    if kind == "object":
        inner = told.get("additionalProperties")
        item = _annotation(inner, definitions, depth - 1, parts) if isinstance(inner, Mapping) else Any
        return dict if item is Any else dict[str, item]  # type: ignore[valid-type]
    return _PLAIN.get(str(kind), Any)


def _union(members: list[Any]) -> Any:
    if Any in members:
        return Any
    others = [each for each in members if each is not type(None)]
    if not others:
        return type(None)
    nothing = [type(None)] if len(others) < len(members) else []
    return Union[tuple([*others, *nothing])]  # noqa: UP007  (of a tuple)


def _resolved(schema: Any, definitions: Mapping[str, Any], depth: int) -> Mapping[str, Any]:
    told = mapping_of(schema)
    for _ in range(depth):
        parts = told.get("allOf")
        if isinstance(told.get("$ref"), str):
            target = mapping_of(definitions.get(told["$ref"].rpartition("/")[2]))
            told = {**target, **{name: value for name, value in told.items() if name != "$ref"}}
        elif isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], Mapping):
            told = {**parts[0], **{name: value for name, value in told.items() if name != "allOf"}}
        else:
            return told
    return {}


def _bounds(told: Mapping[str, Any]) -> str:
    least = told.get("minimum", told.get("exclusiveMinimum"))
    most = told.get("maximum", told.get("exclusiveMaximum"))
    if least is not None and most is not None:
        return f"From {least} to {most}."
    if least is not None:
        return f"At least {least}."
    return "" if most is None else f"At most {most}."


def _fields(told: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    properties, required = mapping_of(told.get("properties")), required_of(told)
    if not properties:
        return ""
    named = [
        f"{name} ({_word(_resolved(each, definitions, _MAX_DEPTH))}{'' if name in required else ', optional'})"
        for name, each in properties.items()
    ]
    return f"An object with {', '.join(named)}."


def _word(told: Mapping[str, Any]) -> str:
    choices = told.get("enum")
    return "one of " + ", ".join(map(repr, choices)) if isinstance(choices, list) else str(told.get("type", "any"))


def _one_line(text: Any) -> str:
    return " ".join(str(text).split())
