"""Reading JSON Schema as pydantic 2 writes it: unions, bounds and numeric shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.json_schema import ABSENT, SPACE_HINT, Definitions, Schema, element_schemas, fixed_length

LARGEST_INT = 2**53
"""The largest integer that every JSON reader keeps exactly; the bound of integers without one."""

MAX_ELEMENTS = 2**26
"""Elements that a derived array may have: a schema must not make the client allocate what it likes."""


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
