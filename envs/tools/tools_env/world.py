"""What the tools work on: a store of values by key, and notes by title. Bounded, and without any input or output."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TypeAlias

from openenv_gym_protocol.errors import InvalidAction

Value: TypeAlias = int | float | str

MAX_NAME = 100
"""Characters of a key or a title, as JSON writes them."""

MAX_VALUE = 2_000
"""Characters of a value, as JSON writes them."""

MAX_TEXT = 8_000
"""Characters of a note, as JSON writes them: so that whatever is stored can be told in an observation."""

MAX_ENTRIES = 100
"""Keys, and notes."""


class Refused(InvalidAction):
    """What cannot be done, and why: an error of the tool that was called."""


class World:
    """A session's values and notes.

    Attributes:
        values: By key.
        notes: Texts by title.
    """

    def __init__(self, values: Mapping[str, Value], notes: Mapping[str, str]) -> None:
        self.values: dict[str, Value] = dict(values)
        self.notes: dict[str, str] = dict(notes)

    def set_value(self, key: str, value: Value) -> None:
        """Stores a value, in place of one that is there."""
        _check_name("key", key)
        if isinstance(value, float) and not math.isfinite(value):
            raise Refused("The value must be a finite number.")
        if isinstance(value, int) and value.bit_length() > 4 * MAX_VALUE:  # Python writes no number that is far longer
            raise Refused(f"A value may have {MAX_VALUE} characters, and this number has more.")
        if _written(str_of(value)) > MAX_VALUE:
            raise Refused(f"A value may have {MAX_VALUE} characters as JSON, not {_written(str_of(value))}.")
        _check_room("keys", self.values, key)
        self.values[key] = value

    def get_value(self, key: str) -> Value:
        """The value at a key."""
        if key not in self.values:
            raise Refused(f"There is no key {key!r:.120}. list_keys says which there are.")
        return self.values[key]

    def delete_value(self, key: str) -> None:
        """Takes a key out of the store."""
        self.get_value(key)
        del self.values[key]

    def write_note(self, title: str, text: str) -> None:
        """Writes a note, in place of one that is there."""
        _check_name("title", title)
        if _written(text) > MAX_TEXT:
            raise Refused(f"A note may have {MAX_TEXT} characters as JSON, not {_written(text)}.")
        _check_room("notes", self.notes, title)
        self.notes[title] = text

    def read_note(self, title: str) -> str:
        """The text of a note."""
        if title not in self.notes:
            raise Refused(f"There is no note {title!r:.120}. list_notes says which there are.")
        return self.notes[title]

    def search_notes(self, text: str) -> list[str]:
        """The titles of the notes that have a text in them, or in their title; upper and lower case are the same."""
        if not text.strip():
            raise Refused("The text to search for is empty.")
        sought = text.casefold()
        found = (title for title, note in self.notes.items() if sought in note.casefold() or sought in title.casefold())
        return sorted(found)


def str_of(value: Value) -> str:
    """A value as text. Whole floats are written as whole numbers, so that 3.0, 3 and "3" are the same."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def _check_name(kind: str, name: str) -> None:
    if not name.strip() or _written(name) > MAX_NAME:
        raise Refused(f"A {kind} has 1 to {MAX_NAME} characters as JSON that are not all spaces, not {_written(name)}.")


def _written(text: str) -> int:
    return len(json.dumps(text)) - 2


def _check_room(kind: str, entries: Mapping[str, object], name: str) -> None:
    if name not in entries and len(entries) >= MAX_ENTRIES:
        raise Refused(f"There are {MAX_ENTRIES} {kind}, and no more may be.")
