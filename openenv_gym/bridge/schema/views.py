"""The two views of a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from openenv_gym_protocol.json_schema import ABSENT, Definitions, Schema

from openenv_gym.bridge.codecs.base import MISSING, Codec
from openenv_gym.bridge.codecs.leaves import EnumCodec, JsonCodec, TextCodec
from openenv_gym.bridge.codecs.lists import FlatTupleCodec, PaddedCodec, SequenceCodec, TupleCodec
from openenv_gym.bridge.codecs.unions import FlatOptionalCodec, OptionalCodec, UnionCodec
from openenv_gym.bridge.schema.builder import Builder
from openenv_gym.bridge.schema.exact import flat_dtype
from openenv_gym.bridge.schema.json_schema import (
    MAX_ELEMENTS,
    Numeric,
    branches,
    is_nothing,
    numeric,
)
from openenv_gym.bridge.spaces.containers import BoundedSequence
from openenv_gym.bridge.spaces.text import JsonText, UnicodeText


class Faithful(Builder):
    """Everything that the model has: text, sequences, unions, nested objects."""

    is_flat = False

    def faithful(self) -> Builder:
        """This one."""
        return self

    def text_part(self, space: UnicodeText) -> Codec:
        """Text as it is."""
        return TextCodec(space)

    def json_part(self, space: JsonText) -> Codec:
        """Free JSON as text."""
        return JsonCodec(space)

    def tuple_part(self, codecs: list[Codec | None]) -> Codec:
        """A Tuple."""
        return TupleCodec([codec for codec in codecs if codec is not None])

    def list_part(self, schema: Schema, definitions: Definitions) -> Codec:
        """A sequence of bounded length."""
        item = self._whole(schema.get("items", {}), definitions.at("*"))
        space = BoundedSequence(item.space, int(schema.get("minItems", 0)), schema.get("maxItems"))
        return SequenceCodec(item, space)

    def union_part(self, forms: list[Any], definitions: Definitions, reserved: frozenset[str]) -> Codec:
        """A choice of the forms; of a value and nothing, when null or absence is the only other form."""
        is_absent = any(isinstance(form, Mapping) and ABSENT in form for form in forms)
        rest = [form for form in forms if not is_nothing(form)]
        if len(rest) == 1 and len(rest) < len(forms):
            return OptionalCodec(self._whole(rest[0], definitions, reserved), is_absent=is_absent)
        present = [form for form in forms if not (isinstance(form, Mapping) and ABSENT in form)]
        codec = UnionCodec([self._whole(form, definitions, reserved) for form in present])
        return OptionalCodec(codec, is_absent=True) if is_absent else codec

    def filler(self, schema: Any, definitions: Definitions) -> Any:  # noqa: ARG002
        """Nothing: this view leaves nothing out."""
        return MISSING

    def _whole(self, schema: Any, definitions: Definitions, reserved: frozenset[str] = frozenset()) -> Codec:
        codec = self.codec(schema, definitions, reserved)
        assert codec is not None  # this view leaves nothing out
        return codec


class Flat(Builder):
    """Numbers in one Dict at most.

    Args:
        sends: Whether payloads are sent, so that a required field must not be left out.

    Attributes:
        is_numeric: Whether nothing was left out and no text is left.
    """

    is_flat = True

    def __init__(self, *, sends: bool) -> None:
        self.sends = sends
        self.is_numeric = True

    def faithful(self) -> Builder:
        """The other view."""
        return Faithful()

    def text_part(self, space: UnicodeText) -> None:  # noqa: ARG002
        """Left out."""
        self.is_numeric = False

    def json_part(self, space: JsonText) -> None:  # noqa: ARG002
        """Left out."""
        self.is_numeric = False

    def tuple_part(self, codecs: list[Codec | None]) -> Codec | None:
        """A Dict with the places' numbers for keys; left out with any of its places."""
        return None if any(codec is None for codec in codecs) else FlatTupleCodec(codecs)

    def list_part(self, schema: Schema, definitions: Definitions) -> Codec | None:
        """Numbers up to a length are padded, objects become JSON text, all else is left out."""
        low, high = int(schema.get("minItems", 0)), schema.get("maxItems")
        found = numeric(schema["items"], definitions)
        if found is not None and found.is_plain and found.kind != "boolean" and high is not None:
            if high * found.low.size > MAX_ELEMENTS:
                raise definitions.unsupported(f"an array of more than {MAX_ELEMENTS} elements")
            return PaddedCodec(self._box(found), low, int(high))
        items, _ = definitions.resolve(schema["items"])
        self.is_numeric = False
        if items.get("type") != "object":
            return None
        whole = self.faithful().codec(schema, definitions)
        assert whole is not None  # the faithful view leaves nothing out
        return JsonCodec(JsonText(form="array", draw=whole.draw))

    def union_part(self, forms: list[Any], definitions: Definitions, reserved: frozenset[str]) -> Codec | None:
        """A value and whether it is there; numbers of several types as one; all else as JSON text."""
        rest = [form for form in forms if not is_nothing(form)]
        codec = self.codec(rest[0], definitions, reserved) if len(rest) == 1 else self._several(rest, definitions)
        if codec is None or len(rest) == len(forms):
            return codec
        is_absent = any(isinstance(form, Mapping) and ABSENT in form for form in forms)
        return FlatOptionalCodec(codec, is_absent=is_absent)

    def filler(self, schema: Any, definitions: Definitions) -> Any:
        """Null where that is allowed.

        Raises:
            UnsupportedSchema: It is not, and the field has to be sent.
        """
        if not self.sends:
            return MISSING
        resolved, inner = definitions.resolve(schema)
        if any(is_nothing(form) for form in branches(resolved, inner) or ()):
            return None
        raise definitions.unsupported("it is required and has no numeric form; use spaces='faithful'")

    def _dtype(self, found: Numeric) -> Any:
        return flat_dtype(super()._dtype(found), found.low, found.high, sends=self.sends)

    def _joined_dtype(self, numbers: list[Numeric]) -> Any:
        integers = [part for part in numbers if part.kind == "integer"]
        if len(integers) in (0, len(numbers)):
            return self._dtype(_joined(numbers))
        # A float that holds the integers among them; an action of fractions must be one too.
        whole = _joined(integers)
        return flat_dtype(np.int64, whole.low, whole.high, sends=False)

    def _several(self, forms: list[Any], definitions: Definitions) -> Codec | None:
        if not forms:
            return EnumCodec([None])
        found = [numeric(form, definitions) for form in forms]
        numbers = [part for part in found if part is not None and part.is_scalar and part.kind != "boolean"]
        if len(numbers) == len(forms):
            return self._box(_joined(numbers), dtype=self._joined_dtype(numbers))
        self.is_numeric = False
        whole = self.faithful().union_part(forms, definitions, frozenset())
        assert whole is not None  # the faithful view leaves nothing out
        return JsonCodec(JsonText(draw=whole.draw))


def _joined(numbers: list[Numeric]) -> Numeric:
    """All of the numbers of several forms, and those between them."""
    low, high = min(part.low.item() for part in numbers), max(part.high.item() for part in numbers)
    kind = "integer" if all(part.kind == "integer" for part in numbers) else "number"
    return Numeric(kind, np.array(low), np.array(high))
