"""What a seed chooses of a task: its names, numbers and orders."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PLACEHOLDER = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")


@dataclass(frozen=True)
class OneOf:
    """One of several texts."""

    choices: tuple[str, ...]

    def draw(self, numbers: random.Random) -> str:
        """Chooses one."""
        return numbers.choice(self.choices)


@dataclass(frozen=True)
class Whole:
    """A whole number."""

    minimum: int
    maximum: int

    def draw(self, numbers: random.Random) -> str:
        """Chooses one, both bounds included."""
        return str(numbers.randint(self.minimum, self.maximum))


@dataclass(frozen=True)
class Some:
    """Several words in a random order, joined by spaces."""

    words: tuple[str, ...]
    count: int

    def draw(self, numbers: random.Random) -> str:
        """Chooses them."""
        return " ".join(numbers.sample(self.words, self.count))


Variable = OneOf | Whole | Some


def read_variables(declared: Any, where: str) -> dict[str, Variable]:
    """Reads the table ``[variables]``.

    Raises:
        ConfigurationError: A variable cannot be drawn; the message names it.
    """
    if not isinstance(declared, Mapping):
        raise ConfigurationError(f"{where}: [variables] is a table, not {declared!r}.")
    read: dict[str, Variable] = {}
    for name, value in declared.items():
        if not _NAME.fullmatch(name):
            raise ConfigurationError(f"{where}: the variable {name!r} must be named in small letters, digits and _.")
        variable = _variable(value)
        if variable is None:
            raise ConfigurationError(
                f"{where}: the variable {name!r} is a list of texts, {{minimum = 1, maximum = 9}}, or "
                f"{{some = ['a', 'b', 'c'], count = 2}}, and not {value!r}."
            )
        read[name] = variable
    return read


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with the values in place of ``{{name}}``."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def placeholders(text: str) -> set[str]:
    """The names that a text has placeholders for."""
    return set(_PLACEHOLDER.findall(text))


def _variable(value: Any) -> Variable | None:
    if _is_texts(value):
        return OneOf(tuple(value))
    match value:
        case {"minimum": int(minimum), "maximum": int(maximum)} if len(value) == 2 and minimum <= maximum:
            return Whole(minimum, maximum)
        case {"some": words, "count": int(count)} if len(value) == 2 and _is_texts(words):
            return Some(tuple(words), count) if 0 < count <= len(words) else None
    return None


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) and item for item in value)
