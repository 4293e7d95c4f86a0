"""Reading JSON Schema as pydantic 2 writes it: references, unions, bounds and numeric shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.errors import UnsupportedSchema

Schema: TypeAlias = Mapping[str, Any]

ABSENT = "x-openenv-gym-absent"
"""The key of a schema that stands for a key that is not there."""

SPACE_HINT = "x-gymnasium-space"
"""The key under which a field's schema may name its exact space, as data."""

LARGEST_INT = 2**53
"""The largest integer that every JSON reader keeps exactly; the bound of integers without one."""

MAX_ELEMENTS = 2**26
"""Elements that a derived array may have: a schema must not make the client allocate what it likes."""


@dataclass(frozen=True)
class Definitions:
    """The definitions that a schema refers to, and the references being followed.

    Attributes:
        by_reference: A schema for each ``$ref``.
        path: The field being read, for errors.
        following: The references followed on the way here; one that comes again is recursive.
    """

    by_reference: Mapping[str, Schema]
    path: tuple[str, ...] = ()
    following: frozenset[str] = frozenset()

    @classmethod
    def of(cls, root: Schema) -> Definitions:
        """The definitions of a whole schema."""
        found = {f"#/$defs/{name}": part for name, part in root.get("$defs", {}).items()}
        return cls({**found, "#": root})

    def at(self, name: str) -> Definitions:
        """The same, one field further in."""
        return Definitions(self.by_reference, (*self.path, name), self.following)

    def unsupported(self, reason: str) -> UnsupportedSchema:
        """The error that names the field being read."""
        return UnsupportedSchema(
            f"No space can be derived for {'.'.join(self.path) or 'the schema'}: {reason}. "
            f"Declare exact spaces, or give the field a {SPACE_HINT!r}."
        )

    def resolve(self, schema: Any) -> tuple[Schema, Definitions]:
        """Follows references; the keys beside a reference are kept.

        Raises:
            UnsupportedSchema: A reference leads nowhere or back to itself, or the schema is a combination.
        """
        if schema is True:
            return {}, self
        if not isinstance(schema, Mapping):
            raise self.unsupported(f"{schema!r} is no schema")
        definitions = self
        while True:
            parts = schema.get("allOf")
            if parts is not None and len(parts) == 1:
                schema = {**parts[0], **{key: value for key, value in schema.items() if key != "allOf"}}
            elif "$ref" in schema:
                schema, definitions = definitions._follow(schema)
            else:
                break
        for key in ("allOf", "not", "if"):
            if key in schema:
                raise definitions.unsupported(f"{key!r} is not supported")
        return schema, definitions

    def _follow(self, schema: Schema) -> tuple[Schema, Definitions]:
        reference = schema["$ref"]
        if reference in self.following:
            raise self.unsupported("its schema is recursive")
        target = self.by_reference.get(reference)
        if target is None:
            raise self.unsupported(f"{reference!r} is not defined")
        merged = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
        return merged, Definitions(self.by_reference, self.path, self.following | {reference})


def branches(schema: Schema, definitions: Definitions) -> list[Any] | None:
    """The forms of a union, nested unions opened; None when the schema is none."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        forms: list[Any] = [{**schema, "type": kind} for kind in kinds]
    else:
        forms = schema.get("anyOf") or schema.get("oneOf") or []
    if not forms:
        return None
    opened: list[Any] = []
    for form in forms:
        resolved = form if isinstance(form, Mapping) and "$ref" not in form else None
        inner = branches(resolved, definitions) if resolved is not None and SPACE_HINT not in resolved else None
        opened.extend([form] if inner is None else inner)
    return opened


def is_nothing(schema: Any) -> bool:
    """Whether a form of a union means null or a missing key."""
    return isinstance(schema, Mapping) and (
        schema.get("type") == "null" or ABSENT in schema or ("const" in schema and schema["const"] is None)
    )


@dataclass(frozen=True)
class Numeric:
    """A number or a rectangular array of numbers.

    Attributes:
        kind: ``"integer"``, ``"number"`` or ``"boolean"``.
        low: The lowest value of each element; its shape is the array's.
        high: The highest.
        is_plain: Whether each element may be every number between its bounds.
    """

    kind: str
    low: NDArray[Any]
    high: NDArray[Any]
    is_plain: bool = True

    @property
    def is_scalar(self) -> bool:
        """Whether it is one number."""
        return self.low.shape == ()


def numeric(schema: Any, definitions: Definitions) -> Numeric | None:
    """Reads a schema as numbers of a fixed shape; None when it is anything else.

    Raises:
        UnsupportedSchema: The array is too large, or its bounds exclude each other.
    """
    schema, definitions = definitions.resolve(schema)
    if SPACE_HINT in schema or "enum" in schema or "const" in schema:
        return None
    kind = schema.get("type")
    if kind == "array":
        return _numeric_array(schema, definitions)
    if kind == "boolean":
        return Numeric("boolean", np.array(0), np.array(1))
    if kind == "integer":
        return _integer(schema, definitions)
    return _number(schema, definitions) if kind == "number" else None


def fixed_length(schema: Schema) -> int | None:
    """How many elements an array has, when it always has as many."""
    prefix = schema.get("prefixItems")
    if prefix is not None:
        closed = schema.get("items") is False or schema.get("maxItems") == len(prefix)
        return len(prefix) if closed and schema.get("minItems", 0) == len(prefix) else None
    least, most = schema.get("minItems"), schema.get("maxItems")
    return least if least is not None and least == most else None


def element_schemas(schema: Schema, length: int) -> list[Any]:
    """The schema of each place of an array of fixed length."""
    prefix = schema.get("prefixItems")
    return list(prefix) if prefix is not None else [schema.get("items", {})] * length


def _numeric_array(schema: Schema, definitions: Definitions) -> Numeric | None:
    length = fixed_length(schema)
    if not length:
        return None
    if "prefixItems" not in schema:
        part = numeric(schema.get("items", {}), definitions)
        if part is None:
            return None
        if part.low.size * length > MAX_ELEMENTS:
            raise definitions.unsupported(f"an array of more than {MAX_ELEMENTS} elements")
        edges = [np.broadcast_to(edge, (length, *edge.shape)) for edge in (part.low, part.high)]
        return Numeric(part.kind, edges[0], edges[1], part.is_plain)
    parts = [numeric(place, definitions) for place in element_schemas(schema, length)]
    first = parts[0]
    if first is None or any(part is None or (part.kind, part.low.shape) != _sort(first) for part in parts):
        return None
    found = [part for part in parts if part is not None]
    return Numeric(
        first.kind,
        np.stack([part.low for part in found]),
        np.stack([part.high for part in found]),
        all(part.is_plain for part in found),
    )


def _sort(part: Numeric) -> tuple[str, tuple[int, ...]]:
    return part.kind, part.low.shape


def _integer(schema: Schema, definitions: Definitions) -> Numeric:
    low = max(_int_bound(schema, "minimum", "exclusiveMinimum", 1, -LARGEST_INT), -LARGEST_INT)
    high = min(_int_bound(schema, "maximum", "exclusiveMaximum", -1, LARGEST_INT), LARGEST_INT)
    if low > high:
        raise definitions.unsupported(f"no integer is between {low} and {high}")
    return Numeric("integer", np.array(low, np.int64), np.array(high, np.int64), "multipleOf" not in schema)


def _int_bound(schema: Schema, key: str, exclusive_key: str, inward: int, default: int) -> int:
    if key in schema:
        bound = schema[key]
        # A bound such as 0.5 excludes the integer on its far side.
        return int(np.ceil(bound)) if inward > 0 else int(np.floor(bound))
    if exclusive_key in schema:
        bound = schema[exclusive_key]
        return int(np.floor(bound)) + 1 if inward > 0 else int(np.ceil(bound)) - 1
    return default


def _number(schema: Schema, definitions: Definitions) -> Numeric:
    if "multipleOf" in schema:
        raise definitions.unsupported("'multipleOf' of a number is not supported")
    low, high = float(schema.get("minimum", -np.inf)), float(schema.get("maximum", np.inf))
    if "exclusiveMinimum" in schema:
        low = max(low, float(np.nextafter(schema["exclusiveMinimum"], np.inf)))
    if "exclusiveMaximum" in schema:
        high = min(high, float(np.nextafter(schema["exclusiveMaximum"], -np.inf)))
    if low > high:
        raise definitions.unsupported(f"no number is between {low} and {high}")
    return Numeric("number", np.array(low), np.array(high))


def combined(step: Schema, reset: Schema | None) -> Schema:
    """One schema for what a step and what a reset return: a field of only one of them may be missing."""
    if reset is None or reset == step:
        return step
    renamed = _renamed(reset)
    ours, theirs = step.get("properties", {}), renamed.get("properties", {})
    properties: dict[str, Any] = {}
    for name in {**ours, **theirs}:
        if name in ours and name in theirs:
            same = reset.get("properties", {}).get(name) == ours[name] and _same_definitions(step, reset)
            properties[name] = ours[name] if same else {"anyOf": [ours[name], theirs[name]]}
        else:
            properties[name] = {"anyOf": [ours.get(name, theirs.get(name)), {ABSENT: True}]}
    both = set(step.get("required", ())) & set(reset.get("required", ()))
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(both),
        "$defs": {**step.get("$defs", {}), **renamed.get("$defs", {})},
    }


def _same_definitions(step: Schema, reset: Schema) -> bool:
    ours, theirs = step.get("$defs", {}), reset.get("$defs", {})
    return all(ours[name] == theirs[name] for name in ours.keys() & theirs.keys())


def _renamed(schema: Any) -> Any:
    """The schema with its definitions under names that no other schema has."""
    if isinstance(schema, list):
        return [_renamed(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$defs":
            result[key] = {f"reset:{name}": _renamed(part) for name, part in value.items()}
        elif key == "$ref" and isinstance(value, str):
            result[key] = value.replace("#/$defs/", "#/$defs/reset:")
        else:
            result[key] = _renamed(value)
    return result
