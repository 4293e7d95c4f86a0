"""Which field of a model a declared space is about: one rule for clients and servers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from openenv_gym_protocol.errors import SchemaMismatch

ACTION_KEYS = frozenset({"metadata"})
"""The fields of an action that are no part of its space."""

OBSERVATION_KEYS = frozenset({"metadata", "done", "reward"})
"""The fields of an observation that are no part of its space."""


def root_field(keys: Collection[str] | None, schema: Mapping[str, Any], reserved: frozenset[str]) -> str | None:
    """Finds the field that a space is about.

    Args:
        keys: The keys of the space if it is a Dict, else None.
        schema: The model's JSON Schema, its own reference followed.
        reserved: The fields that are no part of a space.

    Returns:
        The field's name, or None when the space, a Dict with the names of fields, is the model itself.

    Raises:
        SchemaMismatch: The space belongs to no field: the model has several, and not just one is required.
    """
    names: list[str] = [name for name in schema.get("properties", {}) if name not in reserved]
    if keys is not None and (not names or set(names) >= set(keys)):
        return None
    required = [name for name in schema.get("required", ()) if name in names]
    candidates = names if len(names) == 1 else required
    if len(candidates) != 1:
        raise SchemaMismatch(f"The declared space belongs to none of the fields {sorted(names)}.")
    return candidates[0]
