"""Spaces for free text and free JSON.

Gymnasium's ``Text`` holds alphanumeric characters by default, costs minutes with all of Unicode, and comes back
constant from AsyncVectorEnv's shared memory. The spaces here are right in these respects.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory
from openenv_gym_protocol.gymnasium_spaces import register

from openenv_gym.bridge.spaces.live_batch import LiveBatch, as_int32

DEFAULT_MAX_LENGTH = 65_536
"""Characters that a text may have where its schema sets no limit."""

_SAMPLE_LENGTH = 32
"""Samples are at most so much longer than the shortest text: a sample of a million characters helps nobody."""

_ALPHABET = (
    "".join(map(chr, range(32, 127))) + "\n\t" + "äöüßéèñçøåıžł" + "αβγδ" + "жщя" + "אب" + "中文字日本" + "→€∑" + "😀🚀"
)

DrawJson: TypeAlias = Callable[[np.random.Generator], Any]
"""Draws a JSON value."""

JsonForm: TypeAlias = Literal["object", "array"]
"""What a JSON text holds, where it does not hold any value."""

_PYTHON_TYPES: dict[JsonForm, type] = {"object": dict, "array": list}
_SHORTEST: dict[JsonForm | None, str] = {"object": "{}", "array": "[]", None: "0"}

_DRAWS = 8
"""How often a sample is drawn again because it is too long, before the shortest is taken."""


class UnicodeText(spaces.Text):
    """Any string within a range of lengths, in characters.

    Samples are short and draw from several scripts; membership asks for nothing but the length.
    """

    def __init__(
        self,
        max_length: int = DEFAULT_MAX_LENGTH,
        *,
        min_length: int = 0,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(max_length, min_length=min_length, charset=_ALPHABET, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Draws a text of at most 32 characters more than the shortest; masks work as for ``Text``."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        longest = min(self.max_length, self.min_length + _SAMPLE_LENGTH)
        length = int(self.np_random.integers(self.min_length, longest + 1))
        positions = self.np_random.integers(0, len(_ALPHABET), size=length)
        return "".join(_ALPHABET[position] for position in positions)

    def contains(self, x: Any) -> bool:
        """Whether it is a string of an allowed length."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.min_length}, {self.max_length})"

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, UnicodeText)
            and (self.min_length, self.max_length) == (other.min_length, other.max_length)
        )


class JsonText(UnicodeText):
    """A JSON value, as text.

    Args:
        max_length: The most characters.
        form: ``"object"`` or ``"array"`` where the value has to be one; None for any value.
        draw: Draws the values that samples write out; None for short values of the form. A server's model may ask
            for more than the form, which only its own drawing knows. It is no part of the space's identity and does
            not travel with the space as data.
        seed: For sampling.

    Attributes:
        form: As given.
        draw: As given, or the form's own.
    """

    def __init__(
        self,
        max_length: int = DEFAULT_MAX_LENGTH,
        *,
        form: JsonForm | None = None,
        draw: DrawJson | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(max_length, min_length=1, seed=seed)
        if form is not None and form not in _PYTHON_TYPES:
            raise ValueError(f"form must be 'object', 'array' or None, not {form!r}.")
        if max_length < len(_SHORTEST[form]):
            raise ValueError(f"No JSON {form or 'value'} has at most {max_length} characters.")
        self.form = form
        self.draw: DrawJson = draw or (draw_json if form is None else _DRAW[form])

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Draws a value and writes it as JSON of an allowed length.

        Raises:
            ValueError: A mask is given; masks choose characters, which would not be JSON.
        """
        if mask is not None or probability is not None:
            raise ValueError("JsonText samples whole values; it takes no mask of characters.")
        for _ in range(_DRAWS):
            text = write_json(self.draw(self.np_random))
            if len(text) <= self.max_length:
                return text
        return _SHORTEST[self.form]

    def contains(self, x: Any) -> bool:
        """Whether it is a string of an allowed length that holds one JSON value of the form."""
        if not super().contains(x):
            return False
        try:
            return has_form(json.loads(x), self.form)
        except (ValueError, RecursionError):
            return False

    def __repr__(self) -> str:
        form = "" if self.form is None else f", {self.form}"
        return f"JsonText({self.min_length}, {self.max_length}{form})"

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and isinstance(other, JsonText) and self.form == other.form


def has_form(value: Any, form: JsonForm | None) -> bool:
    """Whether a JSON value is an object or an array, as the form asks for; None asks for nothing."""
    return form is None or isinstance(value, _PYTHON_TYPES[form])


def write_json(value: Any) -> str:
    """Writes JSON the one way that all values of ``JsonText`` are written: compact, not escaped, keys as they come."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def draw_json(rng: np.random.Generator, depth: int = 2) -> Any:
    """Draws a short JSON value of any kind."""
    kind = int(rng.integers(0, 7 if depth else 5))
    if kind == 0:
        return None
    if kind == 1:
        return bool(rng.integers(0, 2))
    if kind == 2:
        return int(rng.integers(-(2**53), 2**53))
    if kind == 3:
        return float(rng.normal())
    if kind == 4:
        return _draw_word(rng)
    values = draw_array(rng, depth - 1)
    return values if kind == 5 else {_draw_word(rng): value for value in values}


def draw_array(rng: np.random.Generator, depth: int = 1) -> list[Any]:
    """Draws a short JSON array of values of any kind."""
    return [draw_json(rng, depth) for _ in range(int(rng.integers(0, 4)))]


def draw_object(rng: np.random.Generator, draw_value: DrawJson = draw_json) -> dict[str, Any]:
    """Draws a short JSON object.

    Args:
        rng: Where the chance comes from.
        draw_value: Draws each of its values.
    """
    return {_draw_word(rng): draw_value(rng) for _ in range(int(rng.integers(0, 4)))}


_DRAW: dict[JsonForm, DrawJson] = {"object": draw_object, "array": draw_array}


def _draw_word(rng: np.random.Generator) -> str:
    return "".join(_ALPHABET[position] for position in rng.integers(0, len(_ALPHABET), size=int(rng.integers(0, 9))))


@create_shared_memory.register(UnicodeText)
def _create_text(space: UnicodeText, n: int = 1, ctx: Any = multiprocessing) -> Any:
    return ctx.Array("i", n), ctx.Array("i", n * space.max_length)


@write_to_shared_memory.register(UnicodeText)
def _write_text(space: UnicodeText, index: int, value: str, shared_memory: Any) -> None:
    if len(value) > space.max_length:
        raise ValueError(f"A text of {len(value)} characters is longer than its space's {space.max_length}.")
    lengths, characters = map(as_int32, shared_memory)
    start = index * space.max_length
    characters[start : start + len(value)] = np.frombuffer(value.encode("utf-32-le", "surrogatepass"), np.int32)
    lengths[index] = len(value)


@read_from_shared_memory.register(UnicodeText)
def _read_text(space: UnicodeText, shared_memory: Any, n: int = 1) -> LiveBatch:
    lengths, characters = map(as_int32, shared_memory)

    def read() -> tuple[str, ...]:
        rows = characters.reshape(n, space.max_length)
        return tuple(
            row[:length].tobytes().decode("utf-32-le", "surrogatepass")
            for row, length in zip(rows, lengths, strict=True)
        )

    return LiveBatch(read)


register(
    "UnicodeText",
    UnicodeText,
    lambda space: {"max_length": space.max_length, "min_length": space.min_length},
    lambda data: UnicodeText(
        int(data.get("max_length", DEFAULT_MAX_LENGTH)), min_length=int(data.get("min_length", 0))
    ),
)
register(
    "JsonText",
    JsonText,
    lambda space: {"max_length": space.max_length, **({} if space.form is None else {"form": space.form})},
    lambda data: JsonText(int(data.get("max_length", DEFAULT_MAX_LENGTH)), form=data.get("form")),
)
