"""Payloads of the standard wire as columns of a declared space, and back, in plain Python: the server's side.

A payload is the map of a model's fields. Which of them a space is about, and how the payload of each leaf is written,
are the rules of clients on the standard wire: ``root_field`` says the first, and ``openenv_gym.bridge.schema.exact``
has the same leaves as this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from openenv_gym_protocol.errors import InvalidAction
from openenv_gym_protocol.json_schema import Definitions, Schema, default_of, element_schemas, fixed_length
from openenv_gym_protocol.root_field import root_field
from openenv_gym_protocol.vector.columns import Layout, PackedRow, layout_of
from openenv_gym_protocol.vector.leaf_payloads import LeafPayload, Numbers, Pixels, Range, leaf_payload
from openenv_gym_protocol.vector.leaves import Leaf, Misfit, ShortWay, is_numpy

_MISSING = object()


class PayloadColumns:
    """How the payloads of one model and the columns of one space belong together; made by ``payload_columns``.

    Attributes:
        layout: The space's columns.
        field: The model's field that the space is about; None where the space has the names of the fields.
        bounds: Of an action, the bounds that the dtypes do not keep by themselves, each with its column's number.
        short: The bytes that ``pack_value`` has for its one leaf, where that needs no closer look, and otherwise None:
            most observations are one array or list. No payload but numbers as they are is packed here.
    """

    def __init__(self, layout: Layout, root: _Form, field: str | None) -> None:
        self.layout = layout
        self.field = field
        self._root = root
        self._is_action = layout.refusal is InvalidAction
        bounds = enumerate(layout.bounds()) if self._is_action else ()
        # Most models have one field of numbers, which needs no look at forms and paths.
        only = root if isinstance(root, _Leaf) else None
        short_way = None if only is None or self._is_action else only.short_way(layout.leaves[0])
        self.short: Callable[[Any], bytes | None] = _no_short_way if short_way is None else short_way.packed
        self._range = None if only is None else only.range
        self.bounds = [
            (column, each) for column, each in bounds if each.leaf.elements and not each.are_those_of_the_dtype
        ]

    @property
    def has_range(self) -> bool:
        """Whether the whole space is one range of integers: what ``payloads`` can say something of."""
        return self._range is not None

    def pack(self, payload: Mapping[str, Any]) -> PackedRow:
        """Packs the fields of an observation or an action, as pydantic's ``model_dump`` gives them.

        Raises:
            InvalidObservation: They do not fit the space; the message names the field. An action's bounds are
                checked too.
            InvalidAction: The same, of an action.
        """
        if self.field is None:
            return self.pack_value(payload)
        if self.field not in payload:
            raise self._misfit(f"the field {self.field!r} is missing")
        return self.pack_value(payload[self.field])

    def pack_value(self, value: Any) -> PackedRow:
        """Packs what the space is about: the model's field, or all of its fields; same errors as ``pack``."""
        short = self.short(value)
        if short is not None:
            return (short,)
        parts: list[Any] = []
        try:
            self._root.take_apart(value, parts)
            packed = self.layout.pack_parts(parts)
            for column, bounds in self.bounds:
                # After the packing, which rounds the numbers as it rounds the bounds.
                bounds.check(bounds.leaf.unpack(packed[column])[0])
        except Misfit as misfit:
            raise self._misfit(misfit) from None
        return packed

    def payload(self, value: Any) -> dict[str, Any]:
        """The fields of an action for one value of its space.

        Args:
            value: As ``layout.unpack`` gives it.

        Raises:
            InvalidAction: The value is outside the space.
        """
        try:
            parts = self.layout.take_apart(value) if self.bounds else []
            for column, bounds in self.bounds:
                bounds.check(parts[column])
            written = self._root.payload(value)
        except Misfit as misfit:
            raise InvalidAction(f"The action is outside its space: {misfit}.") from None
        return written if self.field is None else {self.field: written}

    def payloads(self, values: Sequence[Any]) -> list[dict[str, Any]] | None:
        """The fields of actions, where it can be said of all of them at once that they are inside the space.

        Args:
            values: As ``layout.unpack`` gives them.

        Returns:
            None where ``payload`` has to look at each.
        """
        field = self.field
        if field is None or self._range is None or not self._range.holds_all(values):
            return None
        return [{field: value} for value in values]

    def _misfit(self, why: object) -> Exception:
        what = "action" if self._is_action else "observation"
        return self.layout.refusal(f"The {what} does not fit its space: {why}.")


def payload_columns(
    space: Mapping[str, Any], schema: Schema, reserved: frozenset[str], *, of_action: bool = False
) -> PayloadColumns | None:
    """Finds how a model's payloads become columns.

    Args:
        space: The declared space, as data.
        schema: The JSON Schema of the model; of an observation that a reset has fields of its own for, what
            ``json_schema.combined`` makes of both.
        reserved: The fields that are no part of the space: ``ACTION_KEYS`` or ``OBSERVATION_KEYS`` of ``root_field``.
        of_action: Whether values that do not fit are refused as actions rather than as observations.

    Returns:
        None where the space is of no fixed shape: its values travel as values.

    Raises:
        SchemaMismatch: The space belongs to no field of the model.
        ConfigurationError: The data describes no space.
        UnsupportedSchema: A reference in the schema leads nowhere or back to itself.
    """
    layout = layout_of(space, of_action=of_action)
    if layout is None:
        return None
    definitions = Definitions.of(schema)
    resolved, definitions = definitions.resolve(schema)
    field = root_field(space["spaces"] if space["type"] == "Dict" else None, resolved, reserved)
    part = resolved if field is None else resolved["properties"][field]
    return PayloadColumns(layout, _form(space, part, definitions, iter(layout.leaves)), field)


def _no_short_way(_: Any) -> None:
    """Of a space with more to it than one leaf of numbers."""


class _Form(Protocol):
    """A part of a payload: knows the leaves below it."""

    def take_apart(self, payload: Any, parts: list[Any]) -> None:
        """Appends what ``Leaf.pack`` takes for each leaf."""

    def payload(self, value: Any) -> Any:
        """Writes a value of the space."""


class _Leaf:
    def __init__(self, leaf: LeafPayload) -> None:
        self._leaf = leaf

    def short_way(self, leaf: Leaf) -> ShortWay | None:
        # Pixels are no lists.
        takes = isinstance(self._leaf, Numbers) or (isinstance(self._leaf, Pixels) and len(leaf.shape) > 1)
        return ShortWay(leaf) if takes else None

    @property
    def range(self) -> Range | None:
        return self._leaf if isinstance(self._leaf, Range) else None

    def take_apart(self, payload: Any, parts: list[Any]) -> None:
        parts.append(self._leaf.value(payload))

    def payload(self, value: Any) -> Any:
        return self._leaf.payload(value)


class _Object:
    def __init__(self, fields: list[tuple[str, _Form, Any]]) -> None:
        self._fields = fields

    def take_apart(self, payload: Any, parts: list[Any]) -> None:
        if not isinstance(payload, Mapping):
            raise Misfit(f"{payload!r:.80} is no object")
        for name, form, default in self._fields:
            part = payload.get(name, default)
            if part is _MISSING:
                raise Misfit(f"the field {name!r} is missing")
            _within(name, form.take_apart, part, parts)

    def payload(self, value: Any) -> Any:
        return {name: _within(name, form.payload, value[name]) for name, form, _ in self._fields}


class _List:
    def __init__(self, places: list[_Form]) -> None:
        self._places = places

    def take_apart(self, payload: Any, parts: list[Any]) -> None:
        # A numpy array is as good as a list of its elements.
        if not (isinstance(payload, list | tuple) or is_numpy(payload)) or len(payload) != len(self._places):
            raise Misfit(f"{payload!r:.80} is no list of {len(self._places)} elements")
        for i, form in enumerate(self._places):
            _within(i, form.take_apart, payload[i], parts)

    def payload(self, value: Any) -> Any:
        return [_within(i, form.payload, value[i]) for i, form in enumerate(self._places)]


def _form(space: Mapping[str, Any], schema: Any, definitions: Definitions, leaves: Iterator[Leaf]) -> _Form:
    resolved, definitions = definitions.resolve({} if schema is None else schema)
    if space["type"] == "Dict":
        properties = resolved.get("properties", {})
        fields: list[tuple[str, _Form, Any]] = []
        for name, part in space["spaces"].items():
            field = properties.get(name)
            fields.append((name, _form(part, field, definitions, leaves), default_of(field, _MISSING)))
        return _Object(fields)
    if space["type"] == "Tuple":
        length = len(space["spaces"])
        places = element_schemas(resolved, length) if fixed_length(resolved) == length else [None] * length
        pairs = zip(space["spaces"], places, strict=True)
        return _List([_form(part, place, definitions, leaves) for part, place in pairs])
    return _Leaf(leaf_payload(space, next(leaves).shape, resolved))


def _within(name: str | int, convert: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return convert(*arguments)
    except Misfit as misfit:
        raise misfit.within(name) from None
