"""The two views of a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from openenv_gym.bridge.builder import Builder
from openenv_gym.bridge.codecs import MISSING, Codec, EnumCodec, JsonCodec, TextCodec
from openenv_gym.bridge.composite_spaces import BoundedSequence
from openenv_gym.bridge.list_codecs import FlatTupleCodec, PaddedCodec, SequenceCodec, TupleCodec
from openenv_gym.bridge.schema import (
    ABSENT,
    MAX_ELEMENTS,
    Definitions,
    Numeric,
    Schema,
    branches,
    is_nothing,
    numeric,
)
from openenv_gym.bridge.text_spaces import JsonText, UnicodeText
from openenv_gym.bridge.union_codecs import FlatOptionalCodec, OptionalCodec, UnionCodec


class Faithful(Builder):
    """Everything that the model has: text, sequences, unions, nested objects."""

    is_flat = False

    def faithful(self) -> Builder:
        """This one."""
        return self

    def text_part(self, space: UnicodeText) -> Codec:
        """Text as it is."""
        return TextCodec(space)

    def json_part(self, space: JsonText, form: type | None = None) -> Codec:
        """Free JSON as text."""
        return JsonCodec(space, form)

    def tuple_part(self, codecs: list[Codec | None]) -> Codec:
        """A Tuple."""
        return TupleCodec([codec for codec in codecs if codec is not None])

    def list_part(self, schema: Schema, definitions: Definitions) -> Codec:
        """A sequence of bounded length."""
        item = self._whole(schema.get("items", {}), definitions.at("*"))
        low, high = int(schema.get("minItems", 0)), schema.get("maxItems")
        space = BoundedSequence(item.space, low, high)
        return SequenceCodec(item, space, low, high)

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
        self._sends = sends
        self.is_numeric = True

    def faithful(self) -> Builder:
        """The other view."""
        return Faithful()

    def text_part(self, space: UnicodeText) -> None:  # noqa: ARG002
        """Left out."""
        self.is_numeric = False

    def json_part(self, space: JsonText, form: type | None = None) -> None:  # noqa: ARG002
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
        return JsonCodec(JsonText(draw=whole.draw), list)

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
        if not self._sends:
            return MISSING
        resolved, inner = definitions.resolve(schema)
        if any(is_nothing(form) for form in branches(resolved, inner) or ()):
            return None
        raise definitions.unsupported("it is required and has no numeric form; use spaces='faithful'")

    def _dtype(self, kind: str) -> Any:  # noqa: ARG002
        # Trainers read whole-numbered Boxes as floats anyway, and several refuse them.
        return np.float32

    def _several(self, forms: list[Any], definitions: Definitions) -> Codec | None:
        if not forms:
            return EnumCodec([None])
        found = [numeric(form, definitions) for form in forms]
        numbers = [part for part in found if part is not None and part.is_scalar and part.kind != "boolean"]
        if len(numbers) == len(forms):
            low, high = min(float(part.low) for part in numbers), max(float(part.high) for part in numbers)
            return self._box(Numeric("number", np.array(low), np.array(high)))
        self.is_numeric = False
        whole = self.faithful().union_part(forms, definitions, frozenset())
        assert whole is not None  # the faithful view leaves nothing out
        return JsonCodec(JsonText(draw=whole.draw))
