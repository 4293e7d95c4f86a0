"""JSON Schema as pydantic 2 writes it: its references and its arrays. What both ends need to read in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from openenv_gym_protocol.errors import UnsupportedSchema

Schema: TypeAlias = Mapping[str, Any]

ABSENT = "x-openenv-gym-absent"
"""The key of a schema that stands for a key that is not there."""

SPACE_HINT = "x-gymnasium-space"
"""The key under which a field's schema may name its exact space, as data."""


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


def default_of(schema: Any, missing: Any) -> Any:
    """What stands for a key that is not there, such as a step's field in the observation of a reset.

    Args:
        schema: The field's schema.
        missing: What is returned where the schema has no default.
    """
    if not isinstance(schema, Mapping):
        return missing
    forms = [form for form in schema.get("anyOf", ()) if isinstance(form, Mapping)]
    told = forms if any(ABSENT in form for form in forms) else [schema]
    return next((form["default"] for form in told if "default" in form), missing)


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
