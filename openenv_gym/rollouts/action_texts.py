"""Text as actions: what a model of language writes, read by the action's JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from openenv_gym_protocol import codec
from openenv_gym_protocol.errors import InvalidAction, SchemaMismatch, UnsupportedSchema
from openenv_gym_protocol.root_field import ACTION_KEYS, root_field
from pydantic import ValidationError

from openenv_gym.client.schema_models import action_class_of

_FENCED = re.compile(r"\A```(?:\w+)?[ \t]*\n(.*?)\n?```\Z", re.DOTALL)
_NOTHING = object()


class ActionText:
    """Reads actions.

    An action is written as a JSON object of its fields, perhaps in a fenced block; where the action has exactly one
    required field, or one field in all, also as that field's value alone: ``1``, or a plain text.

    Args:
        schema: The action's JSON Schema, such as ``(await client.schema()).action``.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self._field = _only_field(schema)
        self._model: type[Any] | None
        try:
            self._model = action_class_of(schema)
        except UnsupportedSchema:
            self._model = None  # the server checks alone

    def parse(self, text: str) -> dict[str, Any]:
        """The action that a text is.

        Raises:
            InvalidAction: It is none; the message says what an action looks like.
        """
        if not isinstance(text, str):
            raise InvalidAction(f"An action must be a text here, not {type(text).__name__}.")
        stripped = text.strip()
        fenced = _FENCED.match(stripped)
        body = fenced[1].strip() if fenced else stripped
        value = _json(body)
        candidates = self._candidates(value, body)
        if not candidates:
            raise InvalidAction(f"This is no JSON object: {body[:200]!r}. {self.hint()}")
        faults = []
        for candidate in candidates:
            try:
                return self._checked(candidate)
            except ValidationError as error:
                faults.append(codec.with_faults("The action does not fit", codec.faults_of(error)))
        raise InvalidAction(f"{faults[0]}. {self.hint()}")

    def hint(self) -> str:
        """What an action looks like, in a sentence for whoever writes it."""
        properties = self.schema.get("properties", {})
        written = {name: told for name, told in properties.items() if name not in ACTION_KEYS}
        # What can have one value only need not be written.
        names = {name: _kind(told) for name, told in written.items() if "const" not in told}
        form = json.dumps(names, ensure_ascii=False)
        alone = "" if self._field is None else f", or the value of {self._field!r} alone"
        return f"Answer with a JSON object such as {form}{alone}."

    def _candidates(self, value: Any, body: str) -> list[dict[str, Any]]:
        field = self._field
        if isinstance(value, dict):
            # Who writes an object means the fields: a misspelt one must not become a text.
            told = self.schema.get("properties", {}).get(field, {}) if field is not None else {}
            return [value, {field: value}] if field is not None and told.get("type") in ("object", None) else [value]
        if field is None or not body:
            return []
        return [{field: body}] if value is _NOTHING else [{field: value}, {field: body}]

    def _checked(self, fields: dict[str, Any]) -> dict[str, Any]:
        if self._model is None:
            return fields
        checked: dict[str, Any] = self._model.model_validate(fields).model_dump(by_alias=True, exclude_unset=True)
        return checked


def _only_field(schema: Mapping[str, Any]) -> str | None:
    try:
        return root_field(None, schema, ACTION_KEYS)
    except SchemaMismatch:
        return None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return _NOTHING


def _kind(schema: Any) -> str:
    told = schema if isinstance(schema, Mapping) else {}
    choices = told.get("enum")
    return "one of " + ", ".join(map(str, choices)) if choices else str(told.get("type", "value"))
